#!/usr/bin/env python3
"""prepare.py - checks the data sets of the tables, and makes what is derived from them

  reproduction/prepare.py DATA [RUNS]

data.json has the source, commit, licence and preparation of each data set, and the checksum of each file as the
rows were trained on it. DATA has a folder a data set. Each file is named that lacks or differs; with RUNS, the
folder of the runs, the derived sets are made there whose data is whole. Ends with 1 where something lacks.
"""
import argparse
import hashlib
import json
import os
import subprocess
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
# What is made of a set, or of none: its folder in RUNS, and the command, with DATA and RUNS.
DERIVED = (
    ("tanaka_enja", "tanaka_jaen", ("results_split.py", "{data}/tanaka_enja", "en", "ja", "{runs}/tanaka_jaen")),
    ("squad_v1.1", "cloze", ("results_cloze.py", "{data}/squad_v1.1", "{runs}/cloze")),
    (None, "words-short", ("results_words.py", "{runs}/words-short", "4", "12")),
    (None, "words-long", ("results_words.py", "{runs}/words-long", "24", "40")),
)


def data_sets():
    with open(os.path.join(HERE, "data.json"), encoding="utf-8") as file:
        return json.load(file)


def checksum(path):
    digest = hashlib.sha256()
    with open(path, "rb") as file:
        for block in iter(lambda: file.read(1 << 20), b""):
            digest.update(block)
    return digest.hexdigest()


def faults(folder, files):
    """What is wrong with the files of a data set."""
    for name, wanted in files.items():
        path = os.path.join(folder, name)
        if not os.path.exists(path):
            yield f"{path} is missing"
        elif checksum(path) != wanted:
            yield f"{path} is another file than that of the rows"


def check(data, sets):
    """Prints a line a set; gives the names of those that are whole."""
    whole = set()
    for name, about in sets.items():
        found = list(faults(os.path.join(data, name), about["files"]))
        for fault in found:
            print(fault)
        print(f"{name}: {'whole' if not found else 'from ' + about['source'] + ' at ' + about['commit']}"
              f" ({about['licence']})")
        if not found:
            whole.add(name)
    return whole


def derive(data, runs, whole):
    for name, made, (script, *words) in DERIVED:
        if (not name or name in whole) and not os.path.exists(os.path.join(runs, made)):
            command = [word.format(data=data, runs=runs) for word in words]
            subprocess.run([sys.executable, os.path.join(HERE, script), *command], check=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("data")
    parser.add_argument("runs", nargs="?")
    args = parser.parse_args()
    sets = data_sets()
    whole = check(args.data, sets)
    if args.runs:
        derive(args.data, args.runs, whole)
    sys.exit(len(whole) < len(sets))


if __name__ == "__main__":
    main()
