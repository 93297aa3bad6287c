#!/usr/bin/env python3
"""lm.py - the language model of a config in PyTorch: trained, or with a run's weights

usage: lm.py CONFIG.json [--data FOLDER] [--set KEY=VALUE] [--minutes M] [--out RUN]
       lm.py --score RUN [--data FOLDER]

The first form trains the network of a config of `clattn train` (model lm, softmax
attention) on the same text, with dropout, AdamW, its cosine and clipping, and prints
the loss, the held-out loss (nats a character) and the pace of the steps. --out keeps
the curve: RUN/log.jsonl with the keys of a run of clattn, so that `clattn plot` draws
both, and RUN/curve.csv. The second form reads the weights of a run and prints the
held-out loss in float64, which `clattn eval --split dev` must give, too. Needs torch,
numpy and safetensors.
"""

import argparse
import csv
import datetime
import json
import math
import time
from pathlib import Path
from typing import Any

import numpy as np
import torch
from safetensors.numpy import load_file
from torch import nn
from torch.nn import functional as F

SPECIALS = 3  # <pad>, </s> and <unk> come before the characters
PRESETS = {
    "llama": {
        "norm": "rms",
        "feed_forward": "swiglu",
        "position": "rope",
        "bias": False,
    },
    "gpt2": {
        "norm": "layer",
        "feed_forward": "gelu",
        "position": "learned",
        "bias": True,
    },
}
USUAL = {
    "layers": 6,
    "dim": 384,
    "heads": 6,
    "context": 256,
    "tied": True,
    "batch": 32,
    "lr": 1e-3,
    "beta1": 0.9,
    "beta2": 0.95,
    "weight_decay": 0.1,
    "clip": 1.0,
    "warmup": 100,
    "lr_last": 0.1,
    "rope_base": 10000.0,
    "rope_part": 1.0,
    "norm_epsilon": 1e-6,
    "dropout": 0.0,
    "attention_dropout": 0.0,
    "relu_dropout": 0.0,
    "log_every": 20,
    "eval_every": 0,
    "seed": 42,
    "train": "train.txt",
}
ACTIVATIONS = {
    "swiglu": F.silu,
    "geglu": F.gelu,
    "relu": F.relu,
    "gelu": F.gelu,
    "silu": F.silu,
}
Settings = dict[str, Any]


def settled(config: Settings) -> Settings:
    preset = PRESETS[config.get("preset", "llama")]
    c = {**USUAL, **preset, **config}
    gated = c["feed_forward"] in ("swiglu", "geglu")
    wide = (8 * c["dim"] // 3 + 7) // 8 * 8 if gated else 4 * c["dim"]
    return {"inner": wide, "kv_heads": c["heads"], **c, "gated": gated}


class Norm(nn.Module):
    def __init__(self, c: Settings) -> None:
        super().__init__()
        self.gain = nn.Parameter(torch.ones(c["dim"]))
        self.bias = (
            nn.Parameter(torch.zeros(c["dim"])) if c["norm"] == "layer" else None
        )
        self.epsilon = c["norm_epsilon"]

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        if self.bias is not None:
            return F.layer_norm(x, x.shape[-1:], self.gain, self.bias, self.epsilon)
        return F.rms_norm(x, x.shape[-1:], self.gain, self.epsilon)


def turn(x: torch.Tensor, c: Settings) -> torch.Tensor:
    """Rotary positions of x [B,H,T,d]."""
    r = int(c["rope_part"] * x.shape[-1] / 2)
    place = torch.arange(x.shape[2], dtype=torch.float64)[:, None]
    angle = place / c["rope_base"] ** (torch.arange(r, dtype=torch.float64) / r)
    cos, sin = angle.cos().to(x.dtype), angle.sin().to(x.dtype)
    a, b, rest = x[..., :r], x[..., r : 2 * r], x[..., 2 * r :]
    return torch.cat([a * cos - b * sin, b * cos + a * sin, rest], -1)


class Layer(nn.Module):
    def __init__(self, c: Settings) -> None:
        super().__init__()
        self.c, wide, bias = c, c["inner"], c["bias"]
        each = c["heads"] + 2 * c["kv_heads"]
        width = c["dim"] // c["heads"]
        self.into = nn.Linear(c["dim"], each * width, bias)
        self.out = nn.Linear(c["dim"], c["dim"], bias)
        self.up = nn.Linear(c["dim"], wide, bias)
        self.gate = nn.Linear(c["dim"], wide, bias) if c["gated"] else None
        self.down = nn.Linear(wide, c["dim"], bias)
        self.first, self.second = Norm(c), Norm(c)

    def attend(self, x: torch.Tensor) -> torch.Tensor:
        c = self.c
        heads, few = c["heads"], c["kv_heads"]
        parts = self.into(x).unflatten(-1, (heads + 2 * few, -1)).transpose(1, 2)
        q, k, v = parts.split([heads, few, few], 1)
        if c["position"] == "rope":
            q, k = turn(q, c), turn(k, c)
        k, v = (part.repeat_interleave(heads // few, 1) for part in (k, v))
        p = c["attention_dropout"] if self.training else 0.0
        o = F.scaled_dot_product_attention(q, k, v, dropout_p=p, is_causal=True)
        return self.out(o.transpose(1, 2).flatten(2))

    def feed(self, x: torch.Tensor) -> torch.Tensor:
        act = ACTIVATIONS[self.c["feed_forward"]]
        up = self.up(x)
        up = act(self.gate(x)) * up if self.gate is not None else act(up)
        return self.down(F.dropout(up, self.c["relu_dropout"], self.training))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        p = self.c["dropout"]
        x = x + F.dropout(self.attend(self.first(x)), p, self.training)
        return x + F.dropout(self.feed(self.second(x)), p, self.training)


class Model(nn.Module):
    def __init__(self, c: Settings, pieces: int) -> None:
        super().__init__()
        self.table = nn.Embedding(pieces, c["dim"])
        self.places = (
            nn.Embedding(c["context"], c["dim"]) if c["position"] == "learned" else None
        )
        self.layers = nn.ModuleList(Layer(c) for _ in range(c["layers"]))
        self.norm = Norm(c)
        self.head = self.table if c["tied"] else nn.Embedding(pieces, c["dim"])
        self.dropout = c["dropout"]
        for p in self.parameters():
            if p.dim() == 2:
                nn.init.xavier_uniform_(p)
        for table in (self.table, self.places, self.head):
            if table is not None:
                nn.init.normal_(table.weight, std=0.02)

    def forward(self, ids: torch.Tensor) -> torch.Tensor:
        x = self.table(ids)
        if self.places is not None:
            x = x + self.places.weight[: ids.shape[1]]
        x = F.dropout(x, self.dropout, self.training)
        for layer in self.layers:
            x = layer(x)
        return self.norm(x) @ self.head.weight.T


def loss_of(model: Model, ids: torch.Tensor) -> torch.Tensor:
    """The mean cross entropy of windows [B,T+1]."""
    return F.cross_entropy(model(ids[:, :-1]).flatten(0, 1), ids[:, 1:].flatten())


def held_out(model: Model, ids: torch.Tensor, context: int) -> float:
    """Nats a piece, over windows that do not overlap."""
    model.eval()
    total = 0.0
    with torch.no_grad():
        for at in range(0, len(ids) - 1, 64 * context):
            whole = ids[at : at + 64 * context + 1]
            rows = (len(whole) - 1) // context
            parts = (
                [whole[: rows * context + 1].unfold(0, context + 1, context)]
                if rows
                else []
            )
            rest = whole[rows * context :]
            parts += [rest[None]] if len(rest) > 1 else []
            for part in parts:
                total += loss_of(model, part).item() * part[:, 1:].numel()
    model.train()
    return total / (len(ids) - 1)


def texts(
    c: Settings, folder: str, characters: list[str] | None
) -> tuple[Any, Any, int]:
    """The ids of the training text and of its held-out end."""
    text = (Path(folder) / c["train"]).read_text(encoding="utf-8")
    if characters is None:
        characters = sorted(set(text))
    number = {letter: i + SPECIALS for i, letter in enumerate(characters)}
    ids = torch.tensor([number[letter] for letter in text])
    kept = int(len(text) * (1 - c["hold_out"]))
    return ids[:kept], ids[kept:], len(characters) + SPECIALS


def rate(c: Settings, step: int) -> float:
    if step <= c["warmup"]:
        return c["lr"] * step / c["warmup"]
    part = (step - c["warmup"]) / (c["steps"] - c["warmup"])
    return c["lr"] * (
        c["lr_last"] + (1 - c["lr_last"]) * (1 + math.cos(math.pi * part)) / 2
    )


class Curve:
    """The lines of a training: printed, and kept as log.jsonl and curve.csv."""

    def __init__(self, c: Settings, folder: Path | None) -> None:
        self.c, self.folder = c, folder
        self.start, self.spent = time.monotonic(), 0.0
        if folder:
            folder.mkdir(parents=True, exist_ok=True)
            (folder / "config.json").write_text(json.dumps(c, indent=4) + "\n")
            (folder / "log.jsonl").write_text("")
            with open(folder / "curve.csv", "w", newline="") as file:
                csv.writer(file).writerow(["step", "seconds", "loss", "nll"])

    def minutes(self) -> float:
        return (time.monotonic() - self.start) / 60

    def add(self, step: int, loss: float | None, nll: float | None) -> None:
        """Without a loss it is a line of an evaluation."""
        seconds = round(self.minutes() * 60, 1)
        pace = step * self.c["batch"] * self.c["context"] / self.spent
        name, value = ("nll", nll) if loss is None else ("loss", loss)
        print(f"step {step}  {name} {value:.4f}  {pace:.0f} pieces/s", flush=True)
        if not self.folder:
            return
        now = datetime.datetime.now(datetime.timezone.utc).strftime("%FT%TZ")
        line = {"step": step, name: value, "units_per_s": pace, "time": now}
        if loss is None:
            del line["units_per_s"]
        with open(self.folder / "log.jsonl", "a") as file:
            file.write(json.dumps(line) + "\n")
        with open(self.folder / "curve.csv", "a", newline="") as file:
            csv.writer(file).writerow([step, seconds, loss, nll])


def optimiser(c: Settings, model: Model) -> torch.optim.Optimizer:
    """AdamW, whose decay acts on matrices and tables."""
    groups = [
        {"params": [p for p in model.parameters() if p.dim() > 1]},
        {"params": [p for p in model.parameters() if p.dim() < 2], "weight_decay": 0.0},
    ]
    return torch.optim.AdamW(
        groups,
        lr=c["lr"],
        betas=(c["beta1"], c["beta2"]),
        weight_decay=c["weight_decay"],
    )


def train(c: Settings, folder: str, minutes: float, out: Path | None) -> None:
    torch.manual_seed(c["seed"])
    ids, dev, pieces = texts(c, folder, None)
    model = Model(c, pieces)
    optim = optimiser(c, model)
    print(f"{sum(p.numel() for p in model.parameters())} parameters", flush=True)
    curve, losses = Curve(c, out), []
    for step in range(1, c["steps"] + 1):
        at = torch.randint(len(ids) - c["context"], (c["batch"], 1))
        start = time.perf_counter()
        for group in optim.param_groups:
            group["lr"] = rate(c, step)
        loss = loss_of(model, ids[at + torch.arange(c["context"] + 1)])
        optim.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), c["clip"])
        optim.step()
        losses.append(loss.item())
        curve.spent += time.perf_counter() - start
        last = step == c["steps"] or curve.minutes() >= minutes
        if step % c["log_every"] == 0 or last:
            curve.add(step, sum(losses) / len(losses), None)
            losses.clear()
        if last or (c["eval_every"] and step % c["eval_every"] == 0):
            curve.add(step, None, held_out(model, dev, c["context"]))
        if last:
            return


def take(model: Model, run: Path) -> None:
    """Copies the weights of a run."""
    state = load_file(run / "best.ckpt.safetensors")
    names = {
        "into": "self.in",
        "out": "self.out",
        "up": "feed.in",
        "gate": "feed.gate",
        "down": "feed.out",
        "first": "self.norm",
        "second": "feed.norm",
    }
    with torch.no_grad():
        for name, p in model.named_parameters():
            part = name.split(".")
            if part[0] == "layers":
                stem = f"layer.{part[1]}.{names[part[2]]}"
            else:
                stem = {
                    "table": "table",
                    "places": "places",
                    "head": "output",
                    "norm": "norm",
                }[part[0]]
            norm = part[-2] in ("first", "second", "norm")
            ending = f".{part[-1]}" if norm else "_bias" if part[-1] == "bias" else ""
            value = state[stem + ending].astype(np.float64)
            linear = p.dim() == 2 and part[0] == "layers"
            p.copy_(torch.from_numpy(value.T.copy() if linear else value))


def unescaped(line: str) -> str:
    return line.replace("\\n", "\n").replace("\\r", "\r").replace("\\\\", "\\")


def score(run: Path, folder: str | None) -> None:
    c = settled(json.loads((run / "config.json").read_text()))
    lines = (
        (run / "characters.txt").read_text(encoding="utf-8").rstrip("\n").split("\n")
    )
    escaped = lines[0].startswith("#clattn vocabulary")
    letters = [unescaped(line) for line in lines[SPECIALS + escaped :]]
    _, dev, pieces = texts(c, folder or c["data"], letters)
    model = Model(c, pieces).double()
    take(model, run)
    nll = held_out(model, dev, c["context"])
    print(f"nll {nll:.6f}  perplexity {math.exp(nll):.6f}")


def changed(c: Settings, assignments: list[str]) -> Settings:
    """The settings with those of --set: values are JSON, or texts."""
    for word in assignments:
        key, _, text = word.partition("=")
        try:
            c[key] = json.loads(text)
        except json.JSONDecodeError:
            c[key] = text
    return c


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("config", nargs="?", type=Path)
    parser.add_argument("--score", type=Path, metavar="RUN")
    parser.add_argument("--data")
    parser.add_argument("--set", action="append", default=[], metavar="KEY=VALUE")
    parser.add_argument("--minutes", type=float, default=math.inf)
    parser.add_argument("--out", type=Path, metavar="RUN")
    parser.add_argument("--threads", type=int)
    a = parser.parse_args()
    if a.threads:
        torch.set_num_threads(a.threads)
    if a.score:
        score(a.score, a.data)
    elif a.config:
        c = settled(changed(json.loads(a.config.read_text()), a.set))
        train(c, a.data or str(a.config.parent / c["data"]), a.minutes, a.out)
    else:
        parser.error("a config, or --score RUN")


if __name__ == "__main__":
    main()
