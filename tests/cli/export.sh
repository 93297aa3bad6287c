#!/bin/bash
# export.sh - translators in the formats of transformers and CTranslate2: the bytes that are
# written, the way back through import, and the models that the formats cannot express
# usage: tests/cli/export.sh SOURCE_ROOT CLATTN
# shellcheck source=tests/cli/lib.sh
. "${BASH_SOURCE%/*}/lib.sh"
source=$1 clattn=$2
given=$source/tests/data/marian
export CLATTN_LOG=error

export_as() { "$clattn" export --format "$1" --model "$2" --out "$3" "${@:4}" 2>"$work/err"; }
import() { "$clattn" import "$1" --out "$2" 2>"$work/err"; }
texts() { "$clattn" translate --model "$1" "${@:3}" <"$2"; }

# ---- translators of byte pairs: no tokenizer of transformers has them ----------------

toy_text "$work/data"
tiny=(--set "data=$work/data" --set dev=dev --set dim=16 --set heads=2 --set inner=24
    --set layers=1 --set merges=60 --set tokens=64 --set steps=30 --set eval_every=30
    --set preset=vaswani)
train() {
    "$clattn" train "$source/examples/configs/nmt-plain.json" "${tiny[@]}" "$@" >"$work/said" 2>&1
}
check 'trains' train --out "$work/bpe"
files() { (cd "$1" && echo *); }
check 'exports byte pairs for transformers' export_as huggingface "$work/bpe" "$work/bpe.hf"
check 'with these files' test "$(files "$work/bpe.hf")" = \
    'codes.txt config.json generation_config.json model.safetensors vocab.json'
check 'and says how the pieces are made' exits 0 'no tokenizer for byte pairs' 2 env CLATTN_LOG=warn \
    "$clattn" export --format huggingface --model "$work/bpe" --out "$work/bpe.again" --half
check 'with <pad> last' grep -q "\"<pad>\": $(wc -l <"$work/bpe/source.txt")\$" \
    "$work/bpe.hf/vocab.json"
check 'behind a piece for its trained row' grep -q '"<unused0>"' "$work/bpe.hf/vocab.json"
check 'exports byte pairs for CTranslate2' export_as ctranslate2 "$work/bpe" "$work/bpe.ct"
check 'with these files' test "$(files "$work/bpe.ct")" = \
    'codes.txt config.json model.bin shared_vocabulary.json'
check 'and the epsilon of its norms' grep -q '"layer_norm_epsilon": 1e-6' "$work/bpe.ct/config.json"
check 'refuses a format that it does not know' says 2 "--format is 'onnx'" \
    "$clattn" export --format onnx --model "$work/bpe" --out "$work/no"
check 'refuses a folder that holds a model' says 2 'holds a run' \
    "$clattn" export --format ctranslate2 --model "$work/bpe" --out "$work/bpe.hf"

# A config that asks for a format is refused before a step, and the shipped one for
# transformers can be exported.
check 'refuses to train what a format cannot express' says 3 \
    "format is 'huggingface', and pre_norm is true: MarianMT has no such models" "$clattn" train \
    "$source/examples/configs/nmt-plain.json" --set "data=$work/data" --set dev=dev \
    --set format=huggingface --out "$work/no"
check 'and leaves nothing' test ! -e "$work/no"
check 'trains nmt-marian.json' "$clattn" train "$source/examples/configs/nmt-marian.json" \
    "${tiny[@]}" --set test=test --set max_length=20 --quiet --out "$work/marian"
check 'exports it' export_as huggingface "$work/marian" "$work/marian.hf"
check 'without a warning' test ! -s "$work/err"
compare_marian() {
    "$clattn" export --format ctranslate2 --model "$work/marian" --out "$work/marian.ct" &&
        python3 "$source/tests/peers/translators.py" "$clattn" "$work/marian" "$work/data/test.en"
}
if python3 -c 'import torch, transformers' 2>/dev/null; then
    check 'transformers translates as clattn does' compare_marian
else
    echo 'not run: transformers (it or PyTorch is not installed)'
fi

# refused FORMAT LABEL PART SETTING...: a model with these settings is not expressed
refused() {
    local format=$1 label=$2 part=$3 settings=()
    shift 3
    rm -rf "$work/odd"
    for setting; do settings+=(--set "$setting"); done
    check "trains $label" train "${settings[@]}" --set steps=2 --out "$work/odd"
    check "refuses $label for $format" says_alone 3 "$part" \
        "$clattn" export --format "$format" --model "$work/odd" --out "$work/no"
    check 'and leaves nothing' test ! -e "$work/no"
}
refused huggingface 'norms in front' 'pre_norm is true: MarianMT has no such models' pre_norm=true
check 'takes them for CTranslate2' export_as ctranslate2 "$work/odd" "$work/pre.ct"
check 'with the norms at the end' grep -qa 'decoder/layer_norm/gamma' "$work/pre.ct/model.bin"
refused ctranslate2 'a window' "attention is \"csan1d\": CTranslate2 has no such models" \
    attention=csan1d
refused huggingface 'vectors of distances' "attention is \"rel_pos\": MarianMT" attention=rel_pos
refused ctranslate2 'learned positions' "position is \"learned\": CTranslate2" position=learned \
    max_positions=300
refused ctranslate2 'norms of embeddings' 'embedding_norm is true' embedding_norm=true
refused huggingface 'convolutions' 'convolutions is 1' convolutions=1
refused huggingface 'a source vector' 'source_vector is true' source_vector=true
refused huggingface 'large epsilons' 'norm_epsilon is 0.01' norm_epsilon=1e-2
check 'refuses learned positions without a number' says 3 'max_positions is 0' "$clattn" train \
    "$source/examples/configs/nmt-plain.json" "${tiny[@]}" --set position=learned --out "$work/no"
unsealed "$work/odd"
sed -i 's/"model": "translator"/"model": "tagger"/' "$work/odd/config.json"
check 'refuses what is no translator' says 3 'only translators' \
    "$clattn" export --format huggingface --model "$work/odd" --out "$work/no"

# ---- Marian's models: there and back --------------------------------------------------

if ! import "$given" "$work/m"; then
    check 'says that SentencePiece is not built in' grep -q 'built without' "$work/err"
    passed
    exit
fi
check 'exports what was imported' export_as huggingface "$work/m" "$work/hf"
check 'without a lock' test ! -e "$work/hf/lock"
check 'imports it again' import "$work/hf" "$work/back"
check 'and has the same bits in all files' diff -r "$work/m" "$work/back"
check 'exports halves' export_as huggingface "$work/m" "$work/half" --half
check 'of half the size' test $((10 * $(stat -c %s "$work/half/model.safetensors"))) -lt \
    $((6 * $(stat -c %s "$work/hf/model.safetensors")))
check 'imports halves' import "$work/half" "$work/half.back"
check 'which are those of ours' "$clattn" export --model "$work/m" --half --out "$work/ours"
halves() {
    "$clattn" export --model "$work/half.back" --half --out "$work/half.again" &&
        texts "$work/half.again" "$given/lines.txt" >"$work/halves" && [ -s "$work/halves" ] &&
        texts "$work/ours" "$given/lines.txt" | diff "$work/halves" -
}
check 'and translate as ours' halves

# M2M-100, NLLB, mBART and T5: rows in the order of their tokenizers.
for family in m2m100 nllb mbart t5 madlad; do
    case $family in
        mbart) type=mbart ;;
        t5 | madlad) type=t5 ;;
        *) type=m2m_100 ;;
    esac
    import "$source/tests/data/$family" "$work/$family"
    check "exports $family" export_as huggingface "$work/$family" "$work/$family.hf"
    check 'of its own type' grep -q "\"model_type\": \"$type\"" "$work/$family.hf/config.json"
    check 'imports it again' import "$work/$family.hf" "$work/$family.back"
    check 'and has the same bits in all files' diff -r "$work/$family" "$work/$family.back"
    check 'exports halves' export_as huggingface "$work/$family" "$work/$family.half" --half
    check 'of half the size' test $((10 * $(stat -c %s "$work/$family.half/model.safetensors"))) -lt \
        $((7 * $(stat -c %s "$work/$family.hf/model.safetensors")))
done
check 'with the numbers of all pieces' diff <(tr , '\n' <"$source/tests/data/m2m100/vocab.json" | grep -c :) \
    <(tr , '\n' <"$work/m2m100.hf/vocab.json" | grep -c :)
fewer() {
    cp -r "$work/m2m100" "$work/fewer" && unsealed "$work/fewer" &&
        sed -i 's/^__zu__$/__zz/; s/^\(.*\)__zu__/\1__zz/' "$work/fewer/source.txt" "$work/fewer/target.txt"
}
check 'has a model that lacks a language' fewer
check 'refuses it' says_alone 3 'has neither 100 languages nor 8: M2M-100 has no such models' \
    "$clattn" export --format huggingface --model "$work/fewer" --out "$work/no"

# A trained model: the decoder starts with zeros, positions are tensor2tensor's. Greedy search
# is the same under both rules.
pieces="$source/tests/data/pieces.model"
there_and_back() {
    local label=$1
    shift
    rm -rf "$work/sp" "$work/sp.hf" "$work/sp.back"
    check "trains with $label" train --set "sentencepiece=$pieces" --set norm_epsilon=1e-5 \
        --set max_length=20 --set tidy_output=true "$@" --out "$work/sp"
    check 'exports it' export_as huggingface "$work/sp" "$work/sp.hf"
    check 'imports it' import "$work/sp.hf" "$work/sp.back"
    check 'translates as before' diff <(texts "$work/sp.back" "$work/data/test.en" --beam 1) \
        <(texts "$work/sp" "$work/data/test.en" --beam 1)
    check 'with an output' test "$(texts "$work/sp" "$work/data/test.en" --beam 1 | wc -w)" -ge 4
}
there_and_back 'one table'
there_and_back 'a table for each language' --set tied=output --set activation=gelu
there_and_back 'three tables' --set tied=none --set activation=silu --set position=marian
there_and_back '24 layers' --set layers=24 --set steps=2 --set eval_every=2
there_and_back 'two models of pieces' --set tied=output \
    --set "target_sentencepiece=$given/target.spm" --set output_bias=true

# ---- CTranslate2: the bytes that its own converter writes -----------------------------

# offset FILE TEXT: where the text begins
offset() { LC_ALL=C grep -abo -m 1 -- "$2" "$1" | head -n 1 | cut -d: -f 1; }
# As in Opus-MT's models, the embedding of <pad> is zero.
cp -r "$given" "$work/opus"
clear_padding "$work/opus"
check 'imports a model with zeros for <pad>' import "$work/opus" "$work/zero"
check 'exports it' export_as ctranslate2 "$work/zero" "$work/zero.ct"
bin=$work/zero.ct/model.bin
check 'in a file of this size' test "$(stat -c %s "$bin")" = 127272
# All but the 65536 bytes of positions, which sin() and cos() of the C library round.
at=$(($(offset "$bin" decoder/position_encodings) + 36 + 1 + 1 + 8 + 1 + 4))
rest() { head -c "$at" "$bin" && tail -c +$((at + 65536 + 1)) "$bin"; }
check 'of the bytes of ctranslate2 4.8.5' test "$(rest | sha256sum | cut -c 1-64)" = \
    2ec3427b2393f7cdd6d08481f5d536ad86c856be1be073e8e999ccfa13f08bf9
check 'and its settings' diff - "$work/zero.ct/config.json" <<END
{
  "add_source_bos": false,
  "add_source_eos": false,
  "bos_token": "<s>",
  "decoder_start_token": "</s>",
  "eos_token": "</s>",
  "layer_norm_epsilon": null,
  "multi_query_attention": false,
  "unk_token": "<unk>"
}
END
check 'exports one whose <pad> is not zero' export_as ctranslate2 "$work/m" "$work/m.ct" --half
check 'which starts with <pad>' grep -q '"decoder_start_token": "<pad>"' "$work/m.ct/config.json"

passed
