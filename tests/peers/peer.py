"""peer.py - what the comparisons with other programs share: running clattn, counts, folders"""
import random
import subprocess
import sys
import tempfile
from pathlib import Path

SHOWN = 5  # differences of a name that are printed
CLOSE = 1e-6  # of two scores: both are double


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


def write_lines(path, rows):
    path.write_bytes("".join(f"{row}\n" for row in rows).encode())
    return path
