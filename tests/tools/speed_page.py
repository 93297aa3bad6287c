#!/usr/bin/env python3
"""speed_page.py - what pages show of measurements is among those of bench/measured: the rows of
docs/speed.md and of README.md's table of speeds, and those of three sections of docs/gpu.md"""

import json
import re
import unittest
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]


def numbers(text: str) -> list[str]:
    return re.findall(r"\d(?:[\d,.]*\d)?", text)


def measured(name: str) -> list[set[str]]:
    """The numbers of each measured row, with those of its study: versions, sizes."""
    text = (ROOT / "bench/measured" / name).read_text("utf-8")
    rows = [json.loads(line) for line in text.splitlines()]
    how = {row["study"]: row["how"] for row in rows if "how" in row}
    return [set(numbers(" ".join([how[row["study"]], *row.values()])))
            for row in rows if "how" not in row]


def strays(text: str, known: list[set[str]]) -> list[str]:
    """Rows of a page's tables whose numbers no measured row has, all of them."""
    rows = [line for line in text.splitlines() if line.startswith("| ")]
    heads = {line for line, rule in zip(text.splitlines(), text.splitlines()[1:])
             if rule.startswith("|---")}
    cells = {row: row.partition(" | ")[2] for row in rows if row not in heads}
    return [row for row, shown in cells.items()
            if not any(set(numbers(shown)) <= found for found in known)]


class Page(unittest.TestCase):
    def test_every_row_was_measured(self):
        known = measured("speed.jsonl")
        self.assertGreater(len(known), 90)
        page = (ROOT / "docs/speed.md").read_text("utf-8")
        readme = (ROOT / "README.md").read_text("utf-8").partition("Three speed ratios")[2]
        self.assertEqual(strays(page, known), [])
        self.assertEqual(strays(readme, known), [])
        self.assertEqual(readme.count("\n| "), 4)

    def test_every_row_of_gpus_is_stored(self):
        known = measured("gpu.jsonl")
        self.assertGreater(len(known), 60)
        page = (ROOT / "docs/gpu.md").read_text("utf-8")
        page = page[page.index("\n## Launches and bytes"):page.index("\n## If you own a card")]
        tiles = re.search(r"\| tile \| items .*?\n\n", page, re.S)  # constants of the plan
        page = page.replace(tiles[0], "")
        self.assertGreater(page.count("\n| "), 25)
        self.assertEqual(strays(page, known), [])

    def test_a_number_that_was_not_measured_is_found(self):
        table = "| case | ratio |\n|---|---|\n| a | 1.05x |\n| b | 1.06x |\n"
        self.assertEqual(strays(table, [{"1.05", "7"}]), ["| b | 1.06x |"])


if __name__ == "__main__":
    unittest.main()
