#!/usr/bin/env python3
"""torch_encoder.py - training steps of an encoder in PyTorch with three attentions

usage: torch_encoder.py [--rounds N] [--threads N] [--case NAME] [--type NAME]
                        [--what NAME]

A step (forward, loss, backward, Adam) and a pass forward of an encoder of 4 layers,
width 256, 4 heads, over random tokens; and attention alone, forward and backward, with
queries, keys and values of one projection. All but attention is PyTorch's:

  clattn  band_attention, or scaled_dot_product_attention of clattn
  sdpa    torch.nn.functional.scaled_dot_product_attention, with a mask for the window
  flex    torch.nn.attention.flex_attention, compiled, with a block mask for the window
  none    the values as they are: the least that a step can take with any attention

Cases: window (8 sequences of 512 tokens, a window of 11) and plain (32 of 64). Types:
float32 and bfloat16, of parameters and tokens. The attentions take turns, N times,
after the same first numbers; the losses of all but `none` must agree. It prints the
median and the quartiles of each, its time over that of clattn, and the same of the
processors' time, which other work disturbs less. What an attention cannot do is named.
Needs the package clattn and PyTorch 2.5 or newer.
"""

import argparse
import statistics
import time
from collections.abc import Callable

import clattn.torch as ours
import torch
from torch import nn

LAYERS, WIDTH, HEADS, WIDE, WORDS, WINDOW = 4, 256, 4, 1024, 1000, 11
CASES = {"window": (8, 512, WINDOW), "plain": (32, 64, None)}
WHAT = ("step", "forward", "attention")
TYPES = {"float32": torch.float32, "bfloat16": torch.bfloat16}
# Losses near 7: sums in another order, and five steps of Adam after them.
BARS = {"float32": 1e-3, "bfloat16": 5e-2}
Attention = Callable[[torch.Tensor, torch.Tensor, torch.Tensor], torch.Tensor]


class Layer(nn.Module):
    """A layer with its norms first. The attention gets and gives [B,T,H,d]."""

    def __init__(self, attention: Attention) -> None:
        super().__init__()
        self.first, self.second = nn.LayerNorm(WIDTH), nn.LayerNorm(WIDTH)
        self.project, self.out = nn.Linear(WIDTH, 3 * WIDTH), nn.Linear(WIDTH, WIDTH)
        self.wide, self.narrow = nn.Linear(WIDTH, WIDE), nn.Linear(WIDE, WIDTH)
        self.attention = attention

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        qkv = self.project(self.first(x)).unflatten(-1, (3, HEADS, WIDTH // HEADS))
        x = x + self.out(self.attention(*qkv.unbind(2)).flatten(2))
        return x + self.narrow(torch.relu(self.wide(self.second(x))))


class Encoder(nn.Module):
    def __init__(self, attention: Attention) -> None:
        super().__init__()
        self.embed = nn.Embedding(WORDS, WIDTH)
        self.layers = nn.Sequential(*(Layer(attention) for _ in range(LAYERS)))
        self.classes = nn.Linear(WIDTH, WORDS)

    def forward(self, words: torch.Tensor) -> torch.Tensor:
        return self.classes(self.layers(self.embed(words)))


def by_clattn(batch: int, length: int, window: int | None) -> Attention:
    lengths = [length] * batch

    def banded(q: torch.Tensor, k: torch.Tensor, v: torch.Tensor) -> torch.Tensor:
        packed = (x.flatten(0, 1) for x in (q, k, v))
        o = ours.band_attention(*packed, lengths, window or 0)
        return o.view(q.shape)

    def plain(q: torch.Tensor, k: torch.Tensor, v: torch.Tensor) -> torch.Tensor:
        turned = (x.transpose(1, 2) for x in (q, k, v))
        return ours.scaled_dot_product_attention(*turned).transpose(1, 2)

    return banded if window else plain


def by_sdpa(batch: int, length: int, window: int | None) -> Attention:
    at = torch.arange(length)
    near = (at[:, None] - at).abs() <= window // 2 if window else None

    def attention(q: torch.Tensor, k: torch.Tensor, v: torch.Tensor) -> torch.Tensor:
        turned = (x.transpose(1, 2) for x in (q, k, v))
        o = nn.functional.scaled_dot_product_attention(*turned, attn_mask=near)
        return o.transpose(1, 2)

    return attention


def by_flex(batch: int, length: int, window: int | None) -> Attention:
    from torch.nn.attention.flex_attention import create_block_mask, flex_attention

    blocks = None
    if window:
        reach = window // 2
        blocks = create_block_mask(
            lambda b, h, i, j: (i - j).abs() <= reach,
            None,
            None,
            length,
            length,
            device="cpu",
        )
    compiled = torch.compile(flex_attention)

    def attention(q: torch.Tensor, k: torch.Tensor, v: torch.Tensor) -> torch.Tensor:
        turned = (x.transpose(1, 2) for x in (q, k, v))
        return compiled(*turned, block_mask=blocks).transpose(1, 2)

    return attention


def by_nothing(batch: int, length: int, window: int | None) -> Attention:
    return lambda q, k, v: v


def alone(
    attention: Attention, words: torch.Tensor, kind: torch.dtype
) -> Callable[[], float]:
    """Attention forward and backward. Gives the sum of the gradient's squares."""
    torch.manual_seed(1)
    size = (*words.shape, 3, HEADS, WIDTH // HEADS)
    x = torch.randn(size).to(kind).requires_grad_()
    dy = torch.randn(*words.shape, HEADS, WIDTH // HEADS).to(kind)

    def run() -> float:
        (grad,) = torch.autograd.grad(attention(*x.unbind(2)), x, dy)
        return grad.float().square().mean().item()

    return run


def stepper(
    attention: Attention, words: torch.Tensor, kind: torch.dtype, trains: bool
) -> Callable[[], float]:
    """Gives the loss of a step, or of a pass forward alone."""
    torch.manual_seed(1)
    model = Encoder(attention).to(kind).train(trains)
    adam = torch.optim.Adam(model.parameters(), lr=1e-4)

    def loss_of() -> torch.Tensor:
        scores = model(words).flatten(0, 1).float()
        return nn.functional.cross_entropy(scores, words.flatten())

    def step() -> float:
        loss = loss_of()
        adam.zero_grad()
        loss.backward()
        adam.step()
        return loss.item()

    def forward() -> float:
        with torch.no_grad():
            return loss_of().item()

    return step if trains else forward


def measure(case: str, kind: str, what: str, rounds: int) -> None:
    batch, length, window = CASES[case]
    words = torch.randint(WORDS, (batch, length))
    row = f"{case} {kind} {what}"
    made = {"clattn": by_clattn, "sdpa": by_sdpa, "flex": by_flex}
    if what != "attention":
        made["none"] = by_nothing
    steps, losses = {}, {}
    for name, make in made.items():
        try:
            given = make(batch, length, window), words, TYPES[kind]
            if what == "attention":
                step = alone(*given)
            else:
                step = stepper(*given, what == "step")
            losses[name] = [step() for _ in range(3)]
            steps[name] = step
        except Exception as error:  # whatever a version of PyTorch cannot do
            said = str(error).strip().splitlines() or [""]
            print(f"{row} {name}: not there: {type(error).__name__}: {said[0]}")
    for name, own in losses.items():
        apart = max(abs(a - b) for a, b in zip(own, losses["clattn"], strict=True))
        if apart > BARS[kind] and name != "none":
            raise SystemExit(f"{row}: results of {name} are {apart:g} away")
    times: dict[str, list[tuple[float, float]]] = {name: [] for name in steps}
    for _ in range(rounds):
        for name, step in steps.items():
            start = time.perf_counter(), time.process_time()
            step()
            end = time.perf_counter(), time.process_time()
            times[name].append((end[0] - start[0], end[1] - start[1]))
    base = [statistics.median(own) for own in zip(*times["clattn"], strict=True)]
    for name, both in times.items():
        wall, work = ([1e3 * s for s in own] for own in zip(*both, strict=True))
        low, middle, high = statistics.quantiles(wall, n=4)
        used = statistics.median(work)
        print(
            f"{row} {name:7} {middle:7.1f} ms ({low:.1f} to {high:.1f}),"
            f" {middle / base[0] / 1e3:.2f} times clattn's; processors {used:.1f} ms,"
            f" {used / base[1] / 1e3:.2f} times",
            flush=True,
        )


def main() -> None:
    parser = argparse.ArgumentParser(usage=__doc__)
    parser.add_argument("--rounds", type=int, default=10)
    parser.add_argument("--threads", type=int, default=torch.get_num_threads())
    parser.add_argument("--case", choices=CASES, action="append")
    parser.add_argument("--what", choices=WHAT, action="append")
    parser.add_argument("--type", choices=TYPES, action="append")
    given = parser.parse_args()
    torch.set_num_threads(given.threads)
    print(
        f"PyTorch {torch.__version__}, {given.threads} threads, {given.rounds} rounds"
    )
    for case in given.case or CASES:
        for kind in given.type or TYPES:
            for what in given.what or WHAT:
                measure(case, kind, what, given.rounds)


main()
