#!/usr/bin/env python3
"""ranks.py - how much faster two processes on a core each train than one on one core

  ranks.py [--clattn PATH] [--rounds N] CONFIG [SETTING...]

Trains CONFIG with the same settings, and so the same batches, by one process and by two
(mpirun), in turn, and takes the throughput that the last line of each run says. Then two runs
that know nothing of each other show what the machine allows: the sum of both beside one alone.
A setting is KEY=VALUE, as for --set: `steps' and `eval_every' say how long a run is. Needs a
program that was built with MPI, taskset, and PoCL, whose threads it sets to one.
"""
import argparse
import json
import os
import re
import statistics
import subprocess
import sys
import tempfile

ALONE = {**os.environ, "POCL_MAX_PTHREAD_COUNT": "1", "CLATTN_LOG": "error"}


def start(args, prefix, folder):
    settings = [x for setting in args.setting for x in ("--set", setting)]
    return subprocess.Popen([*prefix, args.clattn, "train", args.config, "--out", folder, *settings],
                            env=ALONE, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)


def finish(process):
    """What the run said of its throughput."""
    said = process.communicate()[0]
    found = re.search(r"^done: .*?([\d.,]+) per second", said, re.M)
    if not found:
        sys.exit(f"ranks.py: a run says no throughput:\n{said[-2000:]}")
    return float(found.group(1).replace(",", ""))


def train(args, work, ranks):
    """The throughput, and the scores of the log."""
    prefix = ["taskset", "-c", "0"] if ranks == 1 else ["mpirun", "-n", str(ranks), "--bind-to", "core"]
    folder = tempfile.mkdtemp(dir=work)
    speed = finish(start(args, prefix, os.path.join(folder, "run")))
    with open(os.path.join(folder, "run", "log.jsonl"), encoding="utf-8") as file:
        lines = [json.loads(line) for line in file]
    return speed, [x[key] for x in lines for key in ("loss", "nll") if key in x]


def apart(args, work):
    """The sum of two separate runs at once."""
    runs = [start(args, ["taskset", "-c", str(core)],
                  os.path.join(tempfile.mkdtemp(dir=work), "run")) for core in range(2)]
    return sum(finish(run) for run in runs)


def line(name, ratios):
    ratios = sorted(ratios)
    print(f"{name}: {statistics.median(ratios):.2f} times one on one core "
          f"({ratios[0]:.2f} to {ratios[-1]:.2f})", flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--clattn", default="build/clattn")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("config")
    parser.add_argument("setting", nargs="*")
    args = parser.parse_args()
    together, separate, differ = [], [], 0.0
    with tempfile.TemporaryDirectory() as work:
        train(args, work, 1)  # kernels are compiled
        for i in range(args.rounds):
            second = train(args, work, 2) if i % 2 else None
            one, losses = train(args, work, 1)
            two, others = second or train(args, work, 2)
            together.append(two / one)
            separate.append(apart(args, work) / one)
            differ = max([differ] + [abs(a - b) / abs(a) for a, b in zip(losses, others)])
    line("two processes of one run", together)
    line("two separate runs", separate)
    print(f"losses of one and of two processes differ by {differ:.1e} of their size at most")


if __name__ == "__main__":
    main()
