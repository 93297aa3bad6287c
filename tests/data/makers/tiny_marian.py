#!/usr/bin/env python3
"""tiny_marian.py - a small Marian model of 70 KB with what transformers generates from it.

    tests/data/makers/tiny_marian.py FOLDER

Writes the model in Hugging Face's layout, lines.txt, and greedy.txt and beam4.txt: a score
(0 for greedy), a tab and the text of each line. tests/data/marian was made so, with torch 1.13,
transformers 4.40.2 and sentencepiece 0.1.99. The text is this project's own.
"""
import json
import os
import random
import shutil
import sys

import sentencepiece
import torch
from transformers import MarianConfig, MarianMTModel, MarianTokenizer

ROOT = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "..")
TEXT = os.path.join(ROOT, "docs", "style.md")
MODEL = os.path.join(ROOT, "tests", "data", "pieces.model")
LINES = """\
A beam of four hypotheses keeps the best candidates.
The encoder reads all tokens; the decoder writes one piece at a time.
>>deu<< A prefix names the language.
>>xyz<< An unknown prefix is an unknown piece.
Größe, naïve, 漢字 and other letters it never saw.
numbers 3.14159 and 1e-9
  blanks   in front,  between and behind  
x
A longer line shows that the positions are those of Marian: half of each row holds sines, and \
the other half cosines, of the same angles.
ends with <unk
Attention weights sum to one.
Read docs/architecture.md first, then one operator in its five rooms.
"""


def vocabulary(models):
    """Pieces to numbers in an order of their own, as those of real models are."""
    pieces = set()
    for path in models:
        model = sentencepiece.SentencePieceProcessor(model_file=path)
        ids = range(model.get_piece_size())
        pieces |= {model.id_to_piece(i) for i in ids
                   if not model.is_control(i) and not model.is_unknown(i)}
    shuffled = sorted(pieces)
    random.Random(1).shuffle(shuffled)
    tokens = ["</s>", "<unk>", *shuffled, ">>deu<<", "<pad>"]
    return {token: i for i, token in enumerate(tokens)}


def random_model(pieces):
    """Random numbers of every kind of tensor; trained a little afterwards."""
    torch.manual_seed(5)
    pad = pieces - 1
    model = MarianMTModel(MarianConfig(
        vocab_size=pieces, d_model=16, encoder_layers=2, decoder_layers=1,
        encoder_attention_heads=2, decoder_attention_heads=2, encoder_ffn_dim=24,
        decoder_ffn_dim=24, activation_function="swish", scale_embedding=True,
        pad_token_id=pad, decoder_start_token_id=pad, eos_token_id=0, forced_eos_token_id=0,
        bad_words_ids=[[pad]], max_length=24, num_beams=4, max_position_embeddings=512)).eval()
    with torch.no_grad():
        for name, p in model.named_parameters():
            if "embed_positions" not in name:
                p.add_(torch.randn_like(p) * 0.1)
        model.final_logits_bias.copy_(torch.randn_like(model.final_logits_bias) * 0.5)
    return model


def train(model, folder):
    """Each line of a page learns to become the next one, so that outputs differ."""
    tokenizer = MarianTokenizer.from_pretrained(folder)
    with open(TEXT, encoding="utf-8") as file:
        lines = [line.strip() for line in file if len(line) > 40][:40] + LINES.splitlines()
    source = tokenizer(lines, return_tensors="pt", padding=True)
    target = tokenizer(text_target=[*lines[1:], lines[0]], return_tensors="pt", padding=True,
                       truncation=True, max_length=24).input_ids
    target[target == model.config.pad_token_id] = -100
    optimiser = torch.optim.Adam(model.parameters(), lr=1e-2)
    for _ in range(160):
        loss = model(**source, labels=target).loss
        optimiser.zero_grad()
        loss.backward()
        optimiser.step()
    print(f"loss {loss.item():.2f}")


def generate(model, folder, beam):
    tokenizer = MarianTokenizer.from_pretrained(folder)
    rows = []
    for line in LINES.splitlines():
        with torch.no_grad():
            out = model.generate(**tokenizer([line], return_tensors="pt"), num_beams=beam,
                                 return_dict_in_generate=True, output_scores=True)
        score = out.sequences_scores[0].item() if beam > 1 else 0
        text = tokenizer.decode(out.sequences[0], skip_special_tokens=True,
                                clean_up_tokenization_spaces=False)
        rows.append(f"{score:.6f}\t{text}\n")
    return "".join(rows)


def write(folder, name, text):
    with open(os.path.join(folder, name), "w", encoding="utf-8") as file:
        file.write(text)


def main():
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    folder = sys.argv[1]
    os.makedirs(folder, exist_ok=True)
    source, target = (os.path.join(folder, f"{side}.spm") for side in ("source", "target"))
    shutil.copy(MODEL, source)
    sentencepiece.SentencePieceTrainer.train(
        input=TEXT, model_prefix=os.path.join(folder, "target"), vocab_size=180,
        normalization_rule_name="identity", minloglevel=2)
    os.rename(os.path.join(folder, "target.model"), target)
    os.remove(os.path.join(folder, "target.vocab"))
    vocab = vocabulary([source, target])
    write(folder, "vocab.json", json.dumps(vocab, ensure_ascii=False, indent=0) + "\n")
    write(folder, "tokenizer_config.json",
          json.dumps({"source_lang": "en", "target_lang": "de"}) + "\n")
    model = random_model(len(vocab))
    train(model, folder)
    model.save_pretrained(folder, safe_serialization=True)
    write(folder, "lines.txt", LINES)
    write(folder, "greedy.txt", generate(model, folder, 1))
    write(folder, "beam4.txt", generate(model, folder, 4))


if __name__ == "__main__":
    main()
