#!/usr/bin/env python3
"""claims.py - the criterion of claims, and what is compared with what."""
import math
import os
import statistics
import sys
import unittest

HERE = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
sys.path.insert(0, HERE)
sys.dont_write_bytecode = True
import results  # noqa: E402
import results_claims as claims  # noqa: E402
import results_criterion as criterion  # noqa: E402

# Student's t at 95 %, two sides, as printed tables have it.
PRINTED = {1: 12.706, 2: 4.303, 3: 3.182, 4: 2.776, 5: 2.571, 10: 2.228, 20: 2.086}


def comparison(gains, kind=criterion.BETTER, margin=0.0):
    return criterion.Comparison("x", gains, kind, margin)


class Criterion(unittest.TestCase):
    def test_t_is_that_of_printed_tables(self):
        for freedom, value in PRINTED.items():
            self.assertEqual(criterion.T95[freedom], value)

    def test_the_half_of_an_interval(self):
        self.assertAlmostEqual(comparison([1, 2, 3]).half(), 4.303 / math.sqrt(3))
        self.assertIsNone(comparison([1]).half())

    def test_better(self):
        self.assertEqual(comparison([1, 1.1, 1.2]).verdict, criterion.SUPPORTED)
        self.assertEqual(comparison([-1, -1.1, -1.2]).verdict, criterion.CONTRADICTED)
        self.assertEqual(comparison([1, 2, 3]).verdict, criterion.OPEN)
        self.assertEqual(comparison([5]).verdict, criterion.OPEN)

    def test_alike(self):
        self.assertEqual(comparison([-0.1, 0, 0.1], criterion.ALIKE, 0.5).verdict, criterion.SUPPORTED)
        self.assertEqual(comparison([-0.1, 0, 0.1], criterion.ALIKE, 0.2).verdict, criterion.OPEN)
        self.assertEqual(comparison([0.9, 1, 1.1], criterion.ALIKE, 0.5).verdict, criterion.CONTRADICTED)
        self.assertEqual(comparison([-0.9, -1, -1.1], criterion.ALIKE, 0.5).verdict, criterion.CONTRADICTED)

    def test_no_worse(self):
        self.assertEqual(comparison([-0.5, -0.6, -0.4], criterion.NO_WORSE, 1).verdict, criterion.SUPPORTED)
        self.assertEqual(comparison([-1.5, -1.6, -1.4], criterion.NO_WORSE, 1).verdict, criterion.CONTRADICTED)

    def test_the_seeds_that_would_decide(self):
        for gains in ([1, 2, 3], [0.5, 1.5, 2.5], [-3, -1, -2.5]):
            found = comparison(gains)
            n, mean, deviation = found.needed, abs(statistics.mean(gains)), statistics.stdev(gains)
            self.assertLess(criterion.T95[n - 1] * deviation / math.sqrt(n), mean)
            self.assertGreaterEqual(criterion.T95[n - 2] * deviation / math.sqrt(n - 1), mean)
        self.assertIsNone(comparison([-1, 0, 1.01]).needed)

    def test_one_seed_tells_not_how_many_decide(self):
        self.assertEqual(criterion.would_decide([comparison([5])]), "three seeds, to tell how many for 1 of 1")
        found = criterion.would_decide([comparison([5]), comparison([1, 2, 3])])
        self.assertEqual(found, "three seeds, to tell how many for 1 of 2; 4 seeds")
        self.assertEqual(criterion.would_decide([comparison([1, 1.1])]), "")

    def test_a_claim_has_the_verdicts_of_its_comparisons(self):
        yes, no, left = comparison([1, 1.1]), comparison([-1, -1.1]), comparison([1, -1])
        self.assertEqual(criterion.verdict([yes, yes]), criterion.SUPPORTED)
        self.assertEqual(criterion.verdict([no]), criterion.CONTRADICTED)
        self.assertEqual(criterion.verdict([left]), criterion.OPEN)
        self.assertEqual(criterion.verdict([yes, left, no]), "supported in 1, contradicted in 1 of 3")


class Rows:
    """A store with lines of some tables."""

    def __init__(self, **tables):
        self.tables = tables

    def lines(self, table):
        return self.tables.get(table.replace("-", "_"), [])


class Sources(unittest.TestCase):
    """What is compared with what."""

    def told(self, comparisons):
        return {c.name: [round(gain, 6) for gain in c.gains] for c in comparisons if c.gains}

    def test_a_pair_of_two_tables_is_told_apart(self):
        lines = [{"pair": "en-de", "way": way, "seed": seed, "bleu": bleu + seed}
                 for way, bleu in (("plain", 30), ("csan1d", 35), ("csan2d", 31)) for seed in (0, 1)]
        found = self.told(claims.windows_beside_plain(Rows(nmt=lines, nmt_annealed=lines)))
        self.assertEqual(found, {f"en-de{more} `{way}`": gains for more in ("", ", annealed")
                                 for way, gains in (("csan1d", [5, 5]), ("csan2d", [1, 1]))})

    def test_levels_stand_beside_one_level_of_the_same_network_and_seed(self):
        lines = [{"network": name, "depth": depth, "start": 0.9 if depth > 1 else None, "seed": seed,
                  "score": {"f1": 70 + depth + depth * seed}}
                 for name, depths in (("bidaf", (1, 5, 10)), ("r_net", (5,))) for depth in depths for seed in (0, 1)]
        self.assertEqual(self.told(claims.levels(Rows(reader_cloze=lines))),
                         {"bidaf, 5": [4, 8], "bidaf, 10": [9, 18]})

    def test_poems_stand_beside_one_level_of_the_same_training(self):
        lines = [{"score_name": "dot", "depth": depth, "score": {"bleu2_5": value, "bleu2_7": value}}
                 for depth, value in ((10, 0.2), (1, 0.2), (5, 0.3))]
        self.assertEqual(self.told(claims.poems(10)(Rows(poem=lines[:2], poem_epochs=lines))),
                         {"2,000 steps, 10": [0], "dot, 10": [0]})
        self.assertEqual(self.told(claims.poems(5)(Rows(poem=lines[:2], poem_epochs=lines))), {"dot, 5": [50]})
        more = [dict(x, seed=43, score={"bleu2_5": 0.1 * x["depth"], "bleu2_7": 0.1}) for x in lines[:2]]
        self.assertEqual(self.told(claims.poems(10)(Rows(poem=[*lines[:2], *more]))), {"2,000 steps, 10": [0, 450]})

    def test_further_seeds_join_those_of_their_setting(self):
        lines = [{"pair": pair, "way": way, "seed": seed, "bleu": 30 + seed * (way == "csan1d")}
                 for pair in ("en-de", "ja-en") for way in ("plain", "csan1d", "csan2d") for seed in (1, 2, 3)]
        german = [x for x in lines if x["pair"] == "en-de"]
        found = self.told(claims.windows_beside_plain(Rows(nmt=[x for x in german if x["seed"] < 3],
                                                           nmt_annealed=[x for x in german if x["seed"] < 3],
                                                           nmt_seeds=[x for x in lines if x["seed"] > 2])))
        self.assertEqual(found["en-de `csan1d`"], [1, 2, 3])
        self.assertEqual(found["en-de, annealed `csan1d`"], [1, 2])
        self.assertFalse([name for name in found if "ja-en" in name])

    def test_gates_stand_beside_their_control_of_the_same_seed(self):
        lines = [{"pair": "en-fr", "system": name, "seed": seed, "bleu": bleu + seed * (name == "hard")}
                 for name, bleu in (("hard", 30), ("soft_as_hard", 29)) for seed in (42, 43)]
        found = self.told(claims.beside((("hard", "soft_as_hard"),))(Rows(hard=lines[:3])))
        self.assertEqual(found, {"en-fr: `hard` above `soft_as_hard`": [43]})


    def test_gates_stand_beside_gates_without_rewards(self):
        lines = [{"data_set": data, "layers": layers, "system": system, "seed": seed, "right": right * layers}
                 for data in ("short", "long") for layers in (1, 3) for seed in (1, 2)
                 for system, right in (("none", 90), ("no_reward", 20), ("scratch_none", 50))]
        self.assertEqual(self.told(claims.gates_trained(Rows(gates_words=lines))),
                         {"short": [70, 70], "long": [70, 70]})

    def test_levels_that_move_stand_beside_one_level_of_the_same_data(self):
        lines = [{"data_set": data, "network": "bidaf", "depth": depth, "start": start, "seed": 1, "score": {"f1": f1}}
                 for data, more in (("cloze", 3), ("squad", 5)) for depth, start, f1 in ((1, None, 60), (5, 0, 60 + more))]
        self.assertEqual(self.told(claims.moving_levels(Rows(reader_rates=lines))),
                         {"cloze bidaf 5 0": [3], "squad bidaf 5 0": [5]})

    def test_a_claim_without_runs_says_so(self):
        rows_of_page = list(claims.page(Rows()))
        self.assertEqual(sum("| no run yet | not decided | the planned runs |" in row for row in rows_of_page),
                         sum(map(len, claims.PAPERS.values())))


class Page(unittest.TestCase):
    """The page beside the claims; tests/verdicts.py computes each verdict anew."""

    def test_every_claim_has_a_verdict_on_the_page(self):
        store = results.Store(results.ROWS)
        with open(os.path.join(HERE, "pages", "results.md"), encoding="utf-8") as file:
            text = file.read()
        count = 0
        for _, claim, measure, found in claims.claims(store):
            count += 1
            self.assertIn(f"| {claim} | {measure} |", text)
            self.assertIn(f"| {criterion.verdict(found)} |", text)
        self.assertEqual(count, sum(map(len, claims.PAPERS.values())))


if __name__ == "__main__":
    unittest.main()
