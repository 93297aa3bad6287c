#!/usr/bin/env python3
"""lm.py - small random language models of transformers, with what it computes of them.

    tests/data/makers/lm.py FOLDER

Writes FOLDER/gpt2 (float32, bytes as pieces) and FOLDER/llama (bfloat16 in two files, heads
of keys that queries share, characters with bytes for those that have no piece), each in
Hugging Face's layout with its tokenizer, and beside them: texts.json, texts and the numbers
of their pieces; logits.safetensors, the logits behind each piece of the first text; and
greedy.json, the 100 pieces that greedy search writes behind each of the first four texts.
Of the Llama, scaled.json and scaled.safetensors have the same for rotary positions of
each of SCALINGS; tokenizer.model is a SentencePiece model of byte pairs with bytes for
characters that have no piece, as Llama 1 and 2 have it, and pieces.json what the library
makes of the texts.
tests/data/gpt2 and tests/data/llama were made so, with torch 2.15, transformers 5.24.0,
tokenizers 0.23.3 and sentencepiece 0.2.3. The text is this project's own.
"""
import json
import os
import sys

import sentencepiece
import torch
from safetensors.torch import save_file
from tokenizers import AddedToken, Tokenizer, decoders, models, pre_tokenizers, processors, trainers
from transformers import GPT2Config, GPT2LMHeadModel, LlamaConfig, LlamaForCausalLM

ROOT = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "..")
TEXT = os.path.join(ROOT, "docs", "style.md")
PROMPTS = ["The encoder reads", "A beam of four", "x", "Two  blanks and\na line"]
TEXTS = [*PROMPTS, "Größe, naïve, 漢字 \U0001f600!", "it's 3.14159 and we'll see",
         " a blank in front\n\n  indented\ttab ", "don't... \"quotes\" (and) more", "\n"]


def bytes_tokenizer():
    t = Tokenizer(models.BPE())
    t.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    t.decoder = decoders.ByteLevel()
    t.post_processor = processors.ByteLevel(trim_offsets=False)
    t.train([TEXT], trainers.BpeTrainer(
        vocab_size=330, initial_alphabet=pre_tokenizers.ByteLevel.alphabet(),
        show_progress=False))
    t.add_special_tokens([AddedToken("<|endoftext|>", special=True)])
    return t


def letters_tokenizer():
    """Learns on words with U+2581, then takes bytes for the rest, as Llama's does."""
    t = Tokenizer(models.BPE(unk_token="<unk>"))
    t.pre_tokenizer = pre_tokenizers.Metaspace(prepend_scheme="first", split=True)
    specials = ["<unk>", "<s>", "</s>", *[f"<0x{i:02X}>" for i in range(256)]]
    t.train([TEXT], trainers.BpeTrainer(
        vocab_size=len(specials) + 130, special_tokens=specials, limit_alphabet=60,
        show_progress=False))
    made = json.loads(t.to_str())
    made["added_tokens"] = [a for a in made["added_tokens"] if a["id"] < 3]
    made["model"].update(byte_fallback=True, fuse_unk=True)
    made["pre_tokenizer"]["split"] = False
    t = Tokenizer.from_str(json.dumps(made))
    t.decoder = decoders.Sequence([decoders.Replace("▁", " "), decoders.ByteFallback(),
                                   decoders.Fuse(), decoders.Strip(" ", 1, 0)])
    t.post_processor = processors.TemplateProcessing(
        single="<s> $A", pair="<s> $A <s> $B", special_tokens=[("<s>", 1)])
    return t


def write(folder, model, tokenizer, shard):
    os.makedirs(folder, exist_ok=True)
    model.save_pretrained(folder, max_shard_size=shard)
    tokenizer.save(os.path.join(folder, "tokenizer.json"))
    os.remove(os.path.join(folder, "generation_config.json"))
    model = type(model).from_pretrained(folder, dtype=torch.float32).eval()
    ids = [tokenizer.encode(text).ids for text in TEXTS]
    with open(os.path.join(folder, "texts.json"), "w", encoding="utf-8") as f:
        json.dump([{"text": t, "ids": i} for t, i in zip(TEXTS, ids)], f, indent=1)
        f.write("\n")
    with torch.no_grad():
        save_file({"logits": model(torch.tensor([ids[0]])).logits[0].contiguous()},
                  os.path.join(folder, "logits.safetensors"))
    said = []
    for start in ids[:len(PROMPTS)]:
        out = model.generate(torch.tensor([start]), max_new_tokens=100, do_sample=False,
                             pad_token_id=0)[0].tolist()
        said.append(out[len(start):])
    with open(os.path.join(folder, "greedy.json"), "w", encoding="utf-8") as f:
        json.dump(said, f)
        f.write("\n")


SCALINGS = {
    "linear": {"rope_type": "linear", "factor": 4.0},
    "llama3": {"rope_type": "llama3", "factor": 4.0, "low_freq_factor": 0.5,
               "high_freq_factor": 2.0, "original_max_position_embeddings": 40},
    "yarn": {"rope_type": "yarn", "factor": 4.0, "original_max_position_embeddings": 40,
             "beta_fast": 4.0},
}


def write_scaled(folder):
    """What the model of a folder computes with each scaling."""
    with open(os.path.join(folder, "texts.json"), encoding="utf-8") as f:
        ids = torch.tensor([json.load(f)[0]["ids"]])
    logits, made = {}, {}
    for kind, rope in SCALINGS.items():
        rope = {**rope, "rope_theta": 500.0}
        config = LlamaConfig.from_pretrained(folder)
        config.rope_parameters = dict(rope)
        model = LlamaForCausalLM.from_pretrained(folder, config=config, dtype=torch.float32).eval()
        model.generation_config.eos_token_id = None  # 100 pieces, whatever they are
        with torch.no_grad():
            logits[kind] = model(ids).logits[0].contiguous()
        out = model.generate(ids, max_new_tokens=100, do_sample=False, pad_token_id=0)[0]
        made[kind] = {"rope": rope, "greedy": out.tolist()[ids.shape[1]:]}
    save_file(logits, os.path.join(folder, "scaled.safetensors"))
    with open(os.path.join(folder, "scaled.json"), "w", encoding="utf-8") as f:
        json.dump(made, f)
        f.write("\n")


def write_pieces(folder):
    """A model of SentencePiece with as many pieces as the table of the Llama has."""
    path = os.path.join(folder, "tokenizer.model")
    sentencepiece.SentencePieceTrainer.train(
        input=TEXT, model_prefix=path[:-len(".model")], vocab_size=389, model_type="bpe",
        byte_fallback=True, normalization_rule_name="identity",
        remove_extra_whitespaces=False, split_digits=True, allow_whitespace_only_pieces=True,
        character_coverage=0.995, minloglevel=2)
    os.remove(os.path.join(folder, "tokenizer.vocab"))
    model = sentencepiece.SentencePieceProcessor(model_file=path)
    with open(os.path.join(folder, "pieces.json"), "w", encoding="utf-8") as f:
        json.dump([{"text": t, "ids": [1, *model.encode(t)]} for t in TEXTS], f, indent=1)
        f.write("\n")


def main(folder):
    torch.manual_seed(8)
    t = bytes_tokenizer()
    end = t.token_to_id("<|endoftext|>")
    write(os.path.join(folder, "gpt2"), GPT2LMHeadModel(GPT2Config(
        vocab_size=t.get_vocab_size(), n_embd=36, n_layer=2, n_head=3, n_inner=50,
        n_positions=160, initializer_range=0.3, bos_token_id=end, eos_token_id=end)), t, "1GB")
    t = letters_tokenizer()
    write(os.path.join(folder, "llama"), LlamaForCausalLM(LlamaConfig(
        vocab_size=t.get_vocab_size() + 3, hidden_size=48, num_hidden_layers=2,
        num_attention_heads=6, num_key_value_heads=2, intermediate_size=40,
        max_position_embeddings=160, rms_norm_eps=1e-5, initializer_range=0.3,
        rope_parameters={"rope_type": "default", "rope_theta": 500.0},
        bos_token_id=1, eos_token_id=2)).to(torch.bfloat16), t, "60KB")
    write_scaled(os.path.join(folder, "llama"))
    write_pieces(os.path.join(folder, "llama"))


if __name__ == "__main__":
    main(sys.argv[1])
