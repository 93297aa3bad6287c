#!/usr/bin/env python3
"""results_text.py - text for `clattn vectors` from the data sets of the results: a sentence or
passage a line, words and marks parted by blanks, on standard output.

  reproduction/results_text.py --lower squad_v1.1/train.json multi30k/raw/train.en | clattn vectors -o words.vec

FILE is .json (SQuAD: passages and questions), .conllu (forms) or plain text.
"""
import argparse
import json
import re
import sys

WORD = re.compile(r"[^\W_]+|[^\w\s]|_")  # runs of letters and digits, single marks


def squad(file):
    for article in json.load(file)["data"]:
        for paragraph in article["paragraphs"]:
            yield paragraph["context"]
            for question in paragraph["qas"]:
                yield question["question"]


def conllu(file):
    for sentence in file.read().split("\n\n"):
        rows = [line.split("\t") for line in sentence.splitlines() if line[:1].isdigit()]
        yield " ".join(row[1] for row in rows if row[0].isdigit())


READERS = {"json": squad, "conllu": conllu}


def lines(paths, lower):
    for path in paths:
        with open(path, encoding="utf-8") as file:
            for text in READERS.get(path.rsplit(".", 1)[-1], iter)(file):
                words = WORD.findall(text.lower() if lower else text)
                if words:
                    yield " ".join(words)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("file", nargs="+")
    parser.add_argument("--lower", action="store_true", help="letters in lower case")
    args = parser.parse_args()
    for line in lines(args.file, args.lower):
        print(line)


if __name__ == "__main__":
    sys.exit(main())
