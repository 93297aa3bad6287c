#!/usr/bin/env python3
"""nmt.py - the translator in PyTorch and CTranslate2, on the shapes of `clattn bench --suite nmt`.

  nmt.py train [--size small|base] [--batch B] [--length T]   one step: loss, gradient, Adam
  nmt.py decode [--beam K] [--batch B] [--length T]           CTranslate2, float32, random weights

Prints a line of JSON with the median time of a run and target pieces a second.
"""
import argparse
import json
import math
import os
import statistics
import sys
import tempfile
import time

import numpy as np

PIECES = 8000
SIZES = {"small": dict(D=256, heads=4, inner=1024, layers=3, tables=1),
         "base": dict(D=512, heads=8, inner=2048, layers=6, tables=3)}


def signal(length, D):
    place = np.arange(length)[:, None]
    wave = place / 10000 ** (np.arange(D // 2) / (D // 2 - 1))
    return np.concatenate([np.sin(wave), np.cos(wave)], axis=1).astype(np.float32)


def ids(batch, length):
    return np.arange(batch * length).reshape(batch, length) * 7919 % PIECES


def report(case, provider, pieces, run, least=5, seconds=5.0):
    run()
    times = []
    while len(times) < least or sum(times) < seconds:
        begin = time.perf_counter()
        run()
        times.append(time.perf_counter() - begin)
    median = statistics.median(times)
    print(json.dumps({"suite": "nmt", "case": case, "provider": provider,
                      "median_ms": round(1e3 * median, 3),
                      "words_per_s": round(pieces / median, 1)}))


def train(args):
    import torch
    from torch import nn
    from torch.nn import functional as F
    torch.set_num_threads(args.threads)
    size = SIZES[args.size]
    D = size["D"]

    class Translator(nn.Module):
        def __init__(self):
            super().__init__()
            draw = lambda: nn.Parameter(torch.randn(PIECES, D) / math.sqrt(D))
            self.target = self.source = self.output = draw()
            if size["tables"] == 3:
                self.source, self.output = draw(), draw()
            self.place = torch.from_numpy(signal(args.length, D))
            self.body = nn.Transformer(D, size["heads"], size["layers"], size["layers"],
                                       size["inner"], 0.1, batch_first=True,
                                       norm_first=True)
            self.mask = nn.Transformer.generate_square_subsequent_mask(args.length)

        def embed(self, tokens, table):
            x = F.embedding(tokens, table) * math.sqrt(D) + self.place
            return F.dropout(x, 0.1, self.training)

        def forward(self, source, late):
            y = self.body(self.embed(source, self.source), self.embed(late, self.target),
                          tgt_mask=self.mask, tgt_is_causal=True)
            return y @ self.output.T

    torch.manual_seed(42)
    model = Translator().train()
    optim = torch.optim.Adam(model.parameters(), lr=1e-4, betas=(0.9, 0.98), eps=1e-9)
    source = torch.from_numpy(ids(args.batch, args.length))
    late = torch.roll(source, 1, dims=1)

    def step():
        optim.zero_grad()
        loss = F.cross_entropy(model(source, late).flatten(0, 1), source.flatten(),
                               label_smoothing=0.1)
        loss.backward()
        optim.step()
        loss.item()

    name = {"small": "D256 L3", "base": "base"}[args.size]
    report(f"nmt {name} plain train B{args.batch} T{args.length}", "pytorch",
           args.batch * args.length, step)


def linear(spec, rows, columns, draw):
    spec.weight, spec.bias = draw(rows, columns), np.zeros(rows, np.float32)


def norm(spec, D):
    spec.gamma, spec.beta = np.ones(D, np.float32), np.zeros(D, np.float32)


def fill_layer(layer, D, inner, draw, decoder):
    linear(layer.self_attention.linear[0], 3 * D, D, draw)
    linear(layer.self_attention.linear[1], D, D, draw)
    norm(layer.self_attention.layer_norm, D)
    if decoder:
        linear(layer.attention.linear[0], D, D, draw)
        linear(layer.attention.linear[1], 2 * D, D, draw)
        linear(layer.attention.linear[2], D, D, draw)
        norm(layer.attention.layer_norm, D)
    linear(layer.ffn.linear_0, inner, D, draw)
    linear(layer.ffn.linear_1, D, inner, draw)
    norm(layer.ffn.layer_norm, D)


def decode(args):
    import ctranslate2
    size = SIZES["small"]
    D = size["D"]
    random = np.random.default_rng(42)

    def draw(rows, columns):
        return (random.standard_normal((rows, columns)) / math.sqrt(columns)).astype(np.float32)

    spec = ctranslate2.specs.TransformerSpec.from_config(
        size["layers"], size["heads"], pre_norm=True)
    for stack, decoder in ((spec.encoder, False), (spec.decoder, True)):
        table = stack.embeddings if decoder else stack.embeddings[0]
        table.weight = draw(PIECES + 4, D)
        stack.position_encodings.encodings = signal(512, D)
        norm(stack.layer_norm, D)
        for layer in stack.layer:
            fill_layer(layer, D, size["inner"], draw, decoder)
    spec.decoder.projection.weight = draw(PIECES + 4, D)
    tokens = ["<s>", "</s>", "<unk>", "<blank>"] + [f"t{i}" for i in range(PIECES)]
    spec.register_source_vocabulary(tokens)
    spec.register_target_vocabulary(tokens)
    source = [[f"t{i}" for i in row] for row in ids(args.batch, args.length)]
    with tempfile.TemporaryDirectory() as folder:
        spec.validate()
        spec.save(folder)
        model = ctranslate2.Translator(folder, device="cpu", compute_type="float32",
                                       inter_threads=1, intra_threads=args.threads)
        report(f"nmt D256 L3 plain beam{args.beam} B{args.batch} T{args.length}", "ctranslate2",
               args.batch * args.length,
               lambda: model.translate_batch(source, beam_size=args.beam,
                                             length_penalty=0.6 if args.beam > 1 else 1,
                                             min_decoding_length=args.length,
                                             max_decoding_length=args.length))


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("verb", choices=["train", "decode"])
    parser.add_argument("--size", choices=list(SIZES), default="small")
    parser.add_argument("--batch", type=int)
    parser.add_argument("--length", type=int, default=16)
    parser.add_argument("--beam", type=int, default=1)
    parser.add_argument("--threads", type=int, default=os.cpu_count())
    args = parser.parse_args()
    args.batch = args.batch or (128 if args.verb == "train" else 32)
    try:
        (train if args.verb == "train" else decode)(args)
    except ImportError as missing:
        sys.exit(f"not run: {missing} (bench/peers/setup.sh makes an environment)")


if __name__ == "__main__":
    main()
