"""marian_models.py - small random Marian models of many forms, made with transformers"""
import json
import os
from pathlib import Path

import sentencepiece
import torch
from safetensors.torch import load_file, save_file
from transformers import GenerationConfig, MarianConfig, MarianMTModel, MarianTokenizer

ROOT = Path(__file__).resolve().parent.parent.parent
TEXTS = ("docs/style.md", "docs/import.md", "docs/kernels.md", "docs/speed.md")
LANGUAGES = [">>deu<<", ">>fra<<"]
SPECIAL = "<s>", "</s>", "<unk>", "<pad>", "<<"
STEPS = 40  # of training, so that translations differ and end


def draw_form(draw):
    """What a model is like. Every key is a form that transformers writes or loads."""
    separate = draw.random() < 0.3
    heads = draw.choice([2, 4])
    return {
        "separate": separate,
        "tied": draw.random() < 0.7,
        "pad_last": not separate and draw.random() < 0.7,
        "bias": draw.choice(["random", "zeros", "missing"]),
        "padding": draw.choice([0, 0, 3, 11]),
        "added": not separate and draw.random() < 0.3,
        "dtype": draw.choice(["float32", "float32", "bfloat16", "float16"]),
        "sharded": draw.random() < 0.3,
        "languages": not separate and draw.random() < 0.5,
        "lists": draw.random() < 0.4,
        "heads": heads,
        "width": heads * draw.choice([6, 8, 10]),
        "inner": draw.choice([12, 24, 40]),
        "layers": (draw.randint(1, 3), draw.randint(1, 3)),
        "activation": draw.choice(["relu", "gelu", "swish", "silu"]),
        "scaled": draw.random() < 0.5,
        "max_length": draw.choice([None, 12, 24, 40]),
        "forced": draw.random() < 0.5,
        "forbidden": draw.random() < 0.8,
        "early": draw.choice([False, True, "never"]),
        "penalty": draw.choice([1.0, 0.0, 0.6, 1.7]),
        "renormalize": draw.random() < 0.4,
    }


def page(draw):
    """Lines of one of the project's pages. Special pieces written out are text for clattn
    alone, and release 4 takes a language to the last "<<" of a line (docs/import.md)."""
    text = (ROOT / draw.choice(TEXTS)).read_text(encoding="utf-8")
    return [line.strip() for line in text.split("\n")
            if len(line) > 30 and not any(piece in line for piece in SPECIAL)]


def spoken(draw, lines, path):
    """Trains a model of SentencePiece on lines; returns its pieces."""
    path.with_suffix(".txt").write_text("\n".join(lines), encoding="utf-8")
    sentencepiece.SentencePieceTrainer.train(
        input=str(path.with_suffix(".txt")), model_prefix=str(path.with_suffix("")),
        vocab_size=draw.randint(120, 170), hard_vocab_limit=False, minloglevel=2,
        model_type=draw.choice(["unigram", "bpe"]),
        normalization_rule_name=draw.choice(["identity", "nmt_nfkc"]))
    os.replace(path.with_suffix(".model"), path)
    for left in (".vocab", ".txt"):
        path.with_suffix(left).unlink()
    model = sentencepiece.SentencePieceProcessor(model_file=str(path))
    pieces = (i for i in range(len(model)) if not model.is_control(i) and not model.is_unknown(i))
    return {model.id_to_piece(i) for i in pieces}


def numbered(draw, pieces, languages, pad_last):
    mixed = sorted(pieces)
    draw.shuffle(mixed)
    first, last = ["</s>", "<unk>"], ["<pad>"]
    tokens = [*first, *mixed, *languages, *last] if pad_last else [*first, *last, *mixed, *languages]
    return {token: i for i, token in enumerate(tokens)}


def write_json(path, value):
    path.write_text(json.dumps(value, ensure_ascii=False, indent=1), encoding="utf-8")


def make_tokenizer(draw, form, folder, lines):
    source = spoken(draw, lines, folder / "source.spm")
    target = spoken(draw, draw.sample(lines, len(lines) * 2 // 3), folder / "target.spm")
    languages = LANGUAGES if form["languages"] else []
    own = source if form["separate"] else source | target
    write_json(folder / "vocab.json", numbered(draw, own, languages, form["pad_last"]))
    if form["separate"]:
        write_json(folder / "target_vocab.json", numbered(draw, target, [], False))
    write_json(folder / "tokenizer_config.json",
               {"source_lang": "en", "target_lang": "de", "separate_vocabs": form["separate"]})
    tokenizer = MarianTokenizer.from_pretrained(folder)
    if form["added"]:
        tokenizer.add_tokens(["<2de>", "[x y]"])
        tokenizer.add_special_tokens({"additional_special_tokens": ["<s1>"]})
        tokenizer.save_pretrained(folder)
    return tokenizer


def rows_of(folder, tokenizer, form):
    """Sizes of the tables of both languages."""
    count = [len(json.loads((folder / name).read_text())) for name in
             ("vocab.json", "target_vocab.json") if (folder / name).exists()]
    if form["added"]:
        count = [len(tokenizer)]
    return count[0] + form["padding"], count[-1] + form["padding"]


def make_network(form, folder, tokenizer, seed):
    torch.manual_seed(seed)
    rows, target_rows = rows_of(folder, tokenizer, form)
    pad = tokenizer.pad_token_id
    network = MarianMTModel(MarianConfig(
        vocab_size=rows, decoder_vocab_size=target_rows, d_model=form["width"],
        encoder_layers=form["layers"][0], decoder_layers=form["layers"][1],
        encoder_attention_heads=form["heads"], decoder_attention_heads=form["heads"],
        encoder_ffn_dim=form["inner"], decoder_ffn_dim=form["inner"], init_std=0.1,
        activation_function=form["activation"], scale_embedding=form["scaled"],
        share_encoder_decoder_embeddings=not form["separate"],
        tie_word_embeddings=form["tied"], max_position_embeddings=256, pad_token_id=pad,
        decoder_start_token_id=pad, eos_token_id=0, forced_eos_token_id=0))
    network.generation_config = generation(form, pad)
    with torch.no_grad():
        for name, p in network.named_parameters():
            if "embed_positions" not in name:
                p.add_(torch.randn_like(p) * 0.1)
        if form["bias"] == "random":
            network.final_logits_bias.copy_(torch.randn_like(network.final_logits_bias) * 0.5)
    return network


def generation(form, pad):
    asked = {"max_length": form["max_length"], "early_stopping": form["early"],
             "forced_eos_token_id": 0 if form["forced"] else None,
             "bad_words_ids": [[pad]] if form["forbidden"] else None}
    ends = {name: [0] for name in ("eos_token_id", "forced_eos_token_id")
            if form["lists"] and asked.get(name, 0) is not None}
    asked = {**asked, "eos_token_id": 0, **ends}
    return GenerationConfig(
        num_beams=4, length_penalty=form["penalty"], renormalize_logits=form["renormalize"],
        pad_token_id=pad, decoder_start_token_id=pad,
        **{name: value for name, value in asked.items() if value is not None})


def train_pairs(network, steps, pairs):
    """Trains on a quarter of the pairs of pieces a step."""
    optimiser = torch.optim.Adam(network.parameters(), lr=3e-3)
    for step in range(steps):
        optimiser.zero_grad()
        for a, b in pairs[step % 4::4]:
            network(input_ids=torch.tensor([a]), labels=torch.tensor([b])).loss.backward()
        optimiser.step()


def train(network, tokenizer, lines):
    """Each line learns to become the next one."""
    source = tokenizer(lines, return_tensors="pt", padding=True, truncation=True, max_length=40)
    target = tokenizer(text_target=[*lines[1:], lines[0]], return_tensors="pt", padding=True,
                       truncation=True, max_length=16).input_ids
    target[target == tokenizer.pad_token_id] = -100
    optimiser = torch.optim.Adam(network.parameters(), lr=1e-2)
    for _ in range(STEPS):
        optimiser.zero_grad()
        network(**source, labels=target).loss.backward()
        optimiser.step()


def save(form, network, folder):
    network = network.to(getattr(torch, form["dtype"])).eval()
    size = "20KB" if form["sharded"] else "1GB"
    network.save_pretrained(folder, max_shard_size=size)
    if form["bias"] == "missing":
        leave_out(folder, "final_logits_bias")


def leave_out(folder, name):
    for path in folder.glob("*.safetensors"):
        tensors = load_file(path)
        if tensors.pop(name, None) is not None:
            save_file(tensors, path, metadata={"format": "pt"})
    index = folder / "model.safetensors.index.json"
    if index.exists():
        listed = json.loads(index.read_text())
        del listed["weight_map"][name]
        write_json(index, listed)


def make(draw, folder, **fixed):
    """Writes a model to a folder; returns its form. fixed: keys of the form."""
    form = {**draw_form(draw), **fixed}
    folder.mkdir(parents=True)
    lines = page(draw)
    tokenizer = make_tokenizer(draw, form, folder, lines)
    network = make_network(form, folder, tokenizer, draw.randrange(2**31))
    train(network, tokenizer, draw.sample(lines, 24))
    save(form, network, folder)
    return form


def sources(draw, form, count):
    """Lines to translate: of a page, random, and with what vocabularies lack."""
    lines, words = page(draw), "漢字 naïve >>xyz<< <unk 3.14 x ﬁ ½ \u00a0 <2de> [x y] <s1> a<s1>b".split()
    for number in range(count):
        line = draw.choice(lines)
        if number % 3 == 1:
            cut = line.split(" ")
            cut.insert(draw.randint(0, len(cut)), draw.choice(words))
            line = " ".join(cut)
        if number % 3 == 2:
            letters = draw.choices(line, k=draw.randint(1, 30))
            line = "".join(letters).strip() or "x"
        if form["languages"] and "<<" not in line and draw.random() < 0.5:
            line = f"{draw.choice(LANGUAGES)} {line}"
        yield line
