#!/usr/bin/env python3
"""results_words.py - word-for-word translations that only a look at the right word can make.

  reproduction/results_words.py RUNS/words-short 4 12
  reproduction/results_words.py RUNS/words-long 24 40

Sentences are letters drawn at random, of so many to so many words, and a translation has another letter for
each, in the same order. No word tells of the next one, so that a decoder that does not find the word's source
guesses. Files: train, dev and test, .src and .tgt.
"""
import argparse
import os
import random
import string

SENTENCES = {"train": 4000, "dev": 200, "test": 200}
LETTERS = string.ascii_letters


def pairs(count, least, most, draw):
    """Lines of words and their translations: each letter's is the next one of the alphabet."""
    other = dict(zip(LETTERS, LETTERS[1:] + LETTERS[0]))
    for _ in range(count):
        words = [draw.choice(LETTERS) for _ in range(draw.randint(least, most))]
        yield " ".join(words), " ".join(other[word] for word in words)


def write(folder, least, most):
    os.makedirs(folder, exist_ok=True)
    draw = random.Random(least * 1000 + most)  # numbers of Python's generator are the same everywhere
    for name, count in SENTENCES.items():
        sides = zip(*pairs(count, least, most, draw))
        for end, lines in zip(("src", "tgt"), sides):
            with open(os.path.join(folder, f"{name}.{end}"), "w", encoding="utf-8") as file:
                file.write("".join(line + "\n" for line in lines))


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder")
    parser.add_argument("least", type=int, help="words of a sentence")
    parser.add_argument("most", type=int)
    args = parser.parse_args()
    write(args.folder, args.least, args.most)


if __name__ == "__main__":
    main()
