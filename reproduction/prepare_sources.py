#!/usr/bin/env python3
"""prepare_sources.py - makes the data sets that are parts of others, from what data.json names as their sources

  reproduction/prepare_sources.py squad dev-v1.1.json DATA/squad_v1.1
  reproduction/prepare_sources.py tatoeba cmn.txt DATA/tatoeba_zhen
  reproduction/prepare_sources.py quatrains FOLDER_OF_poet.*.json DATA/quatrains

Whatever is drawn is drawn by the SHA-1 of its text, so that nothing depends on chance or order. The first ones of
each stay unused. prepare.py compares the files with those of the rows.
"""
import argparse
import glob
import hashlib
import json
import os
import re

SQUAD_UNUSED, SQUAD_DEV = 8, 6  # articles
TATOEBA_PART = 1000  # pairs that stay unused, and as many of dev
QUATRAINS_PART = 1000  # of each dynasty: unused, test and val
QUATRAINS_TRAIN = 30000
STOPS = re.compile("[，。？！；、：]")
CHARACTERS = re.compile("[\u3400-\u9fff\U00020000-\U0003ffff]+")


def digest(text):
    return hashlib.sha1(text.encode("utf-8")).hexdigest()


def squad(articles):
    """The articles of train and of dev, in the order of the source; no article is in two parts."""
    titles = sorted((article["title"] for article in articles), key=digest)[SQUAD_UNUSED:]
    parts = {"dev": set(titles[:SQUAD_DEV]), "train": set(titles[SQUAD_DEV:])}
    return {name: [x for x in articles if x["title"] in part] for name, part in parts.items()}


def tatoeba(pairs):
    """The pairs of train and of dev. Pairs that share a side form a group; dev has groups of one pair alone."""
    group = {}

    def root(side):
        while group.setdefault(side, side) != side:
            group[side] = group[group[side]]
            side = group[side]
        return side

    for source, target in pairs:
        group[root(("source", source))] = root(("target", target))
    groups = {}
    for number, (source, _) in enumerate(pairs):
        groups.setdefault(root(("source", source)), []).append(number)
    alone = sorted((digest(pairs[own[0]][0]), own[0]) for own in groups.values() if len(own) == 1)
    drawn = [number for _, number in alone[:2 * TATOEBA_PART]]
    held, dev = set(drawn), set(drawn[TATOEBA_PART:])
    return {"train": [pair for number, pair in enumerate(pairs) if number not in held],
            "dev": [pair for number, pair in enumerate(pairs) if number in dev]}


def lines_of(poem):
    """The four lines of a quatrain with 5 or 7 characters a line, None of other poems."""
    lines = [line for line in STOPS.split("".join(poem["paragraphs"])) if line]
    alike = len(lines) == 4 and len({len(line) for line in lines}) == 1
    return lines if alike and len(lines[0]) in (5, 7) and CHARACTERS.fullmatch("".join(lines)) else None


def quatrains(poems):
    """The rows of test, val and train of (dynasty, poem): dynasty, author, title and lines; the first poem of a
    text counts. Train has all other Tang poems, and Song poems up to its size."""
    rows = {}
    for dynasty, poem in poems:
        lines = lines_of(poem)
        if lines:
            about = (" ".join(poem[name].split()) for name in ("author", "title"))
            rows.setdefault("|".join(lines), (dynasty, *about))
    ordered = sorted(rows, key=digest)
    tang, song = ([text for text in ordered if rows[text][0] == name] for name in ("tang", "song"))
    n = QUATRAINS_PART
    drawn = {"test": tang[n:2 * n] + song[n:2 * n], "val": tang[2 * n:3 * n] + song[2 * n:3 * n],
             "train": tang[3 * n:] + song[3 * n:3 * n + max(0, QUATRAINS_TRAIN - len(tang[3 * n:]))]}
    return {name: [(*rows[text], text) for text in sorted(texts, key=digest)] for name, texts in drawn.items()}


def poems_of(folder):
    """(dynasty, poem) of the files poet.DYNASTY.NUMBER.json, in the order of their names."""
    for path in sorted(glob.glob(os.path.join(folder, "poet.*.json"))):
        with open(path, encoding="utf-8") as file:
            for poem in json.load(file):
                yield os.path.basename(path).split(".")[1], poem


def write(path, lines, end="\n"):
    with open(path, "w", encoding="utf-8", newline="\n") as file:
        file.write("\n".join(lines) + end)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("set", choices=("squad", "tatoeba", "quatrains"))
    parser.add_argument("source")
    parser.add_argument("out")
    args = parser.parse_args()
    os.makedirs(args.out, exist_ok=True)
    if args.set == "squad":
        with open(args.source, encoding="utf-8") as file:
            parts = squad(json.load(file)["data"])
        for name, part in parts.items():
            whole = json.dumps({"version": "1.1", "data": part}, ensure_ascii=False)
            write(os.path.join(args.out, name + ".json"), [whole], "")
    elif args.set == "tatoeba":
        with open(args.source, encoding="utf-8") as file:
            parts = tatoeba([tuple(line.rstrip("\n").split("\t")[:2]) for line in file])
        for name, part in parts.items():
            for side, end in enumerate(("en", "zh")):
                write(os.path.join(args.out, f"{name}.{end}"), [pair[side] for pair in part])
    else:
        for name, rows in quatrains(poems_of(args.source)).items():
            write(os.path.join(args.out, name + ".tsv"), ["\t".join(row) for row in rows])


if __name__ == "__main__":
    main()
