#!/usr/bin/env python3
"""lm.py - random language models of transformers, imported: logits, greedy texts up to an
end, and folders that transformers loads again
usage: tests/peers/lm.py CLATTN SEED

Sizes are odd, heads of keys are shared, rotary positions are scaled, one or several pieces
end a text, weights are float32, float16 or bfloat16, in one file or several; some folders
have a tokenizer.model alone. Prints how many pieces were compared, and the largest difference of a logit."""
import json
import os
import random
import shutil
import subprocess
import sys
import tempfile

import torch
from safetensors import safe_open
from transformers import (AutoModelForCausalLM, AutoTokenizer, GPT2Config, GPT2LMHeadModel,
                          LlamaConfig, LlamaForCausalLM, MistralConfig, MistralForCausalLM)

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "data", "makers"))
import lm as makers  # noqa: E402

BAR = 1e-4
MODEL = os.path.join(makers.ROOT, "tests", "data", "llama", "tokenizer.model")
clattn, seed = sys.argv[1], int(sys.argv[2])
draw = random.Random(seed)


def run(*words):
    return subprocess.run([clattn, *words], check=True, capture_output=True, text=True).stdout


def gpt2(pieces):
    heads = draw.choice([1, 2, 3, 5])
    return GPT2LMHeadModel(GPT2Config(
        vocab_size=pieces, n_embd=heads * draw.choice([7, 8, 12]), n_layer=draw.randint(1, 3),
        n_head=heads, n_inner=draw.choice([None, 31, 50]), n_positions=140,
        activation_function=draw.choice(["gelu_new", "gelu", "relu", "silu"]),
        tie_word_embeddings=draw.random() < 0.7, initializer_range=0.25,
        bos_token_id=pieces - 1, eos_token_id=pieces - 1))


def rope():
    """Rotary positions, scaled in one of the ways or not."""
    factor, before = draw.choice([2.0, 4.0, 7.5]), draw.choice([20, 35])
    more = draw.choice([
        {"rope_type": "default"}, {"rope_type": "linear", "factor": factor},
        {"rope_type": "llama3", "factor": factor, "original_max_position_embeddings": before,
         "low_freq_factor": draw.choice([0.5, 1.0]), "high_freq_factor": draw.choice([2.0, 4.0])},
        {"rope_type": "yarn", "factor": factor, "original_max_position_embeddings": before,
         "beta_fast": draw.choice([4.0, 32.0])},
        {"rope_type": "yarn", "factor": factor, "original_max_position_embeddings": before,
         "mscale": 1.0, "mscale_all_dim": 0.5}])
    return {**more, "rope_theta": draw.choice([100.0, 10000.0])}


def llama(pieces, window=False):
    heads, shared = draw.choice([(6, 2), (6, 3), (4, 1), (3, 3), (5, 1)])
    settings = dict(
        vocab_size=pieces + draw.choice([0, 5]), hidden_size=heads * draw.choice([6, 8, 10]),
        num_hidden_layers=draw.randint(1, 3), num_attention_heads=heads,
        num_key_value_heads=shared, intermediate_size=draw.choice([33, 48]),
        max_position_embeddings=140, rms_norm_eps=draw.choice([1e-5, 1e-6]),
        initializer_range=0.25, tie_word_embeddings=draw.random() < 0.5, bos_token_id=1,
        eos_token_id=draw.choice([2, [2, *draw.sample(range(260, pieces), 15)]]) if pieces > 300
        else 2, head_dim=None, rope_parameters=rope())
    if window:
        return MistralForCausalLM(MistralConfig(**settings, sliding_window=draw.choice([3, 8]),
                                                attn_implementation="eager"))
    both = draw.random() < 0.3
    return LlamaForCausalLM(LlamaConfig(**settings, attention_bias=both, mlp_bias=both))


def shake(model):
    """Random biases and gains, which transformers makes zeros and ones."""
    for name, p in model.named_parameters():
        if p.dim() == 1:
            p.data.add_(torch.randn_like(p) * 0.2)


def logits_of(folder, text, work):
    path = os.path.join(work, "maps.safetensors")
    run("inspect", "--model", folder, "--text", text, "--out", path)
    with safe_open(path, "pt") as f:
        return f.get_tensor("logits")


def compare(model, tokenizer, folder, work):
    """The largest difference of a logit; the likeliest piece must be the same."""
    worst, pieces = 0.0, 0
    for text in makers.PROMPTS:
        ids = torch.tensor([tokenizer.encode(text)])
        with torch.no_grad():
            want = model(ids).logits[0]
        got = logits_of(folder, text, work)
        assert got.shape == want.shape, (got.shape, want.shape)
        worst = max(worst, (got - want).abs().max().item())
        assert torch.equal(got.argmax(1), want.argmax(1)), text
        pieces += len(want)
    return worst, pieces


def letters():
    """The letters of bytes in pieces of GPT-2: Radford et al. 2019."""
    plain = [*range(33, 127), *range(161, 173), *range(174, 256)]
    hidden = [i for i in range(256) if i not in plain]
    return {chr(i): i for i in plain} | {chr(256 + n): i for n, i in enumerate(hidden)}


LETTERS = letters()


def bytes_of(piece, whole):
    """The bytes of a piece: letters of bytes, or characters and <0x0A>."""
    if whole:
        return bytes(LETTERS[c] for c in piece)
    if piece.startswith("<0x") and len(piece) == 6:
        return bytes([int(piece[3:5], 16)])
    return piece.replace("\u2581", " ").encode()


def plain(data):
    """A text without what stands for bytes that are no characters, and without blanks."""
    text = data.decode(errors="replace") if isinstance(data, bytes) else data
    return "".join(text.replace("\ufffd", "").split())


def written(model, tokenizer, folder, text):
    """What both write behind a text, up to one of the pieces that end it."""
    ids = torch.tensor([tokenizer.encode(text)])
    with torch.no_grad():
        out = model.generate(ids, max_new_tokens=100, do_sample=False, pad_token_id=0)
    specials = {t.content for t in tokenizer.added_tokens_decoder.values() if t.special}
    pieces = tokenizer.convert_ids_to_tokens(out[0][ids.shape[1]:].tolist())
    whole = isinstance(model, GPT2LMHeadModel) or "\u0120" in "".join(tokenizer.get_vocab())
    theirs = b"".join(bytes_of(p, whole) for p in pieces if p and p not in specials)
    ours = json.loads(run("generate", "--model", folder, "--greedy", "--pieces", "100",
                          "--json", text))["text"]
    return plain(ours), plain(theirs.split(b"\0")[0])  # ours is a string of C


def one(kind, tokenizer, work, number):
    torch.manual_seed(seed * 1000 + number)
    pieces = tokenizer.get_vocab_size()
    made = gpt2(pieces) if kind == "gpt2" else llama(pieces, kind == "mistral")
    shake(made)
    hf, ours = (os.path.join(work, f"{name}{number}") for name in ("hf", "ours"))
    made.to(draw.choice([torch.float32, torch.float16, torch.bfloat16])).save_pretrained(
        hf, max_shard_size=draw.choice(["50KB", "1GB"]))
    model_alone = kind != "gpt2" and made.config.vocab_size >= 389 and draw.random() < 0.3
    if model_alone:  # the same pieces with other numbers: those of the table stay
        shutil.copy(MODEL, os.path.join(hf, "tokenizer.model"))
    else:
        tokenizer.save(os.path.join(hf, "tokenizer.json"))
    run("import", hf, "--out", ours)
    back = os.path.join(work, f"back{number}")
    run("export", "--model", ours, "--format", "huggingface", "--out", back)
    worst, count = 0.0, 0
    # release 5 of transformers cuts other pieces than SentencePiece does with its model
    for folder in (back,) if model_alone else (hf, back):
        model = AutoModelForCausalLM.from_pretrained(folder, dtype=torch.float32,
                                                     attn_implementation="eager").eval()
        loaded = AutoTokenizer.from_pretrained(folder)
        far, n = compare(model, loaded, ours, work)
        worst, count = max(worst, far), count + n
        for text in makers.PROMPTS:
            mine, other = written(model, loaded, ours, text)
            assert mine == other, (kind, text, mine, other)
            count += 1
    print(f"{kind} {made.dtype}: {worst:.1e}")
    return worst, count


def main():
    tokenizers = {"gpt2": makers.bytes_tokenizer(), "llama": makers.letters_tokenizer()}
    worst, count, differences = 0.0, 0, 0
    with tempfile.TemporaryDirectory() as work:
        for number in range(12):
            kind = ("gpt2", "llama", "mistral")[number % 3]
            tokenizer = tokenizers["gpt2" if draw.random() < 0.3 else
                                   "gpt2" if kind == "gpt2" else "llama"]
            far, n = one(kind, tokenizer, work, number)
            worst, count = max(worst, far), count + n
            differences += far > BAR
    print(f"{count} inputs compared, {differences} differences; largest {worst:.1e}")
    return differences > 0


if __name__ == "__main__":
    sys.exit(main())
