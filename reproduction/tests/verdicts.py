#!/usr/bin/env python3
"""verdicts.py - each comparison and verdict of the table of claims, computed anew from the rows.

Nothing of the scripts that make the table is used here, so that a slip in one of both is found.
"""
import csv
import json
import math
import os
import re
import statistics
import sys
import unittest

HERE = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
sys.dont_write_bytecode = True

# Student's t at 95 %, two sides, by the number of seeds, as printed tables have it.
T = {2: 12.706, 3: 4.303, 4: 3.182, 5: 2.776, 6: 2.571, 7: 2.447, 8: 2.365, 9: 2.306, 10: 2.262}
ABOVE = (0, math.inf)
SETTINGS = [("nmt", "en-de", ""), ("nmt-pairs", "zh-en", ""), ("nmt-pairs", "ja-en", ""),
            *(("nmt-annealed", pair, ", annealed") for pair in ("en-de", "en-fr", "wmt-en-de"))]
CSAN = ("csan1d", "csan2d")
OTHERS = ("bi_direct", "rel_pos", "rel_pos_encoder", "rel_pos_heads", "neighbor", "local_hard", "local_soft",
          "block", "conv")


def rows(name):
    path = os.path.join(HERE, "rows", f"{name}.jsonl")
    if not os.path.exists(path):
        return []
    with open(path, encoding="utf-8") as lines:
        return [json.loads(line) for line in lines]


def scores(lines, value, **wanted):
    """What value takes from each line with the wanted entries, by seed; the poems' first seed stands in no line."""
    return {x.get("seed", 42): value(x) for x in lines if all(x.get(k) == v for k, v in wanted.items())}


def gains(own, base):
    return [own[seed] - base[seed] for seed in own if seed in base]


def between(lines, value, key, own, base, **wanted):
    return gains(*(scores(lines, value, **wanted, **{key: name}) for name in (own, base)))


# ---- what each claim compares: (part of the claim, name, gains, where the interval has to lie) -----------


def translation():
    def bleu(x):
        return x["bleu"]

    for table, pair, more in SETTINGS:
        lines = rows(table) + (rows("nmt-seeds") if not more else [])
        name = pair + more
        for way in CSAN:
            yield "consistently improves", f"{name} {way}", between(lines, bleu, "way", way, "plain", pair=pair), ABOVE
            both = [[x for x in lines if (x["pair"], x["way"]) == (pair, w) and x.get("ngrams")]
                    for w in (way, "plain")]
            of = [{n: scores(own, lambda x, n=n: x["ngrams"][n]) for n in (0, 3)} for own in both]
            steep = [(of[0][3][s] / of[1][3][s] - of[0][0][s] / of[1][0][s]) * 100
                     for s in of[0][0] if s in of[1][0]]
            if len(steep) > 1:
                yield "larger granularities", f"{name} {way}", steep, ABOVE
        yield "further improve", name, between(lines, bleu, "way", "csan2d", "csan1d", pair=pair), ABOVE
        for way in OTHERS:
            found = between(lines, bleu, "way", way, "plain", pair=pair)
            if len(found) > 1:
                yield "all the models improve", f"{name} {way}", found, ABOVE
                yield ("outperform all the existing", f"{name}: csan2d above {way}",
                       between(lines, bleu, "way", "csan2d", way, pair=pair), ABOVE)
    for table, name in (("nmt-windows", "1,000 steps"), ("nmt-annealed", "annealed")):
        for claim, best, others in (("local size with 11", "window 11", [f"window {n}" for n in range(1, 30)]),
                                    ("number of heads", "heads 3", ["heads 5", "heads 7"])):
            for way in others:
                found = between(rows(table), bleu, "way", best, way)
                if way != best and found:
                    yield claim, f"{name}: {best} above {way}", found, ABOVE
    for line in rows("nmt-speed"):
        for way in CSAN:
            yield ("marginally affect", f"{line['pieces']} pieces {way}",
                   [100 * x["plain"] / x[way] - 100 for x in line["rounds"]], (-5, math.inf))


def tagger():
    lines, penn = rows("tagger"), rows("tagger-penn")
    banks = sorted({x["bank"] for x in lines})

    def six(own, base, value, lines=lines):
        each = [scores(lines, value, bank=bank, variant=v) for v in (own, base) for bank in banks]
        half = len(banks)
        return [statistics.mean(a[s] - b[s] for a, b in zip(each[:half], each[half:]))
                for s in sorted(set(each[0]).intersection(*each))]

    def accuracy(x):
        return x["score"]["accuracy"]

    def english(own, base):
        return between(penn, accuracy, "variant", own, base)

    def second(x):
        return x["dev"][1] if len(x["dev"]) > 1 else x["dev"][0]

    for variant in ("p_r", "p_r_spectral"):
        yield "feasible alternative", variant, six(variant, "pe_add", accuracy), (-1, math.inf)
    yield "slightly worse", "six treebanks", six("pe_add", "r", accuracy), ABOVE
    yield "slightly worse", "Penn sizes", english("pe_add", "r"), ABOVE
    yield "almost no effect", "temp", six("temp", "pe_add", accuracy), (-0.5, 0.5)
    yield "out-of-vocabulary", "temp", six("temp", "pe_add", lambda x: x["score"]["accuracy_oov"]), ABOVE
    yield "perform similar", "six treebanks", six("conv2d", "conv", accuracy), (-0.5, 0.5)
    yield "perform similar", "Penn sizes", english("conv2d", "conv"), (-0.5, 0.5)
    yield "just using SAN+P", "p beside p_r", english("p", "p_r"), (-0.5, math.inf)
    logged = [x for x in lines if x.get("dev")]
    for variant in ("conv", "conv2d"):
        yield "performance on UD", variant, six(variant, "pe_add", accuracy), ABOVE
        yield "slight performance", f"{variant} beside pe_add", english(variant, "pe_add"), ABOVE
        yield "worse results", variant, english(variant, f"{variant}_before"), ABOVE
        yield "fewer epochs", variant, six(variant, "pe_add", second, logged), ABOVE
        yield ("fewer epochs", f"{variant}, Penn sizes",
               between([x for x in penn if x.get("dev")], second, "variant", variant, "pe_add"), ABOVE)


def gates():
    lines = rows("hard")
    for pair in ("en-de", "en-fr", "wmt-en-de"):
        for claim, own, controls in (
                ("consistently outperforms the soft", "hard", ("soft_as_hard", "hard_no_reward")),
                ("from scratch", "hard_scratch", ("soft",)), ("the gap to sequence loss", "hard", ("sequence",)),
                ("Sequence training", "sequence", ("soft_as_sequence", "sequence_no_reward")),
                ("Localness", "hard", ("localness",))):
            for base in controls:
                found = between(lines, lambda x: x["bleu"], "system", own, base, pair=pair)
                yield claim, f"{pair}: {own} above {base}", found, ABOVE

        def steep(x):
            many = [g["bleu"] for g in x["lengths"] if g["words"] != "all" and g["sentences"] > 29]
            return many[-1] - many[0]

        yield "grows bigger", pair, between(lines, steep, "system", "hard", "soft_as_hard", pair=pair), ABOVE
    for data in ("short", "long"):
        for name, start in (("", ""), (", from scratch", "scratch_")):
            found = between(rows("gates-words"), lambda x: x["right"], "system", f"{start}none",
                            f"{start}no_reward", data_set=data, layers=1)
            if found:
                yield "efficiently train", data + name, found, ABOVE


def levels():
    def f1(x):
        return x["score"]["f1"]

    for table, claim in (("reader-cloze", "With the increase"), ("reader", "much better"),
                         ("reader-rates", "30 times")):
        lines = rows(table)
        places = {(x.get("data_set"), x["network"], x["depth"], x.get("start")) for x in lines if x["depth"] > 1}
        for data, network, depth, start in places:
            value = f1 if data in (None, "cloze", "squad_v1.1") else lambda x: x["score"]["rouge_l"]
            same = [x for x in lines if (x.get("data_set"), x["network"]) == (data, network)
                    and (x["depth"] == 1 or (x["depth"], x.get("start")) == (depth, start))]
            found = between(same, value, "depth", depth, 1)
            name = f"{network}, {depth}" if claim == "With the increase" else (
                f"{data.split('/')[0]} {network}, {depth}" if claim == "much better"
                else f"{data} {network} {depth} {start}")
            if found and (claim != "With the increase" or start == 0.9):
                yield claim, name, found, ABOVE
    poems = [*(dict(x, score_name="2,000 steps") for x in rows("poem")), *rows("poem-epochs")]
    for name in ("2,000 steps", "dot", "additive"):
        for depth, claim in ((10, "25%"), (5, "the larger d is")):
            of = [scores(poems, lambda x: x["score"]["bleu2_5"] + x["score"]["bleu2_7"], depth=d, score_name=name)
                  for d in (depth, 1)]
            yield claim, f"{name}, {depth}", [100 * of[0][s] / of[1][s] - 100 for s in of[0] if s in of[1]], ABOVE


def judged(found, inside):
    """The mean, half of the interval or None, and the verdict: the interval lies inside, outside, or neither."""
    mean = statistics.mean(found)
    if len(found) < 2:
        return mean, None, "not decided"
    half = T[len(found)] * math.sqrt(statistics.variance(found) / len(found))
    low, high = inside
    if low < mean - half and mean + half < high:
        return mean, half, "supported"
    return mean, half, "contradicted" if mean + half < low or mean - half > high else "not decided"


class Verdicts(unittest.TestCase):
    def setUp(self):
        with open(os.path.join(HERE, "tables", "claims.csv"), encoding="utf-8") as file:
            self.table = list(csv.DictReader(file))

    def test_every_comparison(self):
        left = {(x["claim"], x["comparison"]): x for x in self.table}
        self.assertEqual(len(left), len(self.table))
        for part, name, found, inside in (*translation(), *tagger(), *gates(), *levels()):
            with self.subTest(part, name=name):
                (key,) = [k for k in left if part in k[0] and k[1] == name]
                line = left.pop(key)
                mean, half, verdict = judged(found, inside)
                self.assertEqual(int(line["seeds"]), len(found))
                self.assertAlmostEqual(float(line["mean"]), mean, delta=0.0006)
                told = line["half of the 95 % interval"]
                self.assertEqual(bool(told), half is not None)
                self.assertAlmostEqual(float(told or 0), half or 0, delta=0.0006)
                self.assertEqual(line["verdict"], verdict)
        self.assertFalse(left, "comparisons that no test computes")

    def test_every_claim_has_the_sum_of_its_comparisons(self):
        with open(os.path.join(HERE, "pages", "results.md"), encoding="utf-8") as file:
            page = [line.split(" | ") for line in file if line.startswith("| ")]
        for claim in dict.fromkeys(x["claim"] for x in self.table):
            found = [x["verdict"] for x in self.table if x["claim"] == claim]
            yes, no = found.count("supported"), found.count("contradicted")
            (row,) = [cells for cells in page if re.sub(r"[`*]", "", cells[0])[2:] == claim]
            if len(found) in (yes, no):
                want = found[0]
            elif yes or no:
                parts = [f"{word} in {n}" for word, n in (("supported", yes), ("contradicted", no)) if n]
                want = f"{', '.join(parts)} of {len(found)}"
            else:
                want = "not decided"
            self.assertEqual(row[3], want, claim)

    def test_the_counterexample_to_theorem_1(self):
        """A query across the keys weighs k and -k alike: their sum has no length, and each key has one."""
        keys, query = ((3.0, 4.0), (-3.0, -4.0)), (4.0, -3.0)
        powers = [math.exp(sum(a * b for a, b in zip(query, key))) for key in keys]
        weights = [power / sum(powers) for power in powers]
        out = [sum(w * key[i] for w, key in zip(weights, keys)) for i in range(2)]
        self.assertEqual(math.hypot(*out), 0)
        self.assertEqual(min(math.hypot(*key) for key in keys), 5)


if __name__ == "__main__":
    unittest.main()
