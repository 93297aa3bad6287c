"""import_variants.py - folders that transformers loads, made of the one in tests/data/marian
usage: tests/cli/import_variants.py GIVEN OUT VARIANT

A variant is a function below. Python's own library is enough."""
import json
import os
import shutil
import struct
import sys

given, out, variant = sys.argv[1:]
shutil.copytree(given, out)
os.chdir(out)
ROWS, WIDTH = 449, 16


def read_json(name):
    with open(name, encoding="utf-8") as file:
        return json.load(file)


def write_json(name, value):
    with open(name, "w", encoding="utf-8") as file:
        json.dump(value, file, ensure_ascii=False)


def change(name, **values):
    """Sets keys of a file; None removes one."""
    both = {**read_json(name), **values}
    write_json(name, {key: value for key, value in both.items() if value is not None})


def read_tensors():
    with open("model.safetensors", "rb") as file:
        data = file.read()
    size = struct.unpack("<Q", data[:8])[0]
    header = json.loads(data[8:8 + size])
    return {name: (t["dtype"], t["shape"], data[8 + size:][slice(*t["data_offsets"])])
            for name, t in header.items() if name != "__metadata__"}


def write_tensors(tensors, path="model.safetensors"):
    header, at = {}, 0
    for name, (dtype, shape, data) in tensors.items():
        header[name] = {"dtype": dtype, "shape": shape, "data_offsets": [at, at + len(data)]}
        at += len(data)
    text = json.dumps(header).encode()
    text += b" " * (-len(text) % 8)
    with open(path, "wb") as file:
        file.write(struct.pack("<Q", len(text)) + text)
        for _, _, data in tensors.values():
            file.write(data)


def floats(data):
    return list(struct.unpack(f"<{len(data) // 4}f", data))


def packed(numbers):
    return struct.pack(f"<{len(numbers)}f", *numbers)


def add_rows(table, bias):
    """Appends rows to the table and to the bias of the output."""
    tensors = read_tensors()
    shared, final = tensors["model.shared.weight"][2], tensors["final_logits_bias"][2]
    rows = ROWS + len(bias)
    tensors["model.shared.weight"] = ("F32", [rows, WIDTH], shared + packed(table(floats(shared))))
    tensors["final_logits_bias"] = ("F32", [1, rows], final + packed(bias))
    write_tensors(tensors)
    change("config.json", vocab_size=rows, decoder_vocab_size=rows)


def shards():
    tensors = read_tensors()
    names, files = sorted(tensors), {}
    for i in range(3):
        part = {name: tensors[name] for name in names[i::3]}
        file = f"model-{i + 1:05}-of-00003.safetensors"
        write_tensors(part, file)
        files.update(dict.fromkeys(part, file))
    os.remove("model.safetensors")
    write_json("model.safetensors.index.json", {"metadata": {}, "weight_map": files})


def misplaced():
    """An index that names the wrong file for a tensor."""
    shards()
    index = read_json("model.safetensors.index.json")
    index["weight_map"]["final_logits_bias"] = "model-00003-of-00003.safetensors"
    index["weight_map"]["model.encoder.layers.0.fc1.bias"] = "model-00001-of-00003.safetensors"
    write_json("model.safetensors.index.json", index)


def unlisted():
    """An index that leaves a tensor out."""
    shards()
    index = read_json("model.safetensors.index.json")
    del index["weight_map"]["final_logits_bias"]
    write_json("model.safetensors.index.json", index)


def outside():
    """An index with a file of another folder."""
    shards()
    index = read_json("model.safetensors.index.json")
    index["weight_map"]["final_logits_bias"] = "../model.safetensors"
    write_json("model.safetensors.index.json", index)


def untied():
    """As release 5 of transformers writes a model without tied words: three tables and the
    shared one, which it does not use."""
    tensors = read_tensors()
    kind, shape, table = tensors["model.shared.weight"]
    for name in ("model.encoder.embed_tokens", "model.decoder.embed_tokens", "lm_head"):
        tensors[f"{name}.weight"] = (kind, shape, table)
    tensors["model.shared.weight"] = (kind, shape, packed([2 * x for x in floats(table)]))
    write_tensors(tensors)
    change("config.json", tie_word_embeddings=False)


def lists_of_one_id():
    for name in ("config.json", "generation_config.json"):
        change(name, eos_token_id=[0], forced_eos_token_id=[0])


def two_ends():
    change("generation_config.json", eos_token_id=[0, 5])


def no_end():
    """With no end in this file, transformers goes on to the greatest length."""
    change("generation_config.json", eos_token_id=None)


def stop_strings():
    change("generation_config.json", stop_strings=["a"])


def empty_lists():
    change("generation_config.json", suppress_tokens=[], begin_suppress_tokens=[])


def logits_bias_flag():
    change("config.json", add_bias_logits=True)


def padded():
    """Rows without a token that no search chooses."""
    add_rows(lambda shared: [0.0] * (7 * WIDTH), [-1e4] * 7)


def odd_tokens():
    """Tokens of blanks, line ends and characters without a picture; two rows have none."""
    odd = ["\x85  ", "\u2028", "\x01", " ", "\n", "a b", "\r\n", "", "\\", "\ufeff", "\\n"]
    add_rows(lambda shared: [0.0] * ((len(odd) + 2) * WIDTH), [-1e4] * (len(odd) + 2))
    vocabulary = read_json("vocab.json")
    vocabulary.update({token: ROWS + 1 + i for i, token in enumerate(odd)})
    write_json("vocab.json", vocabulary)


def rounded(kind):
    """Weights of bfloat16, in this type or as the same numbers in float32. The bias, which
    transformers keeps in float32, is as it was."""
    tensors = read_tensors()
    for name, (_, shape, data) in tensors.items():
        halves = [data[i + 2:i + 4] for i in range(0, len(data), 4)]
        if kind == "BF16":
            tensors[name] = ("BF16", shape, b"".join(halves))
        else:
            tensors[name] = ("F32", shape, b"".join(b"\0\0" + half for half in halves))
    write_tensors(tensors)


def bfloat16():
    rounded("BF16")


def bfloat16_as_float32():
    rounded("F32")


def bias(zeros):
    tensors = read_tensors()
    dtype, shape, data = tensors.pop("final_logits_bias")
    if zeros:
        tensors["final_logits_bias"] = (dtype, shape, b"\0" * len(data))
    write_tensors(tensors)


def no_bias():
    bias(False)


def zero_bias():
    bias(True)


def no_languages():
    vocabulary = read_json("vocab.json")
    write_json("vocab.json", {token.strip("<>") if token.startswith(">>") else token: i
                              for token, i in vocabulary.items()})


def no_length():
    for name in ("config.json", "generation_config.json"):
        change(name, max_length=None)


def beam_of_six():
    for name in ("config.json", "generation_config.json"):
        change(name, num_beams=6, max_length=60)


def added_tokens():
    """What add_tokens, add_special_tokens and resize_token_embeddings leave; the rows are
    1.1 times those of the pieces 5 to 7."""
    factor = struct.unpack("<f", struct.pack("<f", 1.1))[0]
    add_rows(lambda shared: [x * factor for x in shared[5 * WIDTH:8 * WIDTH]], [1.5] * 3)
    write_json("added_tokens.json", {"<2de>": 449, "<s1>": 451, "[x y]": 450})
    described = {"0": "</s>", "1": "<unk>", "448": "<pad>", "449": "<2de>", "450": "[x y]",
                 "451": "<s1>"}
    change("tokenizer_config.json", extra_special_tokens=["<s1>"], added_tokens_decoder={
        number: {"content": token, "lstrip": False, "rstrip": False, "single_word": False,
                 "special": number not in ("449", "450")}
        for number, token in described.items()})


def one_id_of_two():
    """An added token in a row that has another token."""
    added_tokens()
    write_json("added_tokens.json", {"<2de>": 7})


def added_beyond():
    """An added token without a row is text."""
    write_json("added_tokens.json", {"<2de>": 1000})


globals()[variant]()
