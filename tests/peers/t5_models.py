"""t5_models.py - small random models of T5 1.0, T5 1.1, mT5 and MADLAD-400, made with
transformers"""
import sentencepiece
import torch
from torch import nn
from transformers import (GenerationConfig, MT5Config, MT5ForConditionalGeneration, T5Config,
                          T5ForConditionalGeneration)

from marian_models import page, train_pairs, write_json

STEPS = 240  # of training, so that translations differ and end
FAMILIES = ["t5", "flan", "mt5", "madlad"]
TARGETS = {"madlad": ["de", "zh_Hant"]}


def draw_form(draw, family):
    layers = draw.randint(1, 3)  # transformers 5.24 generates only with as many in the decoder
    gated = "gated-gelu" if family != "t5" else draw.choice(["relu", "gelu_new"])
    return {
        "family": family,
        "heads": draw.choice([2, 3]),
        "head_width": draw.choice([5, 8, 11]),
        "width": draw.choice([18, 21, 30]),
        "inner": draw.choice([13, 24, 40]),
        "layers": (layers, draw.randint(1, layers)),
        "feed": gated,
        "tied": family == "t5",
        "buckets": draw.choice([8, 14, 32]),
        "reach": draw.choice([20, 50, 128]),
        "dtype": draw.choice(["float32", "float32", "bfloat16", "float16"]),
        "sharded": draw.random() < 0.3,
        "padding": draw.choice([0, 12]),
        "sentinels": 0 if family in ("mt5", "madlad") else draw.choice([0, 5]),
        "normal": draw.choice(["identity", "nmt_nfkc"]),
        "early": draw.choice([False, True]),
        "penalty": draw.choice([1.0, 0.6]),
        "max_length": draw.choice([20, 40]),
    }


def tagged(line, target):
    """A source as MADLAD-400 has it."""
    return f"<2{target}> {line}" if target else line


def special_ids(form):
    """The numbers of padding, end, unknown and start."""
    return (1, 2, 0, 0) if form["family"] == "madlad" else (0, 1, 2, 0)


def make_pieces(draw, form, folder, lines):
    """Writes the tokenizer's files; returns the SentencePiece model and the number of rows."""
    path = folder / "spiece.model"
    text = folder / "lines.txt"
    text.write_text("\n".join(lines), encoding="utf-8")
    ids = {"pad_id": 0, "eos_id": 1, "unk_id": 2, "bos_id": -1}
    if form["family"] == "madlad":
        ids = {"unk_id": 0, "bos_id": 1, "eos_id": 2, "pad_id": -1,
               "user_defined_symbols": [f"<2{x}>" for x in TARGETS["madlad"]]}
    sentencepiece.SentencePieceTrainer.train(
        input=str(text), model_prefix=str(folder / "spiece"), vocab_size=draw.randint(110, 160),
        hard_vocab_limit=False, minloglevel=2, model_type="unigram",
        normalization_rule_name=form["normal"], **ids)
    text.unlink()
    (folder / "spiece.vocab").unlink()
    model = sentencepiece.SentencePieceProcessor(model_file=str(path))
    count = form["sentinels"]
    if count:
        names = {str(len(model) + count - 1 - i): {
            "content": f"<extra_id_{i}>", "special": True, "lstrip": False, "rstrip": False,
            "single_word": False, "normalized": False} for i in range(count)}
        write_json(folder / "tokenizer_config.json", {
            "tokenizer_class": "T5Tokenizer", "extra_ids": count, "added_tokens_decoder": names})
    return model, len(model) + count


def make_network(form, rows, seed):
    torch.manual_seed(seed)
    pad, end, _, start = special_ids(form)
    kinds = (MT5ForConditionalGeneration, MT5Config) if form["family"] == "mt5" else (
        T5ForConditionalGeneration, T5Config)
    network = kinds[0](kinds[1](
        vocab_size=rows, d_model=form["width"], d_kv=form["head_width"], d_ff=form["inner"],
        num_layers=form["layers"][0], num_decoder_layers=form["layers"][1],
        num_heads=form["heads"], relative_attention_num_buckets=form["buckets"],
        relative_attention_max_distance=form["reach"], dropout_rate=0,
        feed_forward_proj=form["feed"], tie_word_embeddings=form["tied"],
        decoder_start_token_id=start, pad_token_id=pad, eos_token_id=end))
    if not form["tied"]:
        network.lm_head.weight = nn.Parameter(torch.randn(rows, form["width"]) * 0.2)
    network.generation_config = GenerationConfig(
        num_beams=4, length_penalty=form["penalty"], early_stopping=form["early"],
        pad_token_id=pad, eos_token_id=end, decoder_start_token_id=start,
        max_length=form["max_length"])
    with torch.no_grad():
        for p in network.parameters():
            p.add_(torch.randn_like(p) * 0.1)
    return network


class Tokens:
    """Lines as numbers, as the SentencePiece model has them."""

    def __init__(self, form, model):
        self.form, self.model = form, model
        self.end = special_ids(form)[1]

    def encode(self, line):
        return [*self.model.encode(line), self.end]

    def numbers(self, row):
        """Those of a row of peer.scored_pieces."""
        return [*(self.model.piece_to_id(x) for x, _ in row[:-1]), self.end]

    def decode(self, ids):
        special = special_ids(self.form)[:3]
        kept = [i for i in ids if i not in special and i < len(self.model)]
        return self.model.decode(kept).strip()


def generate(network, tokens, ids, beam):
    """The text that transformers makes of the numbers of a source, and its score where the
    search gives one."""
    with torch.no_grad():
        out = network.generate(input_ids=torch.tensor([ids]), num_beams=beam,
                               return_dict_in_generate=True, output_scores=True)
    score = out.sequences_scores[0].item() if beam > 1 else None
    return tokens.decode(out.sequences[0].tolist()), score


def train(network, tokens, lines, target):
    """Each line learns to become the next one."""
    train_pairs(network, STEPS, [(tokens.encode(tagged(a, target))[:40], tokens.encode(b)[:16])
                                 for a, b in zip(lines, [*lines[1:], lines[0]])])


def make(draw, folder, family, **fixed):
    """Writes a model to a folder; returns its form, its tokens and the network. fixed: keys
    of the form."""
    form = {**draw_form(draw, family), **fixed}
    folder.mkdir(parents=True)
    lines = page(draw)
    model, rows = make_pieces(draw, form, folder, lines)
    network = make_network(form, rows + form["padding"], draw.randrange(2**31))
    tokens = Tokens(form, model)
    train(network, tokens, draw.sample(lines, 16), TARGETS.get(family, [None])[0])
    network = network.to(getattr(torch, form["dtype"])).eval()
    network.save_pretrained(folder, max_shard_size="20KB" if form["sharded"] else "1GB")
    loaded = type(network).from_pretrained(folder, dtype=torch.float32)
    return form, tokens, loaded.eval()
