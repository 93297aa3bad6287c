#!/usr/bin/env python3
"""torch_layer.py - a tagger in PyTorch, with the attention of clattn.torch and its own

usage: torch_layer.py [--rounds N] [--threads N] TREEBANK

One step (forward, cross entropy, backward, Adam) over 32 sentences of TREEBANK, a layer
of 8 heads of width 32. PyTorch pads the batch to its longest sentence and masks; clattn
takes the packed tokens. Both give the same loss. They take turns, N times; the median
and the quartiles of each are printed in ms. Needs the package clattn and PyTorch.
"""

import argparse
import math
import statistics
import time
from collections.abc import Callable
from pathlib import Path

import clattn.torch as ours
import torch
from torch import nn

HEADS, WIDTH, WINDOW, WORDS, TAGS = 8, 32, 11, 5000, 17


def lengths_of(treebank: Path) -> list[int]:
    """Of its first 32 sentences of training."""
    text = next(treebank.glob("*train.conllu")).read_text(encoding="utf-8")
    sentences = text.strip().split("\n\n")[:32]
    return [sum(r.split("\t")[0].isdigit() for r in s.split("\n")) for s in sentences]


class Tagger(nn.Module):
    def __init__(self, attention: Callable[..., torch.Tensor]) -> None:
        super().__init__()
        size = HEADS * WIDTH
        self.embed = nn.Embedding(WORDS, size)
        self.project = nn.Linear(size, 3 * size)
        self.out = nn.Linear(size, size)
        self.norm = nn.LayerNorm(size)
        self.classes = nn.Linear(size, TAGS)
        self.attention = attention

    def forward(self, words: torch.Tensor) -> torch.Tensor:
        x = self.embed(words)
        qkv = self.project(x).unflatten(-1, (3, HEADS, WIDTH)).unbind(-3)
        o = self.attention(*qkv).flatten(-2)
        return self.classes(self.norm(x + self.out(o)))


def padded(hidden: torch.Tensor) -> Callable[..., torch.Tensor]:
    """q, k, v [B,T,H,d]; hidden [B,1,T,T] or [T,T]."""

    def attention(q: torch.Tensor, k: torch.Tensor, v: torch.Tensor) -> torch.Tensor:
        q, k, v = (x.transpose(1, 2) for x in (q, k, v))
        s = (q @ k.transpose(2, 3) / math.sqrt(WIDTH)).masked_fill(hidden, -math.inf)
        return (torch.softmax(s, -1).nan_to_num() @ v).transpose(1, 2)

    return attention


def stepper(
    attention: Callable[..., torch.Tensor], words: torch.Tensor, tags: torch.Tensor
) -> Callable[[], float]:
    torch.manual_seed(1)
    model = Tagger(attention)
    adam = torch.optim.Adam(model.parameters(), lr=1e-3)

    def step() -> float:
        scores = model(words).reshape(-1, TAGS)
        loss = nn.functional.cross_entropy(scores, tags.reshape(-1))
        adam.zero_grad()
        loss.backward()
        adam.step()
        return loss.item()

    return step


def main() -> None:
    parser = argparse.ArgumentParser(usage=__doc__)
    parser.add_argument("--rounds", type=int, default=30)
    parser.add_argument("--threads", type=int, default=torch.get_num_threads())
    parser.add_argument("treebank", type=Path)
    given = parser.parse_args()
    torch.set_num_threads(given.threads)
    lengths = lengths_of(given.treebank)
    longest = max(lengths)
    inside = torch.arange(longest)[None] < torch.tensor(lengths)[:, None]
    apart = torch.arange(longest)[:, None] - torch.arange(longest)[None]
    far = apart.abs() > WINDOW // 2
    words = torch.randint(WORDS, (sum(lengths),))
    tags = words % TAGS
    table = torch.zeros(inside.shape, dtype=torch.long).masked_scatter(inside, words)
    wanted = torch.full(inside.shape, -100).masked_scatter(inside, tags)
    steps = {
        "clattn": stepper(
            lambda q, k, v: ours.band_attention(q, k, v, lengths, WINDOW), words, tags
        ),
        "PyTorch": stepper(padded(far | ~inside[:, None, None]), table, wanted),
    }
    times: dict[str, list[float]] = {name: [] for name in steps}
    for turn in range(given.rounds + 3):
        losses = []
        for name, step in steps.items():
            start = time.perf_counter()
            losses.append(step())
            if turn >= 3:
                times[name].append(1e3 * (time.perf_counter() - start))
        assert abs(losses[0] - losses[1]) < 1e-4, losses
    print(f"{sum(lengths)} words, longest sentence {longest}, {given.rounds} rounds")
    for name, all_ms in times.items():
        low, middle, high = statistics.quantiles(all_ms, n=4)
        print(f"{name:8} {middle:7.1f} ms a step ({low:.1f} to {high:.1f})")


main()
