#!/usr/bin/env python3
"""overlap.py - on paper: how much of a step the sums over several cards cost

  overlap.py [--cards N] [--step MS] [--pcie GB/s] [--net GB/s] [--host GB/s]

A model of src/train/exchange.c for a Transformer whose embedding table is shared by both
languages and the output. The backward pass, two thirds of a step, goes through the layers from
the last to the first and takes time in proportion to their weights; the output's share comes
first, and the table is complete at the end. Buckets go through the copy to the host, the first
half of the exchange, the ordered sum, the second half and the copy back; each of link, network
and host does one thing at a time, in the order of the buckets.
"""
import argparse

MODELS = {"translator D256": (256, 1024, 3, 8000), "translator base": (512, 2048, 6, 8000)}
BUCKETS, MOST = 8, 1 << 20  # as in src/train/exchange.c


def layers(dim, inner, count):
    """Weights with biases and norms of the layers, in the order of the backward pass."""
    attention, feed, norm = 4 * (dim * dim + dim), 2 * dim * inner + dim + inner, 2 * dim
    decoder = 2 * attention + feed + 3 * norm
    return [decoder] * count + [attention + feed + 2 * norm] * count


def complete(shape, backward):
    """(numbers, ms when they are complete) of each bucket, and all numbers."""
    dim, inner, count, words = shape
    parts = layers(dim, inner, count)
    table = words * dim
    everything = sum(parts) + table
    rate = backward / everything  # the output's product counts, the rows that are read do not
    at, end, ends = table * rate, 0, []
    for part in parts:
        at, end = at + part * rate, end + part
        ends.append((end, at))
    ends.append((everything, backward))
    size = min(MOST, -(-everything // BUCKETS))
    buckets = []
    for begin in range(0, everything, size):
        last = min(begin + size, everything)
        buckets.append((last - begin, next(at for end, at in ends if end >= last)))
    return buckets, everything


def exchange(buckets, args):
    """The ms at which the last bucket is back on the card."""
    free = {"pcie": 0.0, "net": 0.0, "host": 0.0}
    done = 0.0
    half = (args.cards - 1) / args.cards / args.net
    stages = (("pcie", 1 / args.pcie), ("net", half),
              ("host", (1 + 1 / args.cards) / args.host), ("net", half), ("pcie", 1 / args.pcie))
    ready = [at for _, at in buckets]
    place = [0] * len(buckets)
    while any(p < len(stages) for p in place):  # who can start first goes on
        start, i = min((max(ready[i], free[stages[place[i]][0]]), i)
                       for i in range(len(buckets)) if place[i] < len(stages)
                       and (i == 0 or place[i] < place[i - 1]))
        what, rate = stages[place[i]]
        ready[i] = free[what] = start + buckets[i][0] * 4 * rate * 1e-6
        place[i] += 1
        done = max(done, ready[i])
    return done


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    for name, value in (("cards", 8), ("step", 50.0), ("pcie", 25.0), ("net", 12.5), ("host", 10.0)):
        parser.add_argument(f"--{name}", type=type(value), default=value)
    args = parser.parse_args()
    for name, shape in MODELS.items():
        backward = args.step * 2 / 3
        buckets, numbers = complete(shape, backward)
        after = exchange(buckets, args) - backward
        at_end = exchange([(n, backward) for n, _ in buckets], args) - backward
        print(f"{name}: {numbers} numbers, {len(buckets)} buckets, {args.cards} cards: "
              f"{after:.1f} ms after the backward pass, {100 * args.step / (args.step + after):.0f} %; "
              f"begun at its end {at_end:.1f} ms, {100 * args.step / (args.step + at_end):.0f} %")


if __name__ == "__main__":
    main()
