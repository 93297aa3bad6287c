#!/usr/bin/env python3
"""estimates.py - what tests/gpu/analysis/estimate.py makes of recorded grids; no compilers are needed."""
import json, os, sys, tempfile, unittest

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "analysis"))
import estimate
import report

# a kernel whose loop multiplies 64 times a round, eight groups of two warps on a unit
ROW = dict(occupancy=16, bound=0.5, products=1, mix=dict(fma=64, instructions=100, local=8))
CARD = estimate.GATED


def recorded(groups, case="product fwd", flops=1e9, launches=1, file="product", name="product WG=64"):
    """The Time of a case of equal launches, of a kernel whose figures are stored under that name."""
    with tempfile.TemporaryDirectory() as folder:
        with open(os.path.join(folder, "grids.jsonl"), "w") as f:
            f.write(json.dumps(dict(case=case, flops=flops, bytes=0)) + "\n")
            for _ in range(launches):
                f.write(json.dumps(dict(file=file, kernel="product", defines=dict(WG=64), local=[64, 1, 1], groups=[groups, 1, 1],
                                        flops=flops / launches, bytes=4096)) + "\n")
        (time,) = estimate.estimates(folder, CARD, {(CARD.target, name): ROW})
    return time


class Estimates(unittest.TestCase):
    def test_a_grid_of_one_group_is_too_slow(self):
        self.assertTrue(estimate.too_slow(recorded(1)))
        self.assertFalse(estimate.too_slow(recorded(132 * 8)))

    def test_the_gate_is_red_unless_it_is_excused(self):
        slow, line = recorded(1), "estimate %s %s"
        for words, good in ((), False), ((line % (CARD.target, "product *"),), True), ((line % ("gfx*", "product *"),), False), \
                ((line % ("gfx*|sm_*", "x*|product *"),), True), ((line % ("*", "x*"),), False), (("spill * *",), False):
            known = [(n, w.split(" ", 2)) for n, w in enumerate(words)]
            self.assertEqual(report.check([], known, {}, [CARD.target], "hot", [slow]), good, words)

    def test_rounds_follow_from_the_products(self):
        time = recorded(132)
        self.assertEqual(time.groups, 132)
        self.assertAlmostEqual(time.rounds, 1e9 / (2 * 64 * 132 * 64))
        # nine groups on a unit that holds eight: one after another
        self.assertAlmostEqual(recorded(132 * 9).rounds, 2 * time.rounds / 9)

    def test_launches_beyond_ten_count_against_the_work(self):
        one, many = recorded(132, launches=1), recorded(132, launches=100)
        self.assertEqual(many.launches, 100)
        self.assertAlmostEqual(many.seconds - one.seconds, 99 * estimate.LAUNCH)
        self.assertAlmostEqual(many.roofline - one.roofline, 9 * estimate.LAUNCH)

    def test_generated_kernels_have_figures_of_their_own(self):
        rounds = recorded(132).rounds
        self.assertEqual(recorded(132, file="product-12ab", name="product WG=64 TEXT=12ab").rounds, rounds)
        self.assertNotEqual(recorded(132, file="product-12ab").rounds, rounds)

    def test_models_are_not_gated(self):
        self.assertFalse(estimate.too_slow(recorded(1, case="model train", flops=0, launches=1000)))

    def test_at_most_ten_breaches_are_excused(self):
        self.assertLessEqual(len(report.known_breaches(report.BREACHES)), 10)

    def test_cards_are_known_to_the_models(self):
        for card in estimate.CARDS:
            self.assertIn(card.target, report.MACHINES)
        self.assertEqual([c.units for c in estimate.CARDS], [132, 96, 64, 32])


if __name__ == "__main__":
    unittest.main()
