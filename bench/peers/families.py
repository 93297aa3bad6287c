#!/usr/bin/env python3
"""families.py - decoding of large families with clattn and CTranslate2, in turn

    families.py CLATTN FOLDER [ROUNDS [BEAM]]

Makes random models of the sizes of NLLB-200 600M and T5 1.1 base in FOLDER (6 GB; kept), and
lets both programs translate the same lines one at a time, in float32 and in int8. Prints the
median time of a piece, the peak memory of the process, and the ratios of each pair. Needs torch,
transformers, sentencepiece, protobuf and ctranslate2 from PyPI. A random model hardly ever ends a
translation: each has PIECES pieces.
"""
import json
import os
import random
import statistics
import subprocess
import sys
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tests/peers"))

PIECES, LINES, WARM = 32, 8, 1
PAIR = ("eng_Latn", "deu_Latn")
TYPES = ("float32", "int8")


def status_kb(pid, key):
    for row in Path(f"/proc/{pid}/status").read_text().split("\n"):
        if row.startswith(key):
            return int(row.split()[1])
    return 0


# ---- models ---------------------------------------------------------------------------------


def make_nllb(folder):
    import torch
    import m2m_models
    from transformers import M2M100Config, M2M100ForConditionalGeneration
    lines = m2m_models.page(random.Random(1))
    m2m_models.make_pieces(random.Random(1), {"family": "nllb"}, folder, lines)
    torch.manual_seed(1)
    M2M100ForConditionalGeneration(M2M100Config(
        vocab_size=256206, d_model=1024, encoder_layers=12, decoder_layers=12,
        encoder_attention_heads=16, decoder_attention_heads=16, encoder_ffn_dim=4096,
        decoder_ffn_dim=4096, max_length=PIECES + 1)).save_pretrained(folder)


def make_t5(folder):
    import torch
    import t5_models
    from transformers import T5Config, T5ForConditionalGeneration
    form = {"family": "flan", "sentinels": 0, "normal": "identity"}
    t5_models.make_pieces(random.Random(1), form, folder, t5_models.page(random.Random(1)))
    torch.manual_seed(1)
    T5ForConditionalGeneration(T5Config(
        vocab_size=32128, d_model=768, d_kv=64, d_ff=2048, num_layers=12, num_heads=12,
        feed_forward_proj="gated-gelu", tie_word_embeddings=False,
        decoder_start_token_id=0)).save_pretrained(folder)


def prepare(program, folder, name, maker):
    """The folders of a model: clattn's in both types of weights, and CTranslate2's."""
    given, ours, small, theirs = (folder / f"{name}-{x}" for x in ("hf", "float32", "int8", "ct2"))
    if not (small / "config.json").exists():
        given.mkdir(parents=True, exist_ok=True)
        maker(given)
        (given / "generation_config.json").write_text(json.dumps({
            "max_length": PIECES + 1, "eos_token_id": 1 if name == "t5" else 2,
            "decoder_start_token_id": 0 if name == "t5" else 2,
            "pad_token_id": 0 if name == "t5" else 1}))
        subprocess.run([program, "import", given, "--out", ours], check=True)
        subprocess.run([program, "export", "--model", ours, "--weights", "int8", "--out", small],
                       check=True)
    if not (theirs / "model.bin").exists():
        if name == "nllb":
            subprocess.run([program, "export", "--format", "ctranslate2", "--model", ours, "--out",
                            theirs], check=True)
        else:
            from ctranslate2.converters import TransformersConverter
            TransformersConverter(str(given)).convert(str(theirs), force=True)


# ---- runs -----------------------------------------------------------------------------------


def spend(command, text):
    """Runs a command; returns its seconds and the most memory in KB."""
    start = time.monotonic()
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.DEVNULL,
                          stderr=subprocess.DEVNULL) as run:
        run.stdin.write(text.encode())
        run.stdin.close()
        _, status, used = os.wait4(run.pid, 0)
        run.returncode = os.waitstatus_to_exitcode(status)
    if run.returncode:
        sys.exit(f"{command} failed")
    return time.monotonic() - start, used.ru_maxrss


def time_clattn(program, folder, name, kind, beam, lines):
    """Time of a piece: all lines less the first one alone, which has the start."""
    named = ["--source", PAIR[0], "--target", PAIR[1]] if name == "nllb" else []
    command = [program, "translate", "--no-split", "--model", folder / f"{name}-{kind}", *named,
               "--beam", str(beam), "--batch-lines", "1"]
    first, _ = spend(command, f"{lines[0]}\n")
    all_, peak = spend(command, "".join(f"{x}\n" for x in lines))
    return (all_ - first) / (len(lines) - WARM) / PIECES, peak


def serve_ctranslate2(folder, name, kind, beam):
    """The other program: lines come in, the seconds of each go out."""
    import ctranslate2
    import sentencepiece
    model = next((folder / f"{name}-hf").glob("s*piece*.model"))
    pieces = sentencepiece.SentencePieceProcessor(model_file=str(model))
    translator = ctranslate2.Translator(str(folder / f"{name}-ct2"), compute_type=kind,
                                        intra_threads=os.cpu_count())
    for line in sys.stdin:
        cut = [*pieces.encode(line.strip(), out_type=str), "</s>"]
        prefix = None
        if name == "nllb":
            cut, prefix = [PAIR[0], *cut], [[PAIR[1]]]
        start = time.monotonic()
        translator.translate_batch([cut], target_prefix=prefix, beam_size=beam,
                                   max_decoding_length=PIECES, min_decoding_length=PIECES)
        print(time.monotonic() - start, status_kb("self", "VmHWM"), flush=True)


def time_ctranslate2(folder, name, kind, beam, lines):
    said = subprocess.run(
        [sys.executable, __file__, "--serve", folder, name, kind, str(beam)], text=True, check=True,
        input="".join(f"{x}\n" for x in lines), capture_output=True).stdout
    rows = [row.split() for row in said.strip().split("\n")]
    return statistics.median(float(x[0]) for x in rows[WARM:]) / PIECES, int(rows[-1][1])


def main():
    if sys.argv[1] == "--serve":
        return serve_ctranslate2(Path(sys.argv[2]), sys.argv[3], sys.argv[4], int(sys.argv[5]))
    program, folder = str(Path(sys.argv[1]).resolve()), Path(sys.argv[2])
    rounds, beam = (int(x) for x in (*sys.argv[3:5], *("3", "1")[len(sys.argv[3:5]):]))
    lines = ["The first line is there for the warm-up of both programs."] + [
        f"Line {i} of a text says what the others say." for i in range(LINES)]
    print(f"beam {beam}, load {os.getloadavg()[0]:.1f}; ms a piece and MB, clattn / CTranslate2")
    for name, maker in (("t5", make_t5), ("nllb", make_nllb)):
        prepare(program, folder, name, maker)
        for kind in TYPES:
            for _ in range(rounds):
                ours, ours_kb = time_clattn(program, folder, name, kind, beam, lines)
                theirs, theirs_kb = time_ctranslate2(folder, name, kind, beam, lines)
                print(f"{name} {kind}: {ours * 1e3:.1f} / {theirs * 1e3:.1f} ms, speed "
                      f"{theirs / ours:.2f}x; {ours_kb / 1024:.0f} / {theirs_kb / 1024:.0f} MB, "
                      f"{ours_kb / theirs_kb:.2f}x; load {os.getloadavg()[0]:.1f}", flush=True)
    return None


if __name__ == "__main__":
    main()
