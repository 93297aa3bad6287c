#!/usr/bin/env python3
"""goals.py - what the engine set out to reach, and how far it is.

usage: goals.py --list [RE]                  the cases the goals are about, those that match
       goals.py [--only RE] RESULT.json...    files of `clattn bench --json` and pytorch.py

Several files may hold the same case: the medians over the files count.
"""
import json
import re
import statistics
import sys

OWN = ("tile", "group")
SDPA = ("sdpa", "sdpa_mask")
BAND = "band_attention {} B{} H8 T{} d64 w11"

# (case, what is compared, with whom, goal)
GOALS = (
    [(f"matmul fwd M{n} N{n} K{n}", "times", ("openblas",), 0.95) for n in (512, 1024, 2048)]
    + [("matmul fwd M1024 N1024 K1024", "times", ("clblast",), 8)]
    + [
        (BAND.format("fwd", 8, 512), "times", SDPA, 20),
        (BAND.format("fwd", 8, 512), "times", ("flex",), None),
        (BAND.format("fwd", 8, 512), "share", (), 50),
        (BAND.format("fwd", 1, 4096), "times", SDPA, 150),
        (BAND.format("fwd", 1, 4096), "times", ("flex",), None),
        (BAND.format("fwd+bwd", 8, 512), "times", SDPA, 15),
        ("attention fwd B64 H8 T64 d64", "times", SDPA, 1.2),
        ("attention fwd+bwd B64 H8 T64 d64", "times", SDPA, 2),
    ]
    + [(f"custom_attention fwd {score} B{B} H8 T{T} d64", "times", ("flex",), 3)
       for score, B, T in (("alibi", 4, 512), ("soft cap", 4, 512), ("window", 1, 4096),
                           ("documents 1/2", 1, 2048), ("documents 1/8", 1, 2048))]
    + [
        ("masked_softmax fwd B8 H8 T256 S256", "times", ("softmax",), 1.5),
        ("masked_softmax fwd B8 H8 T1024 S1024", "share", (), 80),
        ("conv_attention_2d fwd B8 H8 T256 d64 k3", "times", ("conv2d",), 4),
        ("conv_attention_2d fwd+bwd B8 H8 T256 d64 k3", "times", ("conv2d",), 2),
        ("bilstm fwd+bwd B32 T64 in256 n128", "times", ("packed",), 1),
        ("bilstm fwd+bwd B32 T300 in300 n150", "times", ("packed",), 1),
        ("bigru fwd+bwd B32 T64 in256 n128", "times", ("packed",), 1.5),
        ("bigru fwd+bwd B32 T300 in300 n150", "times", ("packed",), 1.5),
        ("bidaf train depth1 B32 P120 Q12 in100 n75", "times", ("packed", "dense"), None),
        ("bidaf train depth10 B32 P120 Q12 in100 n75", "times", ("packed", "dense"), None),
        ("startup cold", "ms", (), 3000),
        ("startup warm", "ms", (), 300),
    ]
    + [(f"{op} fwd {set_} packed B64 H8 d64{w}", "padded", (), 1.5)
       for set_ in ("fr_spoken", "uniform")
       for op, w in (("attention", ""), ("band_attention", " w11"))]
)


def read(paths):
    """{(case, provider): [row, ...]}"""
    rows = {}
    for path in paths:
        with open(path, encoding="utf-8") as f:
            for line in f:
                row = json.loads(line)
                rows.setdefault((row["case"], row["provider"]), []).append(row)
    return rows


def median(rows, case, providers, key="median_ms"):
    """The fastest of these providers: (provider, median over the files of key)."""
    found = []
    for p in providers:
        if (case, p) in rows:
            of_p = rows[case, p]
            found.append((statistics.median(r["median_ms"] for r in of_p), p,
                          statistics.median(r[key] for r in of_p)))
    if not found:
        return None, None
    _, provider, value = min(found)
    return provider, value


def verdict(value, goal, more_is_better=True):
    if goal is None:
        return "", ""
    part = value / goal if more_is_better else goal / value
    return f"{goal:g}", "met" if part >= 1 else f"missed, {100 * part:.0f} % of it"


def line(rows, case, kind, peers, goal):
    own, ms = median(rows, case, OWN)
    if ms is None:
        return (case, "", "", "", "", "not run")
    if kind == "ms":
        return (case, f"{ms:.0f} ms", "", f"{ms:.0f} ms",
                *verdict(ms, goal, more_is_better=False))
    if kind == "share":
        _, share = median(rows, case, OWN, "peak_share")
        return (case, f"{ms:.2f} ms", "device's peak", f"{share:.0f} %", *verdict(share, goal))
    if kind == "padded":
        _, padded = median(rows, case.replace("packed", "padded"), OWN)
        if padded is None:
            return (case, f"{ms:.2f} ms", "padded", "", f"{goal:g}", "not run")
        return (case, f"{ms:.2f} ms", f"padded {padded:.2f} ms", f"{padded / ms:.2f}x",
                *verdict(padded / ms, goal))
    peer, peer_ms = median(rows, case, peers)
    if peer is None:
        return (case, f"{ms:.2f} ms", "/".join(peers), "", f"{goal or ''}", "not run")
    return (case, f"{ms:.2f} ms", f"{peer} {peer_ms:.2f} ms", f"{peer_ms / ms:.2f}x",
            *verdict(peer_ms / ms, goal))


def cases():
    names = []
    for case, kind, _, _ in GOALS:
        names += [case] + ([case.replace("packed", "padded")] if kind == "padded" else [])
    return list(dict.fromkeys(names))


def main():
    if sys.argv[1:2] == ["--list"]:
        wanted = sys.argv[2] if len(sys.argv) > 2 else ""
        print("\n".join(case for case in cases() if re.search(wanted, case)))
        return
    only, paths = "", sys.argv[1:]
    if paths[:1] == ["--only"]:
        only, paths = paths[1], paths[2:]
    if not paths or paths[0].startswith("-"):
        sys.exit(__doc__)
    rows = read(paths)
    table = [("case", "clattn", "beside", "ratio", "goal", "")]
    table += [line(rows, *goal) for goal in GOALS if re.search(only, goal[0])]
    width = [max(len(r[i]) for r in table) for i in range(6)]
    for i, row in enumerate(table):
        print("| " + " | ".join(c.ljust(w) for c, w in zip(row, width)) + " |")
        if i == 0:
            print("|" + "|".join("-" * (w + 2) for w in width) + "|")


if __name__ == "__main__":
    main()
