#!/usr/bin/env python3
"""decode.py - a translator here and in CTranslate2: the same model, the same sentences, in turn

  decode.py --lines FILE [--clattn PATH] [--rounds N] [--threads N] [--count N] [--only RE] NAME=FOLDER...

FOLDER is a translator of byte pairs (bench/peers/decode.sh trains two); its max_length should
be set, so that both stop alike. CTranslate2 gets its
export. Both take a batch of lines at a time and answer it before they get the next one: clattn
translate by way of pipes, as lines, and CTranslate2 in this process, as pieces. In rows of a
"file" both get all lines at once and divide them into batches; there, CTranslate2 also runs
with one translator for each thread (inter_threads) beside one with all threads. The length
penalty is 0, so that both rank and stop alike. Each round times a row with one program and at
once with the other. The table has medians over the rounds: milliseconds a line, the ratio of
these times with its lowest and highest, and the ratio of processor time, in which other work on
the machine does not count. `equal' is how many lines get the same words from both.

Idle threads of CTranslate2's OpenMP spin, which costs it most of its speed where other work
runs: measure more than one thread on an idle machine alone.
"""
import argparse
import glob
import itertools
import json
import os
import re
import statistics
import subprocess
import sys
import tempfile
import time

SEARCHES = [("greedy", 1), ("beam 4", 4)]
BATCHES = [("batch 32", 32, False), ("batch 1", 1, False), ("file", 32, True)]
# Options here, and CTranslate2's type beside them, which rounds rows to 8 bits, too.
WEIGHTS = [("float32", "float32"), ("float16", "int8_float32"), ("int8", "int8_float32"),
           ("int8 --compute int8", "int8_float32")]
PAUSE = 0.4  # seconds: idle threads of CTranslate2's OpenMP spin for up to 0.2


class Ours:
    """clattn translate, which answers after each batch."""

    def __init__(self, args, folder, weights, beam, batch, ahead):
        self.ahead = ahead
        workers = ["--workers", str(args.workers)] if args.workers else []
        self.process = subprocess.Popen(
            [args.clattn, "translate", "--model", folder, "--weights", *weights.split(), "--beam", str(beam),
             "--length-penalty", "0", "--batch-lines", str(batch), "--read-ahead", str(ahead), *workers],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE,
            env={**os.environ, "POCL_MAX_PTHREAD_COUNT": str(args.threads)})

    def run(self, lines):
        found = []
        for i in range(0, len(lines), self.ahead):
            part = lines[i:i + self.ahead]
            part += [""] * (self.ahead - len(part))
            self.process.stdin.write("".join(f"{x}\n" for x in part).encode())
            self.process.stdin.flush()
            found += [self.process.stdout.readline() for _ in part]
        if not found[-1]:
            sys.exit("decode.py: clattn translate has ended")
        return [x.decode().rstrip("\n") for x in found[:len(lines)]]

    def cpu(self):
        """Seconds of processor time, of all threads."""
        total = 0
        for path in glob.glob(f"/proc/{self.process.pid}/task/*/schedstat"):
            with open(path, encoding="ascii") as file:
                total += int(file.read().split()[0])
        return 1e-9 * total

    def close(self):
        self.process.stdin.close()
        self.process.wait()


class Theirs:
    """CTranslate2, of lines cut into pieces."""

    def __init__(self, args, folder, kind, beam, batch, ahead, most, translators):
        import ctranslate2
        self.batch, self.ahead, self.beam, self.most = batch, ahead, beam, most
        self.model = ctranslate2.Translator(folder, device="cpu", compute_type=kind,
                                            inter_threads=translators,
                                            intra_threads=args.threads // translators)

    def run(self, pieces):
        found = []
        for i in range(0, len(pieces), self.ahead):
            results = self.model.translate_batch(pieces[i:i + self.ahead], beam_size=self.beam,
                                                 max_batch_size=self.batch, length_penalty=0,
                                                 max_decoding_length=self.most)
            found += [" ".join(x.hypotheses[0]) for x in results]
        return found

    @staticmethod
    def cpu():
        return time.process_time()

    def close(self):
        self.model.unload_model()


def pipe(command, lines):
    ran = subprocess.run(command, input="".join(f"{x}\n" for x in lines).encode(),
                         capture_output=True, check=True)
    return ran.stdout.decode().split("\n")[:-1]


def spent(program, lines, pause):
    """Seconds, and those of processor time."""
    time.sleep(pause)
    begin, cpu = time.perf_counter(), program.cpu()
    program.run(lines)
    return time.perf_counter() - begin, program.cpu() - cpu


def measure(args, ours, theirs, lines, pieces):
    """Of each round, what both spent; and the words of both."""
    words = ours.run(lines), theirs.run(pieces)  # kernels are compiled, weights are packed
    ours.run(lines)
    pause = PAUSE if args.threads > 1 else 0
    rounds = []
    for i in range(args.rounds):
        second = spent(theirs, pieces, pause) if i % 2 else None
        first = spent(ours, lines, pause)
        rounds.append((first, second or spent(theirs, pieces, pause)))
    return rounds, words


def report(row, kind, rounds, words, same):
    count = len(same)
    ratio = [sorted(theirs[i] / ours[i] for ours, theirs in rounds) for i in range(2)]
    ms = [1e3 / count * statistics.median(x[side][0] for x in rounds) for side in range(2)]
    equal = sum(a == b for a, b in zip(words[0], same))
    pieces = sum(len(x.split()) + 1 for x in words[1]) / count
    columns = (f"{statistics.median(ratio[0]):.2f}x ({ratio[0][0]:.2f} to {ratio[0][-1]:.2f}) "
               f"| {statistics.median(ratio[1]):.2f}x")
    if equal < count / 2:
        columns = "other words: no comparison |"
    print(f"| {row} | {ms[0]:.2f} | {kind} {ms[1]:.2f} | {columns} | {equal} of {count} "
          f"| {pieces:.1f} |", flush=True)


def model_rows(args, name, folder, lines):
    with open(os.path.join(folder, "config.json"), encoding="utf-8") as file:
        most = json.load(file)["max_length"] or 256
    with tempfile.TemporaryDirectory() as work:
        export = os.path.join(work, "ct2")
        subprocess.run([args.clattn, "export", "--format", "ctranslate2", "--model", folder,
                        "--out", export], check=True, stdout=subprocess.DEVNULL)
        codes = ["--split", "--codes", os.path.join(folder, "codes.txt")]
        cut = [x.split() + ["</s>"] for x in pipe([args.clattn, "bpe", "apply", *codes], lines)]
        undo = [args.clattn, "bpe", "undo", "--split"]
        for (weights, kind), (search, beam), (how, batch, whole) in itertools.product(
                WEIGHTS, SEARCHES, BATCHES):
            count = args.count if batch > 1 else max(args.count // 8, 1)
            for translators in [1, args.threads] if whole and args.threads > 1 else [1]:
                row = f"{name}, {weights}, {search}, {how}" + (
                    f", CTranslate2 {translators} x {args.threads // translators}" if whole else "")
                if not re.search(args.only, row):
                    continue
                ahead = count if whole else batch
                ours = Ours(args, folder, weights, beam, batch, ahead)
                theirs = Theirs(args, export, kind, beam, batch, ahead, most, translators)
                rounds, words = measure(args, ours, theirs, lines[:count], cut[:count])
                ours.close()
                theirs.close()
                report(row, kind, rounds, words, pipe(undo, words[1]))


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("model", nargs="+", metavar="NAME=FOLDER")
    parser.add_argument("--lines", required=True)
    parser.add_argument("--clattn", default="build/clattn")
    parser.add_argument("--rounds", type=int, default=9)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--count", type=int, default=128, help="lines of a round; batch 1: an eighth")
    parser.add_argument("--workers", type=int, help="of clattn translate (its own choice)")
    parser.add_argument("--only", default="", help="rows that match")
    args = parser.parse_args()
    try:
        import ctranslate2
    except ImportError as missing:
        sys.exit(f"not run: {missing} (pip install ctranslate2)")
    with open(args.lines, encoding="utf-8") as file:
        lines = [x.rstrip("\n") for x in file][:args.count]
    print(f"CTranslate2 {ctranslate2.__version__}, {args.threads} threads, {args.rounds} rounds, "
          f"load {os.getloadavg()[0]:.1f}\n")
    print("| model, weights, search | clattn, ms a line | CTranslate2, ms a line | ratio "
          "| processor time | equal | pieces a line |")
    print("|---|---|---|---|---|---|---|")
    for model in args.model:
        name, folder = model.split("=", 1)
        model_rows(args, name, folder, lines)


if __name__ == "__main__":
    main()
