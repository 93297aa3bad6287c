"""peer.py - what the comparisons with other programs share: running clattn, counts, folders"""
import random
import subprocess
import sys
import tempfile
from pathlib import Path

SHOWN = 5  # differences of a name that are printed
CLOSE = 1e-6  # of two scores: both are double
POSITIONS, LOGITS = 10, 1e-4  # places in a text, and what its logits may differ by
SHORT = {"float16": 0.02, "int8": 0.4}  # their mean with weights of fewer bits, 20 wide


def run(program, *arguments, text=""):
    """Runs clattn. Bytes stay as they are: no line end is changed."""
    command = [str(program), *map(str, arguments)]
    made = subprocess.run(command, input=text.encode(), capture_output=True, check=False)
    return made.returncode, made.stdout.decode(), made.stderr.decode().strip()


def clattn(program, *arguments, text=""):
    status, said, warned = run(program, *arguments, text=text)
    if status:
        sys.exit(f"{program} {' '.join(map(str, arguments))}: {warned}")
    return said


def same(ours, theirs, close):
    if isinstance(ours, float) and isinstance(theirs, float):
        return abs(ours - theirs) <= close * max(1.0, abs(theirs))
    return ours == theirs


class Tally:
    """Counts comparisons by their names and prints the differences."""

    def __init__(self, seed):
        self.seed, self.rows = int(seed), {}
        print(f"seed {self.seed}")

    def draw(self, number):
        """Random numbers of a round, which do not depend on the rounds before it."""
        return random.Random(f"{self.seed} {number}")

    def compare(self, name, ours, theirs, where, close=CLOSE):
        row = self.rows.setdefault(name, [0, 0])
        row[1] += 1
        if same(ours, theirs, close):
            row[0] += 1
        elif row[1] - row[0] <= SHOWN:
            print(f"{name}, {where}:\n  clattn  {ours!r}\n  other   {theirs!r}")

    def finish(self):
        """Ends the program, with 1 after a difference or when nothing was compared."""
        for name, (equal, all_) in self.rows.items():
            print(f"{name}: {equal} of {all_} equal")
        inputs = sum(all_ for _, all_ in self.rows.values())
        different = inputs - sum(equal for equal, _ in self.rows.values())
        print(f"{inputs} inputs compared, {different} differences, seed {self.seed}")
        sys.exit(different > 0 or inputs == 0)


def rounds(tally, count):
    """Yields the number, the random numbers and an empty folder of each round."""
    for number in range(count):
        with tempfile.TemporaryDirectory() as folder:
            yield number, tally.draw(number), Path(folder)


def scored_pieces(program, model, lines, texts, *options, first=None):
    """The pieces of texts as translations of lines, by clattn: of each text a list of names and
    log probabilities, the end included. first: the piece of a language, which is left out."""
    with tempfile.TemporaryDirectory() as folder:
        given = write_lines(Path(folder) / "given", texts)
        said = clattn(program, "translate", "--model", model, *options, "--given", given,
                      "--pieces", text="".join(f"{x}\n" for x in lines))
    for row in said.split("\n")[:-1]:
        pairs = [x.rsplit(":", 1) for x in row.split("\t")[2].split(" ") if x]
        assert not first or pairs[0][0] == first, pairs
        yield [(x, float(logp)) for x, logp in pairs[bool(first):]]


def cut_alike(tally, name, model, texts, rows):
    """Compares how clattn cut texts (rows of pieces) with a model of SentencePiece. Releases of
    it choose one or the other of two cuts that a model likes equally well: 000 is 0 and 00, or
    00 and 0. So the cuts must have one score, and callers go on with clattn's."""
    def seen(ids):
        known = [i for i in ids if not model.is_unknown(i)]
        return "".join(map(model.id_to_piece, known)), len(ids) - len(known)

    def score(ids):
        return sum(map(model.get_score, ids))

    for text, row in zip(texts, rows, strict=True):
        ours, theirs = [model.piece_to_id(x) for x in row], model.encode(text)
        alike = seen(ours) == seen(theirs) and same(score(ours), score(theirs), CLOSE)
        tally.compare(f"{name}: cuts of one score", alike, True, f"{text!r}: {row}")


def logits_alike(tally, name, logits, ids, row, where):
    """Compares the log probabilities of a row of scored_pieces at ten positions with logits
    [positions,pieces] of another program; ids: the numbers of its pieces."""
    theirs = logits.log_softmax(-1)
    apart = [abs(logp - theirs[t, i].item()) for t, (i, (_, logp)) in enumerate(zip(ids, row))]
    tally.compare(f"{name}: log probabilities at ten positions", max(apart[:POSITIONS]), 0.0,
                  where, LOGITS)


def short_weights_alike(tally, name, rows, *arguments, **named):
    """Compares rows of scored_pieces(*arguments, **named) with those of weights in 16 and 8
    bits: the mean difference at ten positions."""
    for weights, close in SHORT.items():
        held = scored_pieces(*arguments, "--weights", weights, **named)
        for row, other in zip(rows, held, strict=True):
            apart = [abs(x - y) for (_, x), (_, y) in zip(row, other, strict=True)]
            places = apart[:POSITIONS]
            tally.compare(f"{name}: log probabilities with {weights}", sum(places) / len(places),
                          0.0, f"{[x for x, _ in row]}", close)


def write_lines(path, rows):
    path.write_bytes("".join(f"{row}\n" for row in rows).encode())
    return path
