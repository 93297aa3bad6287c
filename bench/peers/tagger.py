#!/usr/bin/env python3
"""tagger.py - the tagger in PyTorch: a peer for speed, and a reader of checkpoints.

  tagger.py train TREEBANK [--steps N]          real words a second, batches padded to
                                                the longest sentence
  tagger.py check RUN VIEW.safetensors TEXT...  logits and attention maps of a trained run
                                                against those that clattn inspect
                                                --out VIEW.safetensors wrote
"""
import argparse
import json
import math
import os
import struct
import sys
import time

try:
    import numpy as np
    import torch
    from torch import nn
    from torch.nn import functional as F
except ImportError:
    sys.exit("not run: PyTorch is not installed (bench/peers/setup.sh makes an environment)")


def read_safetensors(path):
    """Name -> tensor; all of our tensors are float32."""
    with open(path, "rb") as file:
        size = struct.unpack("<Q", file.read(8))[0]
        header = json.loads(file.read(size))
        data = file.read()
    found = {}
    for name, info in header.items():
        if name != "__metadata__":
            begin, end = info["data_offsets"]
            values = np.frombuffer(data[begin:end], dtype=np.float32).reshape(info["shape"])
            found[name] = torch.from_numpy(values.copy())
    return found


class Tagger(nn.Module):
    """Parameters have the names, shapes and orientations of a checkpoint."""

    def __init__(self, config, weights):
        super().__init__()
        self.config = config
        self.names = list(weights)
        self.values = nn.ParameterList([nn.Parameter(weights[n]) for n in self.names])
        self.seen = None  # {"map.LAYER.HEAD": [T,T]} of the first sentence, when wanted

    def note(self, kind, prefix, maps):
        if self.seen is not None:
            for head, values in enumerate(maps[0]):
                self.seen[f"{kind}.{prefix.split('.')[1]}.{head}"] = values

    def get(self, name):
        return self.values[self.names.index(name)] if name in self.names else None

    def letters(self, spelling):
        """[U,20] letters -> [U,64]."""
        x = self.get("char.table")[spelling].transpose(1, 2)
        for i in range(self.config["char_layers"]):
            w = self.get(f"char.{i}.filter").permute(2, 1, 0)  # [5,in,out] -> [out,in,5]
            x = torch.relu(F.conv1d(x, w, self.get(f"char.{i}.bias"), padding=2))
        return x.max(dim=2).values

    def convolve(self, p, prefix):
        """The map [B,H,T,T] after the convolution, if the layer has one."""
        w, b = self.get(prefix + ".filter"), self.get(prefix + ".bias")
        if w is None:
            return p
        heads, size = p.shape[1], p.shape[-1]
        if w.dim() == 3:
            p = F.conv2d(p, w[:, None], b, padding=1, groups=heads)
        else:
            shifted = F.pad(p, (0, 0, 1, 1))
            p = sum(shifted[:, :, u:u + size] @ w[:, u, :size, :size] for u in range(3))
            p = p + b[:, None, :size]
        return torch.relu(p) if self.config["activation"] == "relu" else p

    def relative(self, prefix):
        """[H,2t] scores of distances, made of their spectrum where that is learned."""
        spectrum = self.get(prefix + ".spectrum")
        if spectrum is None:
            return self.get(prefix + ".relative")
        n = torch.arange(spectrum.shape[1])
        apart = (n - self.config["length"]).abs()
        waves = torch.cos(2 * math.pi * n[:, None] * apart / len(n))
        return spectrum @ waves / len(n)

    def attend(self, x, prefix):
        batch, size, width = x.shape
        heads = self.config["heads"]
        d = width // heads
        qkv = (x @ self.get(prefix + ".qkv")).view(batch, size, 3 * heads, d)
        gamma = self.get(prefix + ".gamma")
        if gamma is not None:
            qkv = qkv * gamma[:, None]
        q, k, v = qkv.transpose(1, 2).split(heads, dim=1)
        scores = q @ k.transpose(2, 3) / d ** 0.5
        absolute, relative = self.get(prefix + ".absolute"), self.relative(prefix)
        if absolute is not None:
            scores = scores + absolute[:, :size, :size]
        if relative is not None:
            at = torch.arange(size)
            scores = scores + relative[:, at[:, None] - at[None] + self.config["length"]]
        p = torch.softmax(scores, dim=-1)
        self.note("map", prefix, p)
        p = self.convolve(p, prefix)
        self.note("convolved", prefix, p)
        return (p @ v).transpose(1, 2).reshape(batch, size, width)

    def forward(self, words, spelling, which):
        """words [B,T], spelling [U,20], which [B,T] rows of it -> logits [B,T,tags]."""
        e = self.get("word.table")[words]
        place = self.get("position.table")
        if place is not None:
            place = place[:words.shape[1]].expand(len(words), -1, -1)
            add = self.config["positions"] == "add"
            e = e + place if add else torch.cat([e, place], dim=-1)
        e = torch.cat([e, self.letters(spelling)[which]], dim=-1)
        h = e
        for i in range(self.config["layers"]):
            u = F.dropout(h, self.config["dropout"], self.training)
            h = u + self.attend(u, f"layer.{i}")
        return torch.cat([e, h], dim=-1) @ self.get("out.weight") + self.get("out.bias")


def lines_of(folder, name):
    with open(os.path.join(folder, name), encoding="utf-8") as lines:
        return {token.rstrip("\n"): i for i, token in enumerate(lines)}


def check(args):
    with open(os.path.join(args.run, "config.json"), encoding="utf-8") as file:
        config = json.load(file)
    weights = read_safetensors(os.path.join(args.run, "best.ckpt.safetensors"))
    weights = {n: t for n, t in weights.items() if "/" not in n}  # without the moments
    model = Tagger(config, weights).eval()
    words, chars = lines_of(args.run, "words.txt"), lines_of(args.run, "chars.txt")
    tokens = " ".join(args.text).split()
    ids = torch.tensor([[words.get(t, 1) for t in tokens]])
    spelling = torch.zeros(len(tokens), config["char_length"], dtype=torch.long)
    for i, token in enumerate(tokens):
        for k, letter in enumerate(token[:config["char_length"]]):
            spelling[i, k] = chars.get(letter, 1)
    model.seen = {}
    with torch.no_grad():
        model.seen["logits"] = model(ids, spelling, torch.arange(len(tokens))[None])[0]
    worst = {}
    for name, want in read_safetensors(args.view).items():
        away = (model.seen[name] - want).abs().max().item() / max(1.0, want.abs().max().item())
        away = away if away >= 0 else float("inf")  # NaN
        kind = name.split(".")[0]
        worst[kind] = max(worst.get(kind, 0.0), away)
    print("largest differences: " + ", ".join(f"{k} {x:.1e}" for k, x in worst.items()))
    sys.exit(0 if "logits" in worst and max(worst.values()) <= 1e-5 else 1)


def read_sentences(path):
    sentence = []
    with open(path, encoding="utf-8") as lines:
        for line in lines:
            column = line.rstrip("\r\n").split("\t")
            if column[0].isdigit():
                sentence.append((column[1], column[3]))
            elif column == [""] and sentence:
                yield sentence
                sentence = []
    if sentence:
        yield sentence


def random_weights(words, chars, tags, size=192, layers=4):
    """Shapes of tagger-conv2d; the values do not matter for speed."""
    shapes = {"char.table": (chars, 64), "word.table": (words, 128),
              "position.table": (60, 128), "out.weight": (2 * size, tags), "out.bias": (tags,)}
    for i in range(3):
        shapes[f"char.{i}.filter"], shapes[f"char.{i}.bias"] = (5, 64, 64), (64,)
    for i in range(layers):
        shapes[f"layer.{i}.qkv"] = (size, 3 * size)
        shapes[f"layer.{i}.filter"], shapes[f"layer.{i}.bias"] = (4, 3, 3), (4,)
    return {name: 0.05 * torch.randn(shape) for name, shape in shapes.items()}


def train(args):
    torch.manual_seed(42)
    torch.set_num_threads(args.threads)
    sentences = [s[:60] for s in read_sentences(os.path.join(args.treebank, "train.conllu"))]
    words, chars, tags = {"<pad>": 0}, {"<pad>": 0}, {}
    for word, tag in (pair for s in sentences for pair in s):
        words.setdefault(word, len(words))
        tags.setdefault(tag, len(tags))
        for letter in word:
            chars.setdefault(letter, len(chars))
    config = {"char_layers": 3, "heads": 4, "layers": 4, "length": 60, "dropout": 0.1,
              "activation": "relu", "positions": "add"}
    model = Tagger(config, random_weights(len(words), len(chars), len(tags))).train()
    optim = torch.optim.RMSprop(model.parameters(), lr=1e-3, alpha=0.9, eps=1e-7)
    done, start = 0, 0.0
    for step in range(args.warm + args.steps):
        if step == args.warm:
            done, start = 0, time.perf_counter()
        first = step * args.batch % (len(sentences) - args.batch)
        batch = sentences[first:first + args.batch]
        size = max(len(s) for s in batch)
        ids = torch.zeros(len(batch), size, dtype=torch.long)
        gold = torch.full((len(batch), size), -100)
        letters = torch.zeros(len(batch) * size, 20, dtype=torch.long)
        for b, s in enumerate(batch):
            for i, (word, tag) in enumerate(s):
                ids[b, i], gold[b, i] = words[word], tags[tag]
                for k, letter in enumerate(word[:20]):
                    letters[b * size + i, k] = chars[letter]
        which = torch.arange(len(batch) * size).view(len(batch), size)
        loss = F.cross_entropy(model(ids, letters, which).flatten(0, 1), gold.flatten())
        optim.zero_grad()
        loss.backward()
        optim.step()
        done += sum(len(s) for s in batch)
    rate = done / (time.perf_counter() - start)
    print(json.dumps({"suite": "tagger", "case": "tagger conv2d paper train B32",
                      "provider": "pytorch", "words_per_s": round(rate, 1), "threads": args.threads}))


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    verbs = parser.add_subparsers(required=True)
    verb = verbs.add_parser("train")
    verb.add_argument("treebank")
    verb.add_argument("--steps", type=int, default=20)
    verb.add_argument("--warm", type=int, default=3)
    verb.add_argument("--batch", type=int, default=32)
    verb.add_argument("--threads", type=int, default=os.cpu_count())
    verb = verbs.add_parser("check")
    verb.add_argument("run")
    verb.add_argument("view")
    verb.add_argument("text", nargs="+")
    args = parser.parse_args()
    (train if "treebank" in args else check)(args)


if __name__ == "__main__":
    main()
