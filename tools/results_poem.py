"""results_poem.py - quatrains by levels of attention: perplexity, BLEU-2 of lines, and some poems."""
import json

PAPER = {  # BLEU-2 of lines 2, 3 and 4 and their mean, of poems of 5 and of 7 characters
    1: ((0.061, 0.069, 0.073, 0.068), (0.185, 0.193, 0.198, 0.192)),
    5: ((0.063, 0.070, 0.075, 0.070), (0.210, 0.237, 0.226, 0.224)),
    10: ((0.062, 0.075, 0.076, 0.072), (0.217, 0.267, 0.259, 0.244)),
}
TEXTS = ((5, "明月"), (5, "江南春草"), (7, "秋風落葉"), (7, "獨坐幽窗聽夜雨"))


def cells():
    for depth in PAPER:
        yield {"depth": depth, "config": "examples/configs/poem-ppg.json",
               "set": ["data={data}", f"depth={depth}", "steps=2000"]}


def epoch_cells():
    """Five epochs, both scores; beside gold keywords those planned from titles."""
    for score_name in ("dot", "additive"):
        for depth in PAPER:
            yield {"depth": depth, "score_name": score_name, "config": "examples/configs/poem-ppg.json",
                   "set": ["data={data}", f"depth={depth}", f"score={score_name}", "epochs=5"]}


TABLES = {"poem": lambda: list(cells()), "poem-epochs": lambda: list(epoch_cells())}


def key(line):
    return ("poet", line["depth"], *filter(None, [line.get("score_name")]))


def score(line, out, run):
    """All that eval tells of the test poems, and a poem about each text."""
    found = json.loads(run("eval", "--model", out, "--data", line["data"], "--json"))
    poems = [json.loads(run("compose", "--model", out, "--chars", str(n), "--json", text))
             for n, text in TEXTS]
    planned = run("eval", "--model", out, "--data", line["data"], "--planned", "--json")
    return {"score": found, "planned": json.loads(planned), "poems": poems}


def told(line):
    return f"perplexity {line['score']['perplexity']:.1f}, BLEU-2 {line['score']['bleu2_7']:.3f}"


HEAD = """
## Poems: levels of attention

Quatrains of the test set. BLEU-2 of characters, as fractions, of lines 2, 3 and 4 after the original lines before them, and their mean;
behind the slash the paper's, of other poems. Gold keywords are two of a line's five or seven characters, which is why figures of five
stand above the paper's.

| levels | perplexity, 5 | 7 | BLEU-2 of 5: line 2 | 3 | 4 | mean | of 7: line 2 | 3 | 4 | mean | steps | minutes |
|---|---|---|---|---|---|---|---|---|---|---|---|---|"""


def row(line):
    found, shown = line["score"], []
    for n, paper in zip((5, 7), PAPER[line["depth"]]):
        names = [f"bleu2_{n}_line{i}" for i in (2, 3, 4)] + [f"bleu2_{n}"]
        shown += [f"{found[name]:.3f} / {value:.3f}" for name, value in zip(names, paper)]
    minutes = "" if line["wall_s"] is None else f"{line['wall_s'] / 60:.0f}"
    return (f"| {line['depth']} | {found['perplexity_5']:.1f} | {found['perplexity_7']:.1f} | "
            + " | ".join(shown) + f" | {line['steps']} | {minutes} |")


EPOCHS = """
### Five epochs, both scores, planned keywords

Gold keywords are two of the five or seven characters of a line; planned keywords come from the poem's title.

| score | levels | perplexity, 5 | 7 | BLEU-2 of 5 / planned | of 7 / planned | steps | minutes |
|---|---|---|---|---|---|---|---|"""


def epochs_page(lines):
    if lines:
        yield EPOCHS
    for line in lines:
        found, planned = line["score"], line["planned"]
        means = [f"{found[name]:.3f} / {planned[name]:.3f}" for name in ("bleu2_5", "bleu2_7")]
        yield (f"| `{line['score_name']}` | {line['depth']} | {found['perplexity_5']:.1f} | {found['perplexity_7']:.1f} "
               f"| {' | '.join(means)} | {line['steps']} | {line['wall_s'] / 60:.0f} |")


def page(store):
    lines = sorted(store.lines("poem"), key=key)
    if not lines:
        return
    yield HEAD
    yield from (row(line) for line in lines)
    yield ""
    for line in lines:
        yield f"- {line['depth']}: `{line['command']}`"
    best = min(lines, key=lambda line: line["score"]["perplexity"])
    yield f"\nOf {best['depth']} level{'s' * (best['depth'] > 1)}, the likeliest character each time:\n"
    yield "| text | keywords | poem |"
    yield "|---|---|---|"
    for poem in best["poems"]:
        yield f"| {poem['text']} | {' '.join(poem['keywords'])} | {'，'.join(poem['lines'])}。 |"
    yield from epochs_page(store.lines("poem-epochs"))
