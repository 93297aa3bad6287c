#!/usr/bin/env python3
"""data.py - the data that reproduction/results_*.py make, and the lines of the page."""
import json
import os
import pathlib
import random
import sys
import tempfile
import unittest
import unittest.mock

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
sys.path.insert(0, os.path.join(ROOT, "reproduction"))
sys.dont_write_bytecode = True
import prepare  # noqa: E402
import prepare_sources  # noqa: E402
import results_check  # noqa: E402
import results_cloze  # noqa: E402
import results_curves  # noqa: E402
import results_gates  # noqa: E402
import results_means  # noqa: E402
import results_nmt  # noqa: E402
import results_page  # noqa: E402
import results_pieces  # noqa: E402
import results_poem  # noqa: E402
import results_rates  # noqa: E402
import results_reader  # noqa: E402
import results_speed  # noqa: E402
import results_split  # noqa: E402
import results_windows  # noqa: E402
import results_words  # noqa: E402

PASSAGE = ("The old mill stood beside the river Esk until the flood of 1846. Its wheel turned "
           "slowly through the winter months. Nobody ever learned why Robert Kerr left it "
           "standing empty afterwards.")


class Prepared(unittest.TestCase):
    def test_files_that_lack_or_differ_are_named(self):
        with tempfile.TemporaryDirectory() as folder:
            for name, text in (("right", "a"), ("changed", "b")):
                with open(os.path.join(folder, name), "w", encoding="utf-8") as file:
                    file.write(text)
            of_a = "ca978112ca1bbdcafac231b39a23dc4da786eff8147c4e72b9807785afee48bb"
            found = list(prepare.faults(folder, {"right": of_a, "changed": of_a, "gone": of_a}))
        self.assertEqual([fault.removeprefix(folder + "/") for fault in found],
                         ["changed is another file than that of the rows", "gone is missing"])

    def test_each_set_of_a_table_has_its_source(self):
        sets = prepare.data_sets()
        for pair, (folder, *_) in results_nmt.PAIRS.items():
            self.assertIn(folder.removeprefix("{data}/"), {*sets, "{runs}/tanaka_jaen"}, pair)
        for about in sets.values():
            self.assertEqual(set(about), {"source", "commit", "licence", "prepared", "files"})
            self.assertTrue(all(len(x) == 64 for x in about["files"].values()))


class Sources(unittest.TestCase):
    """Sets that are parts of others: what is left out, and that no text is in two parts."""

    def test_articles_are_whole_and_keep_their_order(self):
        articles = [{"title": f"T{n}", "paragraphs": []} for n in range(20)]
        parts = prepare_sources.squad(articles)
        self.assertEqual([len(parts[name]) for name in ("train", "dev")], [6, 6])
        titles = {name: [x["title"] for x in part] for name, part in parts.items()}
        for name in titles:
            self.assertEqual(titles[name], [x["title"] for x in articles if x["title"] in titles[name]])
        self.assertFalse(set(titles["train"]) & set(titles["dev"]))
        self.assertEqual(titles["train"], [x["title"] for x in prepare_sources.squad(articles[::-1])["train"][::-1]])

    @unittest.mock.patch.object(prepare_sources, "TATOEBA_PART", 2)
    def test_pairs_that_share_a_side_are_of_train(self):
        pairs = [("a", "1"), ("a", "2"), ("b", "2"), *((f"x{n}", f"y{n}") for n in range(6))]
        parts = prepare_sources.tatoeba(pairs)
        self.assertEqual(parts["train"][:3], pairs[:3])
        self.assertEqual([len(parts[name]) for name in ("train", "dev")], [5, 2])
        self.assertFalse(set(parts["train"]) & set(parts["dev"]))

    @unittest.mock.patch.multiple(prepare_sources, QUATRAINS_PART=1, QUATRAINS_TRAIN=4)
    def test_quatrains_have_four_equal_lines_and_stand_once(self):
        def poem(first, title="T", line="天地玄黃宇"):
            lines = [f"{first}{line[1:]}，{line}。", f"{line}，{line}。"]
            return {"author": "A\u3000 B", "title": title, "paragraphs": lines}

        tang = [("tang", poem(sign)) for sign in "甲乙丙丁戊"]
        song = [("song", poem(sign)) for sign in "子丑寅卯辰巳"]
        others = [("tang", poem(*words, **more)) for words, more in (
            (("甲", "again"), {}), (("己",), {"line": "天□玄黃宇"}), (("庚",), {"line": "天地玄黃"}))]
        parts = prepare_sources.quatrains([*tang, *song, *others])
        self.assertEqual([len(parts[name]) for name in ("test", "val", "train")], [2, 2, 4])
        rows = [row for part in parts.values() for row in part]
        self.assertEqual(len({row[3] for row in rows}), 8)
        self.assertEqual({row[1:3] for row in rows}, {("A B", "T")})
        self.assertEqual([row[0] for row in parts["train"]].count("tang"), 2)


class Split(unittest.TestCase):
    def test_takes_pairs_whose_sides_stand_once(self):
        pairs = [("a", "1"), ("a", "2"), ("b", "3"), ("c", "3"), ("d", "4"), ("e", "5"), ("f", "6")]
        found = results_split.split(pairs, [("e", "9"), ("z", "6")], 10)
        self.assertEqual(found, {4})

    def test_takes_no_more_than_asked_for_and_the_same_ones(self):
        pairs = [(f"source {i}", f"target {i}") for i in range(50)]
        found = results_split.split(pairs, [], 7)
        self.assertEqual(len(found), 7)
        self.assertEqual(found, results_split.split(pairs, [], 7))
        texts = {pairs[i] for i in found}
        turned = pairs[::-1]
        self.assertEqual({turned[i] for i in results_split.split(turned, [], 7)}, texts)

    def test_writes_all_pairs_once(self):
        with tempfile.TemporaryDirectory() as folder:
            pairs = [(f"x {i}", f"y {i}") for i in range(20)]
            results_split.write(folder, "train", ("en", "ja"), pairs)
            results_split.write(folder, "dev", ("en", "ja"), [("d", "e")])
            out = os.path.join(folder, "out")
            sys.argv = ["split", folder, "en", "ja", out, "--count", "5"]
            results_split.main()
            parts = [results_split.read(out, stem, ("en", "ja")) for stem in ("train", "test")]
            self.assertEqual([len(part) for part in parts], [15, 5])
            self.assertEqual(sorted(parts[0] + parts[1]), sorted(pairs))


class Cloze(unittest.TestCase):
    def setUp(self):
        article = {"title": "T", "paragraphs": [{"context": PASSAGE}]}
        (self.passage,) = next(results_cloze.cloze([article]))["paragraphs"]

    def test_answers_stand_where_they_say_and_once(self):
        self.assertGreater(len(self.passage["qas"]), 4)
        for question in self.passage["qas"]:
            (answer,) = question["answers"]
            self.assertTrue(self.passage["context"][answer["answer_start"]:].startswith(answer["text"]))
            self.assertEqual(self.passage["context"].count(answer["text"]), 1)

    def test_questions_have_half_of_the_words_and_a_blank(self):
        for question in self.passage["qas"]:
            words = question["question"].rstrip("?").split()
            self.assertEqual(words.count("what"), 1)
            self.assertLess(len(words), 10)
            self.assertNotIn(question["answers"][0]["text"], question["question"])
            self.assertLessEqual(set(words) - {"what"}, set(PASSAGE.replace(".", "").split()))

    def test_ids_differ(self):
        ids = [question["id"] for question in self.passage["qas"]]
        self.assertEqual(len(set(ids)), len(ids))


class Chinese(unittest.TestCase):
    """Readers in Chinese have tables of their own, with a row for each number of levels."""

    @staticmethod
    def rows(data_set, scores):
        """Rows of the page by levels; scores of characters by levels and seed."""
        lines = [{"data_set": data_set, "network": "bidaf", "depth": depth, "seed": seed, "command": "c",
                  "score": of, "cmrc": of, "characters": value, "steps": 1, "wall_s": 60}
                 for (depth, seed), value in scores.items()
                 for of in [dict.fromkeys(("f1", "f1_char", "em", "bleu4", "rouge_l"), value)]]
        store = unittest.mock.Mock(lines=lambda table: lines if table == "reader" else [])
        page = "\n".join(results_reader.page(store)).split("\n")
        return [row.split(" | ") for row in page if row.startswith(("| 1 ", "| 5 ", f"| {data_set} "))]

    def test_seeds_share_a_row(self):
        rows = self.rows("drcd/dev.json", {(1, 42): 40, (1, 43): 42, (5, 42): 30})
        self.assertEqual([row[:3] for row in rows], [["| 1", "2", "41.00 ±1.41"], ["| 5", "1", "30.00"]])

    def test_dureader_stands_beside_the_paper(self):
        rows = self.rows("dureader_demo", {(1, 42): 20, (1, 43): 50, (5, 42): 19, (5, 43): 50})
        self.assertEqual(rows[0][:3], ["| 1", "2", "35.00 ±21.21 / 33.95"])
        self.assertEqual(rows[1][2:4], ["**34.50 ±21.92** / 34.79", "**34.50 ±21.92** / 45.10"])

    def test_piece_comes_from_one_passage(self):
        question = {"documents": [{"paragraphs": ["abc\n", " def"]}, {"paragraphs": ["xy"]}]}
        draws = random.Random(1)
        found = {results_pieces.piece(question, 5, draws) for _ in range(50)}
        self.assertEqual(found, {"abc d", "bc de", "c def", "xy"})

    def test_dureader_has_the_epochs_for_its_steps(self):
        cells = [cell for cell in results_reader.cells() if cell["data_set"] == "dureader_demo"]
        self.assertTrue(cells)
        for cell in cells:
            with open(os.path.join(ROOT, cell["config"]), encoding="utf-8") as file:
                sets = json.load(file)
            sets.update(word.split("=") for word in cell["set"])
            self.assertLessEqual(int(sets["steps"]), 100 // int(sets["batch"]) * int(sets["epochs"]))


class Poems(unittest.TestCase):
    """Five epochs: gold keywords beside the paper's figures, planned ones, and those of the dictionary."""

    def test_rows_stand_by_score_and_levels_and_turned_signs_are_bold(self):
        lines = [{"score_name": score, "depth": depth, "score": dict(of, perplexity_5=9, perplexity_7=8), "planned": of,
                  "dictionary": of, "steps": 5, "wall_s": 60}
                 for score, depth, value in (("additive", 1, 0.3), ("dot", 5, 0.1), ("dot", 1, 0.2))
                 for of in [{"bleu2_5": value, "bleu2_7": value + 0.1 * (score == "dot") * depth}]]
        rows = [row.split(" | ") for row in results_poem.epochs_page(lines) if row.startswith("| `")]
        self.assertEqual([row[:2] for row in rows], [["| `dot`", "1"], ["| `dot`", "5"], ["| `additive`", "1"]])
        self.assertEqual(rows[0][4:10], ["0.200 / 0.068", "0.200", "0.200", "0.300 / 0.192", "0.300", "0.300"])
        self.assertEqual([rows[1][4], rows[1][7]], ["**0.100** / 0.070", "0.600 / 0.224"])

    def test_the_dictionary_comes_into_a_copy(self):
        with tempfile.TemporaryDirectory() as runs:
            out = os.path.join(runs, "run")
            os.mkdir(out)
            for name in ("run/best.ckpt.safetensors", "run/last.ckpt.safetensors", "run/log.jsonl", "themes.txt"):
                with open(os.path.join(runs, name), "w", encoding="utf-8") as file:
                    file.write(name)
            copy = results_poem.with_dictionary({"runs": runs}, out)
            self.assertEqual(sorted(os.listdir(copy)), ["best.ckpt.safetensors", "themes.txt"])
            self.assertNotIn("themes.txt", os.listdir(out))


class Figures(unittest.TestCase):
    def test_spread_of_even_and_of_sharp_rows(self):
        self.assertAlmostEqual(results_reader.spread_of([[0.25] * 4]), 1)
        self.assertAlmostEqual(results_reader.spread_of([[1, 0, 0, 0]]), 0.25)
        self.assertAlmostEqual(results_reader.moved([[1, 0], [0.5, 0.5]], [[0, 1], [0.5, 0.5]]), 0.5)

    def test_standard_error_of_a_difference(self):
        mean, error = results_means.difference([3, 5], [1, 1])
        self.assertAlmostEqual(mean, 3)
        self.assertAlmostEqual(error, 1)  # variances 2 and 0 over two seeds

    def test_windows_stand_beside_plain_attention_of_the_same_file(self):
        lines = [{"pair": "en-de", "way": way, "seed": 42, "bleu": bleu, "ngrams": [bleu] * 8, "perplexity": 8,
                  "wall_s": 60, "signature": "s"}
                 for way, bleu in (("plain", 33), ("csan1d", 34), ("window 3", 24), ("window full", 22))]
        rows = [row for row in results_nmt.ways_table(lines) if row.startswith("| en-de")]
        self.assertEqual([row.split(" | ")[3] for row in rows], ["", "+1.00", "+2.00", ""])
        grams = [row.split(" | ")[1:4] for row in results_nmt.ngram_table(lines)]
        self.assertEqual(grams, [["`csan1d`", "1", "+1.00"], ["`window 3`", "1", "+2.00"]])
        gaps = [row.split(" | ")[:4] for row in results_nmt.gaps_table(((", x", lines),))]
        self.assertEqual(gaps, [["| en-de, x", "`csan1d`", "1", "+3.0"]])  # 34 of 33 are 3 percent more

    def test_gates_stand_beside_controls_of_the_same_training(self):
        lines = [{"data_set": "short", "layers": layers, "system": system, "seed": seed, "right": right + seed}
                 for layers in (1, 3) for seed in (1, 2)
                 for system, right in (("no_reward", 20), ("none", 50), ("batch_mean", 60), ("scratch_none", 5))]
        found = {(where, c.name): c.gains for where, c in results_gates.differences(lines)}
        self.assertEqual(found["short, 1", "batch_mean above none"], [10, 10])
        self.assertEqual(found["short, 3", "none above no_reward"], [30, 30])
        self.assertEqual(found["short, 3", "no_reward above none"], [-30, -30])
        self.assertNotIn(("short, 1", "scratch_none above none"), found)

    def test_curves_by_length_and_by_levels(self):
        lines = [{"pair": "en-de", "system": system, "seed": seed, "lengths": [
            {"words": "1-10", "sentences": 40, "bleu": bleu + seed}, {"words": "11-20", "sentences": 9, "bleu": 0},
            {"words": "all", "sentences": 49, "bleu": 0}]}
                 for seed in (42, 43) for system, bleu in (("hard", 33), ("soft_as_hard", 30))]
        poems = [{"depth": depth, "score_name": "dot", "score": {"bleu2_5": 0.2, "bleu2_7": value}}
                 for depth, value in ((1, 0.2), (10, 0.3))]
        store = unittest.mock.Mock(lines=lambda table: lines if table == "hard" else poems)
        self.assertEqual(results_curves.lengths(store), {"hard": [{10: 3}, {10: 3}]})
        found = results_curves.poems(store)
        self.assertAlmostEqual(found["dot"][10], 25)
        self.assertAlmostEqual(found["paper"][10], (0.072 + 0.244) / (0.068 + 0.192) * 100 - 100)

    def test_curves_of_windows_are_means_over_treebanks_that_have_all(self):
        at = {"pe_add": 80, "conv2d": 84, "window_1": 79, "window_3": 82}
        lines = [{"bank": bank, "variant": way, "seed": seed, "score": {"accuracy": value + (way != "pe_add") * n}}
                 for n, bank in enumerate(("French-Spoken", "English-LinES")) for seed in (42, 43)
                 for way, value in at.items() if (bank, seed, way) != ("English-LinES", 43, "window_3")]
        store = unittest.mock.Mock(lines=lambda table: lines if table == "tagger-windows" else [])
        found = results_curves.localities(store)
        self.assertEqual(found, {"window": [{1: -0.5, 3: 2.5}, {1: -1, 3: 2}],
                                 "filter of convolved maps": [{3: 4.5}, {3: 4}], "pe_add": {1: 0, 3: 0}})
        lines[:] = [x for x in lines if x["variant"] != "conv2d"]
        self.assertFalse(results_curves.localities(store))

    def test_curves_of_gates_have_the_seeds_of_both_lengths(self):
        lines = [{"data_set": data, "layers": layers, "system": "none", "seed": seed, "right": 10 * layers + seed}
                 for data in ("short", "long") for layers in (1, 3) for seed in (42, 43)
                 if (data, seed) != ("long", 43)]
        store = unittest.mock.Mock(lines=lambda table: lines if table == "gates-words" else [])
        self.assertEqual(results_curves.letters(store), {"none": [{12: 52, 40: 52}]})

    def test_a_curve_of_several_seeds_becomes_a_log_each(self):
        logs = {}

        def run(*words, cwd):
            for name in words[2:words.index("--along")]:
                with open(os.path.join(cwd, name, "config.json"), encoding="utf-8") as config:
                    with open(os.path.join(cwd, name, "log.jsonl"), encoding="utf-8") as log:
                        logs[name] = json.load(config)["curve"], [json.loads(line) for line in log]

        results_curves.draw(run, "p.svg", "n", "BLEU", {"a": [{2: 5, 1: 4}, {1: 6}], "b": {1: 7}})
        self.assertEqual(logs, {"a": ("a", [{"n": 1, "BLEU": 4}, {"n": 2, "BLEU": 5}]),
                                "a 1": ("a", [{"n": 1, "BLEU": 6}]), "b": ("b", [{"n": 1, "BLEU": 7}])})

    def test_words_that_are_right(self):
        self.assertEqual(results_gates.right("a b c\nd", "a c c\nd e"), 60)

    def test_a_translation_has_the_next_letter_of_each(self):
        with tempfile.TemporaryDirectory() as folder:
            results_words.write(folder, 2, 3)
            sides = [pathlib.Path(folder, f"train.{end}").read_text(encoding="utf-8") for end in ("src", "tgt")]
        self.assertEqual([side.count("\n") for side in sides], [4000, 4000])
        self.assertLessEqual({len(line.split()) for line in sides[0].splitlines()}, {2, 3})
        letters = results_words.LETTERS
        self.assertEqual(sides[0].translate(str.maketrans(letters, letters[1:] + letters[0])), sides[1])

    def test_windows_stand_beside_both_controls_of_the_same_treebank(self):
        lines = [{"bank": "French-Spoken", "variant": way, "seed": seed, "score": {"accuracy": at + seed}}
                 for seed in (42, 43) for way, at in (("pe_add", 1), ("window_3", 4), ("conv2d", 6))]
        found = {c.name: c.gains for bank, c in results_windows.differences(lines) if bank == "French-Spoken"}
        self.assertEqual(found, {"window_3 above pe_add": [3, 3], "conv2d above pe_add": [5, 5],
                                 "window_3 above conv2d": [-2, -2], "pe_add above conv2d": [-5, -5]})

    def test_levels_with_a_rate_of_their_own_stand_beside_one_level(self):
        lines = [{"data_set": data, "network": "bidaf", "depth": depth, "start": start, "seed": seed,
                  "score": {"f1": f1 + seed}, "weights": {"c2q": [0.5, 0.5]}}
                 for data in ("cloze", "squad_v1.1") for seed in (1, 2)
                 for depth, start, f1 in ((1, None, 80), (5, 0, 83 if data == "cloze" else 70))]
        rows = list(results_rates.beside_table(lines))[2:]
        self.assertEqual([row.split(" | ")[3] for row in rows], ["+3.00 ±0.00 (2) |", "-10.00 ±0.00 (2) |"])

    def test_gains_of_windows(self):
        lines = [{"way": way, "seed": 42, "bleu": bleu}
                 for way, bleu in (("window 3", 24), ("window full", 22), ("window 11", 21), ("heads 3", 30))]
        self.assertEqual(results_nmt.window_gains(lines), {3: 2, 11: -1})
        self.assertEqual(results_nmt.window_gains(lines[:1]), {})

    def test_changes_by_levels_are_of_one_start(self):
        lines = [{"network": "bidaf", "depth": depth, "start": start, "seed": seed, "score": {"f1": f1 + seed}}
                 for depth, start, f1 in ((1, None, 80), (10, 0.9, 79), (10, 0, 70)) for seed in (1, 2, 3)]
        self.assertEqual(list(results_check.levels_changes(lines, 0.9)), [("of BiDAF by -1.0", 3)])
        self.assertEqual(list(results_check.levels_changes(lines, 0)), [("of BiDAF by -10.0", 3)])
        self.assertEqual(list(results_check.levels_changes(lines[:-2], 0)), [])

    def test_speed_is_the_median_of_rounds(self):
        rounds = [{"plain": 10, "csan1d": 5}, {"plain": 10, "csan1d": 10}, {"plain": 30, "csan1d": 10}]
        self.assertEqual(results_speed.speeds({"rounds": rounds}), {"plain": 1, "csan1d": 2})

    def test_lines_break_in_paragraphs_alone(self):
        text = "word " * 40
        table, code, item = "| " + text + "|", "```\n" + text + "\n\n" + text + "\n```", "- " + text
        page = results_page.wrapped("\n\n".join((text, table, code, item)))
        self.assertEqual([len(x) <= 80 for x in page.split("\n")[:3]], [True] * 3)
        for kept in (table, code, item):
            self.assertIn(kept, page)


if __name__ == "__main__":
    unittest.main()
