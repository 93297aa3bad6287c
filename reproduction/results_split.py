#!/usr/bin/env python3
"""results_split.py - splits test lines off the training part of a corpus that has no test part.

  reproduction/results_split.py DATA/tanaka_enja en ja RUNS/tanaka_jaen

The folder OUT gets test.*, the N pairs that come first by the SHA-1 of their first side, of those
whose sides stand in no other pair; dev.* without a change; and train.* with the rest.
"""
import argparse
import collections
import hashlib
import os


def read(folder, stem, endings):
    sides = []
    for ending in endings:
        with open(os.path.join(folder, f"{stem}.{ending}"), encoding="utf-8") as file:
            sides.append(file.read().splitlines())
    return list(zip(*sides, strict=True))


def write(folder, stem, endings, pairs):
    for side, ending in enumerate(endings):
        with open(os.path.join(folder, f"{stem}.{ending}"), "w", encoding="utf-8") as file:
            file.writelines(pair[side] + "\n" for pair in pairs)


def split(pairs, others, count):
    """The numbers of the pairs that become the test part."""
    seen = [collections.Counter(pair[side] for pair in (*pairs, *others)) for side in range(2)]
    alone = [i for i, pair in enumerate(pairs) if all(seen[side][pair[side]] == 1 for side in range(2))]
    return set(sorted(alone, key=lambda i: hashlib.sha1(pairs[i][0].encode()).hexdigest())[:count])


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder")
    parser.add_argument("endings", nargs=2, metavar="ENDING")
    parser.add_argument("out")
    parser.add_argument("--count", type=int, default=1000, metavar="N", help="pairs of the test part (1000)")
    args = parser.parse_args()
    train, dev = (read(args.folder, stem, args.endings) for stem in ("train", "dev"))
    test = split(train, dev, args.count)
    os.makedirs(args.out, exist_ok=True)
    write(args.out, "dev", args.endings, dev)
    write(args.out, "test", args.endings, [train[i] for i in sorted(test)])
    write(args.out, "train", args.endings, [pair for i, pair in enumerate(train) if i not in test])


if __name__ == "__main__":
    main()
