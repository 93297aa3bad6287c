#!/usr/bin/env python3
"""marian_release.py - a MarianMT folder of Hugging Face as a folder that Marian writes.

    tools/marian_release.py FROM TO [stored|deflated] [separate | joint | spm]

Writes TO/model.npz (with its settings under special:model.yml), decoder.yml, vocab.yml,
source.spm and target.spm, in the layout of Opus-MT's releases: matrices [in,out], vectors
[1,n], layers from 1, and no <pad>, which must be the last piece of FROM. `separate` writes a
table and a vocabulary for each language, and an output matrix. `joint` has the pieces of
FROM's source.spm alone, by their numbers in it, for both languages; `spm` is the same with the
SentencePiece model as the vocabulary. Needs no other package.
"""
import json
import os
import shutil
import struct
import sys
import zipfile

PARTS = {
    "Wq": "q_proj.weight", "bq": "q_proj.bias", "Wk": "k_proj.weight", "bk": "k_proj.bias",
    "Wv": "v_proj.weight", "bv": "v_proj.bias", "Wo": "out_proj.weight", "bo": "out_proj.bias",
}
FEED = {
    "ffn_W1": "fc1.weight", "ffn_b1": "fc1.bias", "ffn_W2": "fc2.weight", "ffn_b2": "fc2.bias",
    "ffn_ffn_ln_scale": "final_layer_norm.weight", "ffn_ffn_ln_bias": "final_layer_norm.bias",
}


def read_tensors(path):
    """Shapes and lists of floats by name."""
    with open(path, "rb") as file:
        size, = struct.unpack("<Q", file.read(8))
        header = json.loads(file.read(size))
        data = file.read()
    tensors = {}
    for name, entry in header.items():
        if name != "__metadata__":
            first, last = entry["data_offsets"]
            numbers = struct.unpack(f"<{(last - first) // 4}f", data[first:last])
            tensors[name] = (entry["shape"], list(numbers))
    return tensors


def turned(tensor):
    (rows, columns), numbers = tensor
    return [columns, rows], [numbers[r * columns + c] for c in range(columns) for r in range(rows)]


def npy(kind, shape, data):
    shape = "(" + "".join(f"{n}, " for n in shape) + ")"
    header = f"{{'descr': '{kind}', 'fortran_order': False, 'shape': {shape}, }}"
    header += " " * (-(len(header) + 11) % 16) + "\n"
    return b"\x93NUMPY\x01\x00" + struct.pack("<H", len(header)) + header.encode() + data


def floats(tensor):
    shape, numbers = tensor
    return npy("<f4", shape, struct.pack(f"<{len(numbers)}f", *numbers))


def layer_arrays(tensors, stack, layer):
    prefix = f"model.{stack}.layers.{layer}."
    names = dict(FEED)
    blocks = {"self": "self_attn"} | ({"context": "encoder_attn"} if stack == "decoder" else {})
    for ours, theirs in blocks.items():
        names |= {f"{ours}_{part}": f"{theirs}.{to}" for part, to in PARTS.items()}
        names |= {f"{ours}_Wo_ln_{part}": f"{theirs}_layer_norm.{to}"
                  for part, to in (("scale", "weight"), ("bias", "bias"))}
    for ours, theirs in names.items():
        shape, numbers = tensors[prefix + theirs]
        matrix = len(shape) == 2
        yield (f"{stack}_l{layer + 1}_{ours}",
               turned((shape, numbers)) if matrix else ([1, len(numbers)], numbers))


def arrays(tensors, config, separate):
    (pieces, width), numbers = tensors["model.shared.weight"]
    table = [pieces - 1, width], numbers[:(pieces - 1) * width]
    bias = tensors["final_logits_bias"][1][:-1]
    if separate:
        yield "encoder_Wemb", table
        yield "decoder_Wemb", table
        yield "decoder_ff_logit_out_W", turned(table)
    else:
        yield "Wemb", table
    yield "decoder_ff_logit_out_b", ([1, len(bias)], bias)
    for stack in ("encoder", "decoder"):
        for layer in range(config[f"{stack}_layers"]):
            yield from layer_arrays(tensors, stack, layer)


def settings(config, separate):
    tied = str(not separate).lower()
    pieces = config["vocab_size"] - 1
    return f"""\
type: transformer
dim-emb: {config["d_model"]}
dim-vocabs:
  - {pieces}
  - {pieces}
enc-depth: {config["encoder_layers"]}
dec-depth: {config["decoder_layers"]}
transformer-heads: {config["encoder_attention_heads"]}
transformer-dim-ffn: {config["encoder_ffn_dim"]}
transformer-ffn-activation: {config["activation_function"]}
transformer-ffn-depth: 2
transformer-decoder-autoreg: self-attention
transformer-no-projection: false
transformer-preprocess: ""
transformer-postprocess: dan
transformer-postprocess-emb: d
transformer-tied-layers:
  []
transformer-train-position-embeddings: false
transformer-guided-alignment-layer: last
transformer-aan-depth: 2
transformer-aan-nogate: false
dec-cell-base-depth: 2
dec-cell-high-depth: 1
ulr-dim-emb: 0
tied-embeddings: {tied}
tied-embeddings-src: {tied}
tied-embeddings-all: {tied}
layer-normalization: false
right-left: false
skip: false
version: v1.7.8
"""


def spm_pieces(path):
    """Texts of the pieces of a SentencePiece model: field 1 of each field 1, in protobuf."""
    def number(data, at):
        value = shift = 0
        while True:
            value |= (data[at] & 0x7f) << shift
            shift += 7
            at += 1
            if data[at - 1] < 0x80:
                return value, at

    with open(path, "rb") as file:
        data = file.read()
    at, pieces = 0, []
    while at < len(data):
        tag, at = number(data, at)
        size, at = number(data, at)
        if tag == 0x0a and data[at] == 0x0a:
            pieces.append(data[at + 2:at + 2 + data[at + 1]].decode())
        at += size
    return pieces


def reduce(tensors, config, vocab, pieces):
    """The rows of these pieces alone; those that the model lacks get that of <unk>."""
    (_, width), numbers = tensors["model.shared.weight"]
    rows = [vocab.get(piece, vocab["<unk>"]) for piece in [*pieces, "<pad>"]]
    rows[-1] = config["pad_token_id"]
    table = [x for row in rows for x in numbers[row * width:(row + 1) * width]]
    bias = tensors["final_logits_bias"][1]
    tensors["model.shared.weight"] = [len(rows), width], table
    tensors["final_logits_bias"] = [1, len(rows)], [bias[row] for row in rows]
    config["vocab_size"] = len(rows)
    return {piece: i for i, piece in enumerate(pieces)}


def write(folder, name, text):
    with open(os.path.join(folder, name), "w", encoding="utf-8") as file:
        file.write(text)


def write_vocab(folder, name, vocab):
    """Quoted as Marian's vocabularies are, some of each kind."""
    lines = []
    for token, number in sorted(vocab.items(), key=lambda item: item[1]):
        plain = token in ("</s>", "<unk>") or token.isalpha()
        lines.append(f"{token if plain else json.dumps(token, ensure_ascii=False)}: {number}\n")
    write(folder, name, "".join(lines))


def main():
    if len(sys.argv) < 3:
        sys.exit(__doc__)
    source, folder, *options = sys.argv[1:]
    separate = "separate" in options
    os.makedirs(folder, exist_ok=True)
    with open(os.path.join(source, "config.json"), encoding="utf-8") as file:
        config = json.load(file)
    with open(os.path.join(source, "vocab.json"), encoding="utf-8") as file:
        vocab = json.load(file)
    if vocab.pop("<pad>") != len(vocab):
        sys.exit(f"{source}: <pad> is not the last piece")
    tensors = read_tensors(os.path.join(source, "model.safetensors"))
    joint = "joint" in options or "spm" in options
    if joint:
        vocab = reduce(tensors, config, vocab, spm_pieces(os.path.join(source, "source.spm")))
    method = zipfile.ZIP_DEFLATED if "deflated" in options else zipfile.ZIP_STORED
    with zipfile.ZipFile(os.path.join(folder, "model.npz"), "w", method) as archive:
        text = settings(config, separate).encode() + b"\0"
        archive.writestr("special:model.yml.npy", npy("|i1", [len(text)], text))
        for name, tensor in arrays(tensors, config, separate):
            archive.writestr(name + ".npy", floats(tensor))
    names = ["source.vocab.yml", "target.vocab.yml"] if separate else ["vocab.yml"] * 2
    if "spm" in options:
        names = ["vocab.spm"] * 2
        shutil.copy(os.path.join(source, "source.spm"), os.path.join(folder, "vocab.spm"))
    else:
        for name in names:
            write_vocab(folder, name, vocab)
        for name in ("source.spm", "target.spm"):
            shutil.copy(os.path.join(source, "source.spm" if joint else name),
                        os.path.join(folder, name))
    write(folder, "decoder.yml", f"relative-paths: true\nmodels:\n  - model.npz\nvocabs:\n"
          f"  - {names[0]}\n  - {names[1]}\nbeam-size: {config.get('num_beams', 1)}\n"
          "normalize: 1\nword-penalty: 0\nmini-batch: 1\n")


if __name__ == "__main__":
    main()
