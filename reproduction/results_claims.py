"""results_claims.py - what the papers claim, in their words, held against the runs by the criterion of
results_criterion.py.
"""
import statistics

import results_hard
import results_nmt
import results_poem
import results_reader
import results_tagger
from results_criterion import ALIKE, BETTER, FIRST, NO_WORSE, OPEN, Comparison, paired, verdict, would_decide


# ---- translation: Yang et al. 2019 ---------------------------------------------------------------


def nmt_settings(store):
    """(name, scores of a way by seed), a setting with seeds each."""
    for table in ("nmt", "nmt-pairs", "nmt-annealed"):
        lines = store.lines(table)
        if table != "nmt-annealed":  # further seeds of the same settings
            own = {x["pair"] for x in lines}
            lines = [*lines, *(x for x in store.lines("nmt-seeds") if x["pair"] in own)]
        for pair in dict.fromkeys(x["pair"] for x in lines):
            by_way = {way: {x["seed"]: x for x in lines if (x["pair"], x["way"]) == (pair, way)}
                      for way in results_nmt.WAYS}
            if min(len(by_way[way]) for way in ("plain", *results_nmt.WINDOWS)) > 1:
                yield f"{pair}{', annealed' * (table == 'nmt-annealed')}", by_way


def bleu(by_way, way):
    return {seed: x["bleu"] for seed, x in by_way[way].items()}


def windows_beside_plain(store):
    for name, by_way in nmt_settings(store):
        for way in results_nmt.WINDOWS:
            yield Comparison(f"{name} `{way}`", paired(bleu(by_way, way), bleu(by_way, "plain")))


def windows_beside_others(store):
    for name, by_way in nmt_settings(store):
        for way in by_way:
            gains = paired(bleu(by_way, "csan2d"), bleu(by_way, way))
            if way not in ("plain", *results_nmt.WINDOWS) and len(gains) > 1:
                yield Comparison(f"{name}: `csan2d` above `{way}`", gains)


def others_beside_plain(store):
    for name, by_way in nmt_settings(store):
        for way in by_way:
            gains = paired(bleu(by_way, way), bleu(by_way, "plain"))
            if way not in ("plain", *results_nmt.WINDOWS) and len(gains) > 1:
                yield Comparison(f"{name} `{way}`", gains)


def study(store, best, others):
    """BLEU of the validation set: the setting that the paper finds best above others of the study of windows."""
    for table in ("nmt-windows", "nmt-annealed"):
        of = {way: {x["seed"]: x["bleu"] for x in store.lines(table) if x["way"] == way} for way in (best, *others)}
        for way in others:
            yield Comparison(f"{'annealed' if table == 'nmt-annealed' else '1,000 steps'}: {best} above {way}",
                             paired(of[best], of[way]))


def windows_of_eleven(store):
    yield from study(store, "window 11", [f"window {n}" for n in (1, 3, 5, 7, 9, 13, 15, 21)])


def three_heads(store):
    yield from study(store, "heads 3", ("heads 5", "heads 7"))


def two_dimensions(store):
    for name, by_way in nmt_settings(store):
        yield Comparison(f"{name}", paired(bleu(by_way, "csan2d"), bleu(by_way, "csan1d")))


def relative_gaps(x, plain):
    """By the length of n-grams, the gap in percent of plain's score."""
    return [(a / b - 1) * 100 for a, b in zip(x["ngrams"], plain["ngrams"]) if b]


def longer_grams(store):
    """The gap of 4-grams above that of single words, both in percent of plain's."""
    for name, by_way in nmt_settings(store):
        for way in results_nmt.WINDOWS:
            seeds = [s for s, x in by_way[way].items() if x.get("ngrams") and by_way["plain"].get(s, {}).get("ngrams")]
            gaps = [relative_gaps(by_way[way][s], by_way["plain"][s]) for s in seeds]
            if len(gaps) > 1:
                yield Comparison(f"{name} `{way}`", [gap[3] - gap[0] for gap in gaps])


def speed(store):
    for line in store.lines("nmt-speed"):
        for way in results_nmt.WINDOWS:
            # a step takes so many milliseconds: the difference of speeds in percent
            gains = [(x["plain"] / x[way] - 1) * 100 for x in line["rounds"]]
            yield Comparison(f"{line['pieces']} pieces `{way}`", gains, NO_WORSE, 5)


# ---- tagger: Dufter et al. 2020 ------------------------------------------------------------------


def tagger(variants, measure="accuracy", base="pe_add", kind=BETTER, margin=0.0):
    def comparisons(store):
        lines = store.lines("tagger")
        plain = results_tagger.macro(lines, base, measure)
        for variant in variants:
            yield Comparison(f"`{variant}`", paired(results_tagger.macro(lines, variant, measure), plain),
                             kind, margin)
    return comparisons


def worse_relative(store):
    for table, of in (("tagger", results_tagger.macro), ("tagger-penn", penn)):
        lines = store.lines(table)
        yield Comparison("Penn sizes" if of is penn else "six treebanks",
                         paired(of(lines, "pe_add", "accuracy"), of(lines, "r", "accuracy")))


def penn(lines, variant, measure):
    return results_tagger.of(lines, "English-LinES", variant, measure)


def penn_sizes(pairs, kind=BETTER, margin=0.0):
    """Accuracy of a variant beside another, English-LinES in the sizes of the Penn Treebank."""
    def comparisons(store):
        lines = store.lines("tagger-penn")
        for variant, base in pairs:
            yield Comparison(f"`{variant}` beside `{base}`", paired(penn(lines, variant, "accuracy"),
                                                                  penn(lines, base, "accuracy")), kind, margin)
    return comparisons


def alike_convolutions(store):
    """One dimension beside two: six treebanks, and the sizes of the Penn Treebank."""
    yield from (Comparison("six treebanks", c.gains, ALIKE, 0.5)
                for c in tagger(("conv2d",), base="conv")(store))
    yield from (Comparison("Penn sizes", c.gains, ALIKE, 0.5)
                for c in penn_sizes((("conv2d", "conv"),))(store))


def before_softmax(store):
    lines = store.lines("tagger-penn")
    for variant in ("conv", "conv2d"):
        yield Comparison(f"`{variant}`", paired(penn(lines, variant, "accuracy"),
                                                penn(lines, f"{variant}_before", "accuracy")))


def fewer_epochs(store):
    """Dev accuracy after two epochs: a mean over the treebanks, and the sizes of the Penn Treebank."""
    dev = {results_tagger.key(x): x["dev"] for x in store.lines("tagger") if x.get("dev")}

    def after_two(variant, seed):
        rows = [dev.get((bank, variant, seed)) for bank in results_tagger.TREEBANKS]
        return statistics.mean(row[:2][-1] for row in rows) if all(rows) else None

    for variant in ("conv", "conv2d"):
        found = {name: {s: after_two(name, s) for s in results_tagger.SEEDS} for name in (variant, "pe_add")}
        known = {name: {s: x for s, x in by_seed.items() if x is not None} for name, by_seed in found.items()}
        gains = paired(known[variant], known["pe_add"])
        if gains:
            yield Comparison(f"`{variant}`", gains)
    lines = store.lines("tagger-penn")
    for variant in ("conv", "conv2d"):
        early = [{x["seed"]: x["dev"][:2][-1] for x in lines if x["variant"] == name and x.get("dev")}
                 for name in (variant, "pe_add")]
        yield Comparison(f"`{variant}`, Penn sizes", paired(*early))


# ---- gates and rewards: Indurthi et al. 2019 -------------------------------------------------------


def beside(pairs):
    """Differences of two systems of the same seed, a comparison a language pair."""
    def comparisons(store):
        lines = store.lines("hard")
        for system, control in pairs:
            for pair in results_hard.SEEDS:
                gains = results_hard.beside(lines, pair, system, control)
                if gains:
                    yield Comparison(f"{pair}: `{system}` above `{control}`", gains)
    return comparisons


def longer_sentences(store):
    """What gates gain on the longest sentences above what they gain on the shortest; groups of 30 or more."""
    lines = {results_hard.key(x): x for x in store.lines("hard")}
    for pair, seeds in results_hard.SEEDS.items():
        gains = []
        for seed in seeds:
            own, control = (lines.get((pair, name, seed)) for name in ("hard", "soft_as_hard"))
            if own and control:
                gap = [a["bleu"] - b["bleu"] for a, b in zip(own["lengths"], control["lengths"])
                       if a["words"] != "all" and a["sentences"] >= 30]
                gains.append(gap[-1] - gap[0])
        if gains:
            yield Comparison(pair, gains)


def gates_trained(store):
    """Words in their place, in points above the same gates without rewards: one decoder layer, word for word."""
    lines = [x for x in store.lines("gates-words") if x["layers"] == 1]
    for data in dict.fromkeys(x["data_set"] for x in lines):
        of = {system: {x["seed"]: x["right"] for x in lines if (x["data_set"], x["system"]) == (data, system)}
              for system in ("none", "no_reward", "scratch_none", "scratch_no_reward")}
        yield Comparison(f"{data}", paired(of["none"], of["no_reward"]))
        yield Comparison(f"{data}, from scratch", paired(of["scratch_none"], of["scratch_no_reward"]))


# ---- levels: the hierarchical attention mechanism --------------------------------------------------


def levels(store):
    lines = store.lines("reader-cloze")
    for network in results_reader.CLOZE_STEPS:
        for depth in (2, 5, 10, 20):
            own = [x for x in lines if (x["network"], x["depth"], x["start"]) == (network, depth, 0.9)]
            gains = [a - b for a, b in results_reader.beside_pairs(own, lines)]
            if gains:
                yield Comparison(f"{network}, {depth}", gains)


def whole_readers(store):
    """What the readers gain by depth on SQuAD (F1) and in Chinese (ROUGE-L of characters)."""
    lines = store.lines("reader")
    for data, network, depth in dict.fromkeys((x["data_set"], x["network"], x["depth"]) for x in lines):
        measure = "f1" if data == results_reader.SQUAD else "rouge_l"
        of = {d: {x["seed"]: x["score"][measure] for x in lines
                  if (x["data_set"], x["network"], x["depth"]) == (data, network, d)} for d in (1, depth)}
        gains = paired(of[depth], of[1])
        if depth > 1 and gains:
            yield Comparison(f"{data.partition('/')[0]} {network}, {depth}", gains)


def moving_levels(store):
    """The same with a learning rate of their own for the weights of levels, by data, network, depth and start."""
    lines = store.lines("reader-rates")
    for place in dict.fromkeys((x["data_set"], x["network"], x["depth"], x["start"]) for x in lines):
        own = [x for x in lines if (x["data_set"], x["network"], x["depth"], x["start"]) == place]
        gains = [a - b for a, b in results_reader.beside_pairs(own, [x for x in lines if x["data_set"] == place[0]])]
        if place[2] > 1:
            yield Comparison(" ".join(map(str, place)), gains)


def poems(wanted):
    """BLEU-2 in percent above that of one level of the same seed."""
    def comparisons(store):
        groups = [("2,000 steps", store.lines("poem")),
                  *results_poem.by_score(store.lines("poem-epochs")).items()]
        for name, lines in groups:
            of = {depth: {x.get("seed", results_poem.SEEDS[0]):
                          statistics.mean(x["score"][f"bleu2_{n}"] for n in (5, 7))
                          for x in lines if x["depth"] == depth} for depth in (1, wanted)}
            one, own = of[1], of[wanted]
            gains = [(own[seed] / one[seed] - 1) * 100 for seed in sorted(set(own) & set(one))]
            if gains:
                yield Comparison(f"{name}, {wanted}", gains)
    return comparisons


# ---- the table -------------------------------------------------------------------------------------

PAPERS = {
    "Yang et al. 2019, convolutional self-attention": (
        ("\"our approach consistently improves performance over the strong TRANSFORMER model [...] across language "
         "pairs\"", "BLEU above plain attention of the same seeds", windows_beside_plain),
        ("\"our models outperform all the existing works\"",
         "BLEU of `csan2d` above each other way", windows_beside_others),
        ("\"all the models improve translation quality\"",
         "BLEU of each other way above plain attention", others_beside_plain),
        ("\"For 1D-CSANs, the local size with 11 is superior to other settings\"",
         "BLEU of windows of 11 above other widths, on val", windows_of_eleven),
        ("\"by considering the features across heads (i.e. > 1), 2D-CSANs further improve the translation quality\"",
         "BLEU of `csan2d` above `csan1d`", two_dimensions),
        ("\"when the number of heads in attention goes up, the translation quality inversely drops\"",
         "BLEU of three heads above five and seven, on val", three_heads),
        ("both variants \"consistently outperform the baseline on larger granularities\" of n-grams",
         "gain of 4-grams above that of words, both in percent of plain's", longer_grams),
        ("parameter-free methods \"only marginally affect training efficiency\"",
         "steps a second, percent of plain's; margin -5 %", speed),
    ),
    "Dufter et al. 2020, attention of taggers": (
        ("\"Modeling absolute and relative position information through direct interaction matrices is a feasible "
         "alternative to position embeddings\"", "points of accuracy beside `pe_add`; margin -1",
         tagger(("p_r", "p_r_spectral"), kind=NO_WORSE, margin=1)),
        ("\"Using only relative position interactions is slightly worse\"",
         "points of `pe_add` above `r`", worse_relative),
        ("\"Learnable temperature has almost no effect ...\"", "points beside `pe_add`; margin 0.5",
         tagger(("temp",), kind=ALIKE, margin=0.5)),
        ("\"... besides a small increase for out-of-vocabulary tokens\"", "points of OOV words above `pe_add`",
         tagger(("temp",), "accuracy_oov")),
        ("\"Convoluted attention achieves a higher accuracy after fewer epochs\"",
         "points of dev accuracy above `pe_add` after two epochs", fewer_epochs),
        ("\"... and has higher performance on UD\"", "points above `pe_add`", tagger(("conv", "conv2d"))),
        ("\"Convoluted attention even achieves a slight performance improvement\" on the Penn Treebank",
         "points above `pe_add`, Penn sizes", penn_sizes((("conv", "pe_add"), ("conv2d", "pe_add")))),
        ("\"Both 1d and 2d convolution perform similar\"", "points of `conv2d` beside `conv`; margin 0.5",
         alike_convolutions),
        ("\"The combination, SAN+P+R, does not work better than just using SAN+P\"",
         "points of `p` beside `p_r`, Penn sizes; margin -0.5",
         penn_sizes((("p", "p_r"),), NO_WORSE, 0.5)),
        ("Convolution before the softmax \"resulted in worse results\"",
         "points of the same after it, Penn sizes", before_softmax),
    ),
    "Indurthi et al. 2019, hard attention": (
        ("hard attention \"consistently outperforms the soft-attention based NMT model\"",
         "BLEU above further training of soft attention, and above the same without rewards",
         beside((("hard", "soft_as_hard"), ("hard", "hard_no_reward")))),
        ("the same, trained from scratch", "BLEU above soft attention at equal steps",
         beside((("hard_scratch", "soft"),))),
        ("the gap to sequence loss \"shows that the improvements are indeed coming from the hard-attention "
         "mechanism\"", "BLEU above sequence training", beside((("hard", "sequence"),))),
        ("Sequence training gains over soft attention (table 1)", "BLEU above its controls",
         beside((("sequence", "soft_as_sequence"), ("sequence", "sequence_no_reward")))),
        ("\"better results compared to the Localness Self-Attention\"", "BLEU above `localness`",
         beside((("hard", "localness"),))),
        ("\"a reinforcement learning algorithm coupled with reward shaping strategy to efficiently train it\"",
         "words right where gates alone read the source, in points above no reward", gates_trained),
        ("the gap \"grows bigger as sequences become longer\"",
         "BLEU gained on the longest sentences above that on the shortest", longer_sentences),
    ),
    "The hierarchical attention mechanism": (
        ("\"With the increase of attention depth d, the performance rises quickly at first and starts to "
         "converge\"", "F1 of cloze questions above depth 1, by network and depth", levels),
        ("\"the proposed model is much better than conventional model at Chinese and English machine reading "
         "comprehension\"", "F1 (SQuAD) and ROUGE-L (Chinese) above depth 1", whole_readers),
        ("depth d as above, with weights of levels that learn 30 times as fast",
         "F1 above depth 1, by data, network, depth and start", moving_levels),
        ("\"PPG with 10-level Ham has almost 25% of improvement on the averaged BLEU score\"",
         "BLEU-2 in percent above depth 1", poems(10)),
        ("\"the larger d is, the better performance our model will achieve\", of poems",
         "BLEU-2 of 5 levels in percent above depth 1", poems(5)),
    ),
}
HEAD = """# Results

Do the systems reach what their papers claim? One criterion holds for all claims: the t interval at 95 % of the
mean difference of runs of the same seeds. A claim that something is better is supported where the interval lies
above zero, and contradicted where it lies below; a claim that two are alike or that one is no worse is held
against the margin that its row names. Margins were set after the runs, and intervals are not widened for the
number of comparisons. The sample of WMT14 (wmt-en-de) gives a BLEU of about 1, which says little whatever its verdict. Each comparison is in `reproduction/tables/claims.csv`. Runs kept no translations, so that
nothing is told by resampling sentences, but for [n-grams](translation.md)."""
COLUMNS = """
| the paper's words | measured here | comparisons | verdict | what would decide the rest |
|---|---|---|---|---|"""
THEOREM = ("| Theorem 1: the output of attention has at least the norm of the shortest key | a counterexample "
           "| the keys k and -k with equal weights give 0 | contradicted | |")


def short(comparisons):
    """A few comparisons in full, many as a range."""
    if not comparisons:
        return "no run yet"
    if len(comparisons) <= 3:
        return "; ".join(c.told() for c in comparisons)
    means = [c.mean for c in comparisons]
    return f"{len(comparisons)}: {min(means):+.2f} to {max(means):+.2f}"


def claims(store):
    """(paper, claim, measure, comparisons) of each claim; without comparisons where none of its runs has ended."""
    for paper, rows in PAPERS.items():
        for claim, measure, of in rows:
            yield paper, claim, measure, [comparison for comparison in of(store) if comparison.gains]


def page(store):
    yield HEAD
    before = None
    for paper, claim, measure, found in claims(store):
        if paper != before:
            yield f"\n## {paper}\n"
            yield COLUMNS.strip("\n")
            before = paper
        yield f"| {claim} | {measure} | {short(found)} | {verdict(found)} | {would_decide(found)} |"
    if before:
        yield THEOREM


def table(store):
    """Each comparison, for the CSV file."""
    yield ("| paper | claim | comparison | seeds | mean | half of the 95 % interval | verdict "
           "| seeds that would decide |")
    for paper, claim, _, found in claims(store):
        for c in found:
            half = c.half()
            name = c.name.replace("`", "")
            yield (f"| {paper} | {claim} | {name} | {len(c.gains)} | {c.mean:+.3f} "
                   f"| {'' if half is None else f'{half:.3f}'} | {c.verdict} "
                   f"| {(FIRST if half is None else c.needed or 'more than 20') if c.verdict == OPEN else ''} |")
