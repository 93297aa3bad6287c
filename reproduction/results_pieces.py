"""results_pieces.py - the control of DuReader's sample: answers cut from passages at random.

A cell is a length and a seed. Each answer is a piece of so many characters, from a place at random
of one of the question's passages; scores are those of the readers.
"""
import json
import os
import random
import tempfile

LENGTHS, SEEDS = (50, 100), (42, 43, 44)


def cells():
    for length in LENGTHS:
        for seed in SEEDS:
            yield {"length": length, "seed": seed}


PAGE = "reading"
TABLES = {"reader-pieces": lambda: list(cells())}


def key(cell):
    return cell["length"], cell["seed"]


def plain(text):
    return " ".join(text.split())


def piece(question, length, draws):
    text = plain("".join(draws.choice(question["documents"])["paragraphs"]))
    first = draws.randrange(max(1, len(text) - length + 1))
    return text[first:first + length]


def measure(cell, run):
    """BLEU-4 and ROUGE-L of characters, of the questions of dev that have answers."""
    with open(os.path.join(cell["data"], "dureader_demo", "dev.jsonl"), encoding="utf-8") as file:
        asked = [question for question in map(json.loads, file) if question["answers"]]
    draws = random.Random(cell["seed"])
    said = "".join(piece(question, cell["length"], draws) + "\n" for question in asked)
    with tempfile.NamedTemporaryFile("w", encoding="utf-8") as references:
        for question in asked:
            references.write("\t".join(map(plain, question["answers"])) + "\n")
        references.flush()
        bleu, rouge = (run("score", verb, "--json", "--tokenize", "char", "--ref", references.name, input=said)
                       for verb in ("charbleu", "rougel"))
    return {"score": {"bleu4": json.loads(bleu.splitlines()[3])["score"], "rouge_l": json.loads(rouge)["score"]},
            "command": f"reproduction/results.sh reader-pieces DATA --only '^{cell['length']}/{cell['seed']}$'"}


def told(line):
    return f"BLEU-4 {line['score']['bleu4']:.2f}, ROUGE-L {line['score']['rouge_l']:.2f}"


def page(_):
    """Its rows stand in the readers' table."""
    return ()


def tables(_):
    return {}
