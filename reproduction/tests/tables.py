#!/usr/bin/env python3
"""tables.py - what reproduction/results.py does with runs that were cut off, and what --check finds."""
import contextlib
import csv
import io
import json
import os
import re
import sys
import tempfile
import unittest

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
sys.path.insert(0, os.path.join(ROOT, "reproduction"))
sys.dont_write_bytecode = True
import results  # noqa: E402
import results_check  # noqa: E402
import results_nmt  # noqa: E402

# A program that saves a state, notes its arguments and fails as often as the file says.
PROGRAM = """#!/bin/sh
for word; do [ "$last" = --out ] && out=$word; last=$word; done
mkdir -p "$out" && touch "$out/last.ckpt.safetensors"
echo "$*" >>"{log}"
[ ! -e "{log}.cut" ] || { rm "{log}.cut"; exit 130; }
"""


class System:
    """Two cells, planned as a table named two."""
    TABLES = {"two": lambda: [{"seed": 1}, {"seed": 2}]}

    @staticmethod
    def key(line):
        return ("cell", line["seed"])


class Train(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.log = os.path.join(folder.name, "calls")
        self.out = os.path.join(folder.name, "table", "run")
        self.state = os.path.join(self.out, "last.ckpt.safetensors")
        self.program = os.path.join(folder.name, "program")
        with open(self.program, "w", encoding="utf-8") as file:
            file.write(PROGRAM.replace("{log}", self.log))
        os.chmod(self.program, 0o755)
        self.places = {"checkout": folder.name, "data": "D", "runs": folder.name}
        self.cell = {"config": "c.json", "set": ["data={data}"]}
        self.commit, results.commit = results.commit, lambda _checkout: "abc"
        self.addCleanup(setattr, results, "commit", self.commit)

    def train(self):
        return results.train_once(self.cell, self.places, self.program, self.out)

    def calls(self):
        with open(self.log, encoding="utf-8") as lines:
            return lines.read().splitlines()

    def test_ended_run_is_not_trained_again(self):
        first = self.train()
        self.assertEqual(first["commit"], "abc")
        self.assertGreater(first["wall_s"], 0)
        self.assertEqual(self.train(), first)
        self.assertEqual(self.calls(), [f"train c.json --out {self.out} --quiet --set data=D"])

    def test_run_that_was_cut_off_is_resumed(self):
        with open(self.log + ".cut", "w", encoding="utf-8"):
            pass
        with self.assertRaises(results.subprocess.CalledProcessError):
            self.train()
        with open(self.out + ".json", "w", encoding="utf-8") as file:
            json.dump({"wall_s": 100, "began": os.path.getmtime(self.state) - 20}, file)
        self.assertAlmostEqual(self.train()["wall_s"], 120, delta=10)
        self.assertEqual(self.calls()[1:], [f"train c.json --out {self.out} --quiet --set data=D --resume"])

    def test_run_of_unknown_beginning_has_no_wall_time(self):
        os.makedirs(self.out)
        with open(self.state, "w", encoding="utf-8"):
            pass
        self.assertIsNone(self.train()["wall_s"])

    def test_folder_without_a_state_begins_again(self):
        os.makedirs(self.out)
        self.assertGreater(self.train()["wall_s"], 0)
        self.assertNotIn("--resume", self.calls()[0])


class Missing(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.store = results.Store(folder.name)
        results.TABLES["two"] = System
        self.addCleanup(results.TABLES.pop, "two")

    def names(self, only="."):
        return [name for name, _ in results.missing("two", only, self.store)]

    def test_finished_cells_are_left_out(self):
        self.assertEqual(self.names(), ["cell/1", "cell/2"])
        self.assertEqual(self.names("/2"), ["cell/2"])
        self.store.add("two", {"seed": 1})
        self.assertEqual(self.names(), ["cell/2"])

    def test_cell_that_another_process_finishes_is_left_out(self):
        cells = results.missing("two", ".", self.store)
        self.assertEqual(next(cells)[0], "cell/1")
        self.store.add("two", {"seed": 2})
        self.assertEqual(list(cells), [])


class Check(unittest.TestCase):
    def check(self, *lines, known=True):
        with tempfile.TemporaryDirectory() as folder:
            store = results.Store(folder)
            for line in lines:
                store.add("two", line)
            self.addCleanup(setattr, results_check, "in_history", results_check.in_history)
            results_check.in_history = lambda *_: known
            said = io.StringIO()
            with contextlib.redirect_stdout(said):
                return results_check.cells({"two": System}, store, ROOT), said.getvalue()

    @staticmethod
    def line(seed, **more):
        return dict({"seed": seed, "commit": "abc", "command": "c", "wall_s": 1800.0, "device": "d"}, **more)

    def test_all_there(self):
        self.assertEqual(self.check(self.line(1), self.line(2))[0], 0)

    def test_missing(self):
        errors, said = self.check(self.line(1))
        self.assertEqual(errors, 0)
        self.assertIn("two: cell/2 is missing: 30 minutes of training; not run yet", said)
        self.assertIn("two: 1 of 2 cells; 1 missing: 30 minutes of training", said)

    def test_time_is_that_of_the_runs_most_alike(self):
        done = {("net", 5, 42): {"wall_s": 60}, ("net", 5, 43): {"wall_s": 80}, ("net", 1, 42): {"wall_s": 5},
                ("other", 5, 42): {"wall_s": 7}, ("net", 9, 42): {"wall_s": None}}
        self.assertEqual(results_check.seconds(("net", 5, 44), done), 70)
        self.assertEqual(results_check.seconds(("other", 9, 44), done), 7)
        self.assertIsNone(results_check.seconds(("net", 5, 44), {}))

    def test_faults_of_a_line(self):
        for more in ({"command": ""}, {"wall_s": None}, {"device": ""}, {"set": ["lr=9"]}, {"config": "other"}):
            self.assertEqual(self.check(self.line(1, **more), self.line(2))[0], 1, more)
        self.assertEqual(self.check(self.line(1), self.line(2), known=False)[0], 2)
        self.assertIn("cell/3: is not planned", self.check(self.line(3))[1])
        self.assertIn("cell/1: is there more than once", self.check(self.line(1), self.line(1))[1])

    def test_configs_of_cells_are_there_and_names_tell_them_apart(self):
        folders = [set(os.listdir(os.path.join(ROOT, f, "configs"))) for f in ("examples", "reproduction")]
        self.assertFalse(set.intersection(*folders))
        cells = [cell for table, system in results.TABLES.items() for cell in system.TABLES[table]()]
        configs = {cell["config"] for cell in cells if "config" in cell}
        self.assertGreater(len(configs), 10)
        for config in configs:
            self.assertTrue(os.path.exists(os.path.join(ROOT, config)), config)
        self.assertFalse({f"reproduction/configs/{name}" for name in folders[1]} - configs)
        for name in folders[1]:
            path = os.path.join(ROOT, "reproduction", "configs", name)
            with open(path, encoding="utf-8") as file:
                self.assertTrue(os.path.isdir(os.path.join(os.path.dirname(path), json.load(file)["data"])), name)

    def test_commits_of_changed_sources(self):
        self.assertFalse(results_check.in_history(ROOT, "abc+", {}))
        self.assertFalse(results_check.in_history(ROOT, "0" * 40, {}))


class Pages(unittest.TestCase):
    def test_every_claim_changes_with_the_store(self):
        store = results.Store(results.ROWS)
        before = list(results_check.figures(store))
        lines = store.lines
        store.lines = lambda table: [halved(x) for x in lines(table)]
        after = list(results_check.figures(store))
        # Differences to plain halve, too, so that no figure stays.
        self.assertEqual(len(before), len(after))
        self.assertGreater(len(before), 10)
        for sentences in zip(before, after):
            one, other = (re.findall(r"\d+\.\d+", sentence) for sentence in sentences)
            self.assertTrue(one and len(one) == len(other), sentences)
            self.assertTrue(all(a != b for a, b in zip(one, other)), sentences)

    def test_empty_store_has_a_page(self):
        with tempfile.TemporaryDirectory() as folder:
            pages = results.rendered(results.Store(folder))
            self.assertTrue(pages["pages/results.md"].startswith("# Results"))

    def test_every_table_can_have_ngrams(self):
        store = results.Store(results.ROWS)
        lines = store.lines
        store.lines = lambda table: [dict(x, ngrams=[50.0] * 8) for x in lines(table)]
        page = results.rendered(store)["pages/translation.md"]
        self.assertLess(page.index("## By the length of n-grams"), page.index("## Other languages"))

    def test_every_table_has_the_names_of_ways(self):
        page = results.rendered(results.Store(results.ROWS))["pages/translation.md"]
        self.assertIn("| `neighbor_predicted` |", page)
        self.assertNotIn("| `neighbor` |", page)

    def test_long_tables_are_complete(self):
        """What pages shorten has all its rows in the folder of tables, each as wide as the head."""
        store = results.Store(results.ROWS)
        found = {place: list(csv.reader(io.StringIO(text)))
                 for place, text in results.rendered(store).items() if place.endswith(".csv")}
        for place, rows in found.items():
            self.assertGreater(len(rows), 1, place)
            self.assertEqual({len(row) for row in rows}, {len(rows[0])}, place)
        ways = {(x["pair"], x["way"]) for x in store.lines("nmt-annealed") if x["way"] in results_nmt.WAYS}
        levels = {(x["network"], x["depth"], x["start"]) for x in store.lines("reader-cloze")}
        systems = {(x["pair"], x["system"]) for x in store.lines("hard")}
        for name, wanted in (("tagger-runs", len(store.lines("tagger"))), ("translation-annealed", len(ways)),
                             ("reading-cloze", len(levels)), ("rewards-lengths", len(systems) + 3)):
            self.assertEqual(len(found[f"tables/{name}.csv"]) - 1, wanted, name)

    def test_a_page_is_short(self):
        """A page has at most 150 lines and two pictures."""
        pages = {place: text for place, text in results.rendered(results.Store(results.ROWS)).items()
                 if place.endswith(".md")}
        self.assertGreater(len(pages), 5)
        for place, text in pages.items():
            self.assertLessEqual(len(text.splitlines()), 150, place)
            self.assertLessEqual(text.count("!["), 2, place)

    def test_a_page_that_says_something_else_is_found(self):
        store = results.Store(results.ROWS)
        shown = results.rendered(store)
        for place in shown:
            with contextlib.redirect_stdout(io.StringIO()) as said:
                self.assertEqual(results_check.pages(store, ROOT, dict(shown, **{place: shown[place] + "x"})), 1)
            self.assertIn(place, said.getvalue())
        with contextlib.redirect_stdout(io.StringIO()):
            self.assertEqual(results_check.pages(store, ROOT, shown), 0)

    def test_a_figure_that_a_readme_lacks_is_found(self):
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "page.md")
            with open(path, "w", encoding="utf-8") as file:
                file.write("It gains 1.5\nBLEU and 2.5 points.")
            self.assertEqual(results_check.lacking(path, ["gains 1.5 BLEU", "3.5 points"]), ["3.5 points"])


def halved(line):
    """A finished line with half of its scores."""
    scores = {name: value / 2 for name, value in line.get("score", {}).items()}
    return dict(line, score=scores, bleu=line.get("bleu", 0) / 2)


if __name__ == "__main__":
    unittest.main()
