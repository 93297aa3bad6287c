#!/usr/bin/env python3
"""results_cloze.py - cloze questions from the passages of SQuAD, in its layout.

  reproduction/results_cloze.py DATA/squad_v1.1 RUNS/cloze

A passage is three sentences of a paragraph. A question is one of them with a number, a name or a
long word replaced by "what"; the answer is what stood there. Of the other words, half are left out:
with all of them, 500 steps of BiDAF answer 94 % of such questions. The answer stands in the passage
once, so that the question's words are the only way to it. train.json and dev.json keep their articles apart.
"""
import argparse
import hashlib
import json
import os
import re

SENTENCE = re.compile(r"(?<=[a-z0-9)\"][.!?])\s+(?=[A-Z\"(])")
SPAN = re.compile(r"(?<=[^.!?\s] )(?:[A-Z][\w-]*(?: [A-Z][\w-]*)*|\d[\d,.]*\d|\d|[a-z]{6,})(?=[ ,;.)])")
WORDS, PASSAGE = (6, 30), 100  # of a question; most of a passage
EACH = 5  # questions of a sentence


def rank(text):
    return hashlib.sha1(text.encode()).hexdigest()


def passages(paragraph):
    """Three sentences each, as places in the paragraph."""
    ends = [0, *(m.end() for m in SENTENCE.finditer(paragraph)), len(paragraph)]
    for i in range(0, len(ends) - 1, 3):
        last = min(i + 3, len(ends) - 1)
        if last - i > 1 and len(paragraph[ends[i]:ends[last]].split()) <= PASSAGE:
            yield ends[i:last + 1]


def thinned(words):
    """The words whose rank among the others is even."""
    order = sorted(range(len(words)), key=lambda i: rank(f"{i} {' '.join(words)}"))
    kept = set(order[::2])
    return " ".join(word for i, word in enumerate(words) if i in kept)


def questions(paragraph, ends):
    """At most EACH for each sentence of a passage."""
    passage = paragraph[ends[0]:ends[-1]].rstrip()
    for begin, end in zip(ends, ends[1:]):
        sentence = paragraph[begin:end].rstrip()
        spans = [m for m in SPAN.finditer(sentence)
                 if len(re.findall(rf"\b{re.escape(m.group())}\b", passage)) == 1]
        if not WORDS[0] <= len(sentence.split()) <= WORDS[1]:
            continue
        for m in sorted(spans, key=lambda m: rank(sentence + m.group()))[:EACH]:
            before, after = sentence[:m.start()].split(), sentence[m.end():].rstrip(".!?").split()
            question = f"{thinned(before)} what {thinned(after)}?".replace(" ?", "?").lstrip()
            yield {"id": rank(f"{m.start()} {passage} {question}")[:16], "question": question,
                   "answers": [{"text": m.group(), "answer_start": begin - ends[0] + m.start()}]}


def cloze(data):
    for article in data:
        paragraphs = []
        for paragraph in (p["context"] for p in article["paragraphs"]):
            for ends in passages(paragraph):
                made = list(questions(paragraph, ends))
                if made:
                    paragraphs.append({"context": paragraph[ends[0]:ends[-1]].rstrip(), "qas": made})
        yield {"title": article["title"], "paragraphs": paragraphs}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", help="train.json and dev.json of SQuAD")
    parser.add_argument("out")
    args = parser.parse_args()
    os.makedirs(args.out, exist_ok=True)
    for name in ("train.json", "dev.json"):
        with open(os.path.join(args.folder, name), encoding="utf-8") as file:
            articles = list(cloze(json.load(file)["data"]))
        with open(os.path.join(args.out, name), "w", encoding="utf-8") as file:
            json.dump({"version": "cloze", "data": articles}, file, ensure_ascii=False)
        print(f"{name}: {sum(len(p['qas']) for a in articles for p in a['paragraphs'])} questions")


if __name__ == "__main__":
    main()
