#!/bin/bash
# import.sh - a small Marian model: imported, compared with what transformers generates,
# and refused where its folder is damaged
# usage: tests/cli/import.sh SOURCE_ROOT CLATTN
# shellcheck source=tests/cli/lib.sh
. "${BASH_SOURCE%/*}/lib.sh"
source=$1 clattn=$2
given=$source/tests/data/marian
hf=$work/hf

cp -r "$given" "$hf"
if "$clattn" import "$hf" --out "$work/m" 2>"$work/said"; then
    check 'imports' test -s "$work/m/best.ckpt.safetensors" -a -s "$work/m/target_codes.txt"
else
    check 'says that SentencePiece is not built in' grep -q 'built without' "$work/said"
    passed
    exit
fi
check 'writes hashes that hold' "$clattn" check "$work/m"
translate() { "$clattn" translate --no-split --model "$work/m" --scores "$@" <"$given/lines.txt"; }

# The texts are equal, the scores to 1e-4. Greedy search of transformers gives no score.
same_texts() { diff <(cut -f 3 "$1") <(cut -f 2 "$2"); }
same_scores() {
    paste <(cut -f 2 "$1") <(cut -f 1 "$2") |
        awk '{ d = $1 - $2; if (!(d <= 1e-4 && d >= -1e-4)) { print NR ": " $0; bad = 1 } } END { exit bad }'
}
translate --beam 1 >"$work/greedy"
check 'gives the texts of transformers, greedy' same_texts "$work/greedy" "$given/greedy.txt"
grep -v '>>' "$given/lines.txt" |
    "$clattn" translate --no-split --model "$work/m" --beam 1 --align 2>"$work/err" >"$work/aligned"
check 'links the words that transformers attends to' \
    diff <(cut -f 2 "$work/aligned") "$given/aligned.txt"
translate >"$work/beam"
check 'gives the texts of transformers, with the beam of the model' \
    same_texts "$work/beam" "$given/beam4.txt"
check 'with the same scores' same_scores "$work/beam" "$given/beam4.txt"
for schedule in group tile; do
    CLATTN_SCHEDULE=$schedule translate --batch-lines 5 >"$work/again"
    check "and under the schedule $schedule" same_texts "$work/again" "$given/beam4.txt"
done
"$clattn" export --model "$work/m" --out "$work/small"
"$clattn" translate --no-split --model "$work/small" <"$given/lines.txt" >"$work/again"
check 'an export says the same' diff "$work/again" <(cut -f 3 "$work/beam")

# M2M-100, NLLB and mBART-50: source and target are pieces of their own, which the user chooses.
for family in m2m100 nllb mbart; do
    folder=$source/tests/data/$family
    check "imports $family" "$clattn" import "$folder" --out "$work/$family"
    for file in "$folder"/*-[14].txt; do
        name=$(basename "$file" .txt) pair=${name%-*}
        "$clattn" translate --no-split --model "$work/$family" --source "${pair%-*}" --target "${pair#*-}" \
            --beam "${name##*-}" --scores <"$folder/lines.txt" >"$work/got"
        check "gives the texts of transformers, $name" same_texts "$work/got" "$file"
        [ "${name##*-}" = 1 ] || check 'with the same scores' same_scores "$work/got" "$file"
    done
done
languages_of() {
    "$clattn" languages --model "$work/nllb" >"$work/got" &&
        printf '*\t%s\n' ace_Arab deu_Latn eng_Latn fra_Latn zho_Hans | diff - "$work/got" &&
        test "$("$clattn" languages --model "$work/m2m100" | wc -l)" = 100 &&
        test "$("$clattn" languages --model "$work/mbart" | wc -l)" = 52
}
check 'lists their languages' languages_of
cut -f 2 "$source/tests/data/nllb/eng_Latn-deu_Latn-4.txt" >"$work/usual"
check 'takes the languages of the folder' \
    writes "$work/usual" sh -c "'$clattn' translate --no-split --model '$work/nllb' --beam 4 \
        <'$source/tests/data/nllb/lines.txt'"
check 'refuses a language that it lacks, and names a near one' \
    says 3 'the model has no target deu_Latm; did you mean deu_Latn' \
    sh -c "echo a | '$clattn' translate --model '$work/nllb' --target deu_Latm"
undirected() {
    cp -r "$source/tests/data/nllb" "$work/undirected" && echo '{}' >"$work/undirected/tokenizer_config.json" &&
        "$clattn" import "$work/undirected" --out "$work/u" &&
        says 3 "the source language is 'source', which the model does not have: see clattn languages" \
            sh -c "echo a | '$clattn' translate --model '$work/u' --target deu_Latn"
}
check 'asks for a language that the folder does not name' undirected
unlisted() {
    cp -r "$source/tests/data/m2m100" "$work/unlisted" &&
        echo '{"language_codes": "xyz"}' >"$work/unlisted/tokenizer_config.json" &&
        says 3 "language_codes is 'xyz', must be m2m100 or wmt21" \
            "$clattn" import "$work/unlisted" --out "$work/u2"
}
check 'refuses a list of languages that nobody knows' unlisted
unnumbered() {
    cp -r "$source/tests/data/nllb" "$work/unnumbered" &&
        sed -i '0,/"id": [0-9]*/s//"id": "x"/' "$work/unnumbered/tokenizer.json" &&
        says 3 'added_tokens[0] has no id or content' "$clattn" import "$work/unnumbered" --out "$work/u3" &&
        rm "$work/unnumbered/tokenizer.json" &&
        says 3 'has no tokenizer.json' "$clattn" import "$work/unnumbered" --out "$work/u3"
}
check 'refuses languages without numbers' unnumbered

# mBART-50 has learned positions, 128 here: longer text is cut, or refused by its length.
long=$(printf 'word %.0s' {1..200})
check 'cuts what is longer than its positions' sh -c \
    "echo '$long' | '$clattn' translate --model '$work/mbart' | grep -q ."
check 'or refuses it' says 3 'pieces, the model learned 128 positions' sh -c \
    "echo '$long' | '$clattn' translate --no-split --model '$work/mbart'"
# mbart LABEL PART COMMAND...: a changed folder is refused with the part
mbart() {
    rm -rf "$work/bart"
    cp -r "$source/tests/data/mbart" "$work/bart"
    (cd "$work/bart" && "${@:3}")
    check "refuses $1" says_alone 3 "$2" "$clattn" import "$work/bart" --out "$work/nobart"
}
mbart 'mBART-25' "tokenizer_class is 'MBartTokenizer': of mBART's, 'MBart50Tokenizer' is read" \
    sed -i s/MBart50/MBart/ tokenizer_config.json
mbart 'another number of positions' "is [130,12], config.json makes it [129,12]" \
    sed -i 's/"max_position_embeddings": 128/"max_position_embeddings": 127/' config.json
mbart 'no norms of embeddings' "tensor 'model.encoder.layernorm_embedding.weight' is missing" \
    sed -i s/encoder.layernorm_embedding/encoder.layernorm_embeddinx/g model.safetensors

# T5 1.0 with its scaled output layer, and MADLAD-400, whose text names the target.
for family in t5 madlad; do
    folder=$source/tests/data/$family
    check "imports $family" "$clattn" import "$folder" --out "$work/$family"
    for file in "$folder"/*-[14].txt; do
        name=$(basename "$file" .txt) target=()
        [ "${name%-*}" = any ] || target=(--target "${name%-*}")
        for schedule in tile group; do
            CLATTN_SCHEDULE=$schedule "$clattn" translate --no-split --model "$work/$family" "${target[@]}" \
                --beam "${name##*-}" --scores <"$folder/lines.txt" >"$work/got"
            check "gives the texts of transformers, $family $name, $schedule" same_texts "$work/got" "$file"
            [ "${name##*-}" = 1 ] || check 'with the same scores' same_scores "$work/got" "$file"
        done
    done
done
tagged() {
    "$clattn" languages --model "$work/madlad" | diff - <(printf 'source\t%s\n' de zh_Hant) &&
        sed 's/^/<2de> /' "$source/tests/data/madlad/lines.txt" >"$work/tagged" &&
        writes <(cut -f 2 "$source/tests/data/madlad/de-4.txt") \
            sh -c "'$clattn' translate --no-split --beam 4 --model '$work/madlad' <'$work/tagged'"
}
check 'lists the targets of MADLAD, and takes one in the text' tagged
check 'refuses a target that it lacks' says 3 'the model has no target fr' \
    sh -c "echo a | '$clattn' translate --model '$work/madlad' --target fr"
check 'refuses a target where there is no choice' says 3 'the model has no choice of languages' \
    sh -c "echo a | '$clattn' translate --model '$work/t5' --target de"
# t5 LABEL PART COMMAND...: a changed folder is refused with the part
t5() {
    rm -rf "$work/tt"
    cp -r "$source/tests/data/t5" "$work/tt"
    (cd "$work/tt" && "${@:3}")
    check "refuses $1" says_alone 3 "$2" "$clattn" import "$work/tt" --out "$work/not5"
}
t5 'another width of heads' "SelfAttention.q.weight' is [10,12], config.json makes it [12,12]" \
    sed -i 's/"d_kv": 5/"d_kv": 6/' config.json
t5 'another number of buckets' "relative_attention_bias.weight' is [14,2], config.json makes it [16,2]" \
    sed -i 's/num_buckets": 14/num_buckets": 16/' config.json
t5 'another feed-forward block' 'feed_forward_proj' sed -i 's/"gelu_new",/"mish",/' config.json
t5 'a block without its gate' "DenseReluDense.wi_0.weight' is missing" \
    sed -i 's/"feed_forward_proj": "gelu_new"/"feed_forward_proj": "gated-gelu"/' config.json
t5 'another start' 'decoder_start_token_id is 7, must be that of padding, end or unknown' \
    sed -i 's/"decoder_start_token_id": 0/"decoder_start_token_id": 7/' config.json generation_config.json
t5 'no pieces' 'has no spiece.model' rm spiece.model
t5 'a tensor that is missing' "encoder.final_layer_norm.weight' is missing" \
    sed -i s/encoder.final_layer_norm/encoder.final_layer_nirm/ model.safetensors
t5 'a table that is too small' 'has 160 tokens, config.json says 50' sed -i 's/"vocab_size": [0-9]*/"vocab_size": 50/' config.json

# The README keeps what the source's card says, and goes along with exports.
card() {
    cp -r "$source/tests/data/t5" "$work/card" && cat >"$work/card/README.md" <<'END'
---
license: other
license_name: "a: licence"
language:
- en
- de
tags:
- translation
model-index:
- name: x
---
Text.

# A model of text
## Part
END
    "$clattn" import "$work/card" --out "$work/carded" 2>"$work/err" &&
        diff - "$work/carded/README.md" <<'END'
---
license: "other"
license_name: "a: licence"
language:
- "en"
- "de"
library_name: clattn
---

# A model of text

A translation model.

| | |
|---|---|
| licence | a: licence, as the source's card says |
| network | T5: 2 and 2 layers, 12 wide, 2 heads, feed-forward 14 |
| pieces | 167 |
| search | beam 4, length penalty 1, at most 23 pieces |

`config.json` holds all settings.
END
}
kept_card() {
    "$clattn" export --model "$work/carded" --format huggingface --out "$work/card.hf" &&
        "$clattn" import "$work/card.hf" --out "$work/card.again" && diff -r "$work/carded" "$work/card.again"
}
check 'writes a README of the card' card
check 'which exports keep' kept_card
uncarded() {
    printf -- '---\n\ta: [\n---\n' >"$work/card/README.md" && rm -r "$work/carded" &&
        "$clattn" import "$work/card" --out "$work/carded" 2>"$work/err" &&
        grep -qx "| licence | not in the source's card: ask those who made the model |" "$work/carded/README.md" &&
        grep -qx '# T5' "$work/carded/README.md"
}
check 'takes a card that is no YAML for none' uncarded

# ---- folders that are not taken -----------------------------------------------------

# damage COMMAND...: a fresh copy of the folder, changed by the command in it.
damage() {
    rm -rf "$hf" "$work/no"
    cp -r "$given" "$hf"
    (cd "$hf" && "$@")
}
# refuses PART: one line with it, status 3, and nothing is left.
refuses() {
    local code=${2-3}
    says_alone "$code" "$1" "$clattn" import "$hf" --out "$work/no" && [ ! -e "$work/no" ]
}
refused() { # LABEL PART COMMAND...
    local label=$1 part=$2
    damage "${@:3}"
    check "refuses $label" refuses "$part"
}
cut_to() { truncate -s "$1" "$2"; }
edit() { sed -i "$1" "$2" && ! cmp -s "$2" "$given/$2"; }
# tensor FROM TO: another name of the same length in the header
tensor() { LC_ALL=C edit "s/\"$1\"/\"$2\"/" model.safetensors; }

refused 'no folder' 'has no config.json' rm config.json
refused 'another model' "model_type is 'bart': 'marian', 'm2m_100', 'mbart', 't5' and 'mt5' are read" edit 's/"marian"/"bart"/' config.json
refused 'a torn config' 'config.json:' cut_to 100 config.json
refused 'no weights' 'has no model.safetensors' rm model.safetensors
refused 'pickled weights, with advice' 'save_pretrained(DIR, safe_serialization=True)' \
    mv model.safetensors pytorch_model.bin
refused 'a list of parts that is none' 'model.safetensors.index.json:1: ' \
    mv model.safetensors model.safetensors.index.json
refused 'cut weights' 'model.safetensors' cut_to 40000 model.safetensors
refused 'a cut header' 'header of' cut_to 300 model.safetensors
refused 'an empty file of weights' 'too short' cut_to 0 model.safetensors
refused 'a tensor that is missing' "tensor 'model.encoder.layers.1.fc1.bias' is missing" \
    tensor model.encoder.layers.1.fc1.bias model.encoder.layers.1.fc9.bias
refused 'a tensor of another shape' "is [24,16], config.json makes it [25,16]" \
    edit 's/\(coder_ffn_dim": \)24/\125/' config.json
refused 'a tensor that is left over' "'model.encoder.layers.1." \
    edit 's/"encoder_layers": 2/"encoder_layers": 1/' config.json
refused 'a number that is too large' 'd_model is 1000000, must be a whole number from 1 to' \
    edit 's/"d_model": 16/"d_model": 1000000/' config.json
refused 'heads that do not fit' 'do not divide' \
    edit 's/coder_attention_heads": 2/coder_attention_heads": 3/' config.json
refused 'norms in front' 'normalize_before' \
    edit 's/"d_model": 16/"normalize_before": true, "d_model": 16/' config.json
refused 'another activation' 'activation_function' edit 's/"swish"/"mish"/' config.json
refused 'sampling' 'do_sample' edit 's/"num_beams"/"do_sample": true, "num_beams"/' \
    generation_config.json
refused 'a search that translate has not' 'no_repeat_ngram_size' \
    edit 's/"num_beams"/"no_repeat_ngram_size": 3, "num_beams"/' generation_config.json
refused 'words that are forbidden' 'bad_words_ids' \
    edit '/bad_words/,/\]/s/[0-9][0-9]*/7/' generation_config.json
refused 'a cut SentencePiece model' 'source.spm' cut_to 3000 source.spm
refused 'one that is cut between pieces' 'target.spm' cut_to 17 target.spm
refused 'one that is none' 'target.spm' cp config.json target.spm
refused 'no SentencePiece model' 'has no source.spm' rm source.spm
refused 'a link out of the folder' 'link to a file outside' ln -sf /etc/passwd vocab.json
refused 'a cut vocabulary' 'vocab.json:' cut_to 2000 vocab.json
refused 'an id twice' 'have one id, 4' edit '0,/: 5,/s/: 5,/: 4,/' vocab.json
refused 'an id that is too large' 'must be a number from 0 to' edit 's/: 5,/: 500000,/' vocab.json
refused 'a negative id' 'must be a number from 0 to' edit 's/: 5,/: -5,/' vocab.json
refused 'an id that is no number' 'must be a number from 0 to' edit 's/: 5,/: "5",/' vocab.json
refused 'a token twice' 'duplicate' edit 's/^".*": 5,/"<unk>": 5,/' vocab.json
refused 'no end' "must be '</s>'" edit 's|"</s>"|"</t>"|' vocab.json
refused 'a list in its place' 'vocab.json' sh -c 'echo "[1]" >vocab.json'

# ---- folders that transformers loads ------------------------------------------------

# variant NAME [OPTION...]: the folder $work/NAME and the model $work/m-NAME.
variant() {
    rm -rf "${work:?}/$1" "$work/m-$1"
    python3 "$source/tests/cli/import_variants.py" "$given" "$work/$1" "$1" &&
        "$clattn" import "$work/$1" --out "$work/m-$1" "${@:2}" >"$work/out" 2>"$work/err"
}
scored() { "$clattn" translate --no-split --model "$work/m-$1" --scores <"${2-$given/lines.txt}" 2>"$work/err"; }
# as_transformers NAME FILE LINES [OPTION...]: the texts and scores of the file.
as_transformers() {
    variant "$1" "${@:4}" && scored "$1" "$3" >"$work/again" && same_texts "$work/again" "$2" &&
        same_scores "$work/again" "$2"
}
# as_given NAME: the variant says what the given model says.
as_given() { as_transformers "$1" "$given/beam4.txt" "$given/lines.txt"; }
for name in shards untied lists_of_one_id logits_bias_flag padded odd_tokens empty_lists; do
    check "loads $name" as_given $name
done
check 'keeps every token' "$clattn" check "$work/m-odd_tokens"
again() { # an export and what is imported of it
    "$clattn" export --format huggingface --model "$work/m-$1" --out "$work/$1-hf" \
        >"$work/out" 2>"$work/err" &&
        "$clattn" import "$work/$1-hf" --out "$work/m-$1-hf" >"$work/out" 2>"$work/err" &&
        diff <(scored "$1-hf" "$2") <(scored "$1" "$2")
}
check 'exports them, too' again odd_tokens "$given/lines.txt"
same_variants() { variant "$1" && variant "$2" && diff <(scored "$1") <(scored "$2"); }
check 'reads bfloat16' same_variants bfloat16 bfloat16_as_float32
check 'reads a missing bias as zeros' same_variants no_bias zero_bias
check 'finds added tokens as transformers' \
    as_transformers added_tokens "$given/added5.txt" "$given/added-lines.txt"
check 'exports them as well' again added_tokens "$given/added-lines.txt"
for release in 4 5; do
    check "stops as release $release" as_transformers no_length "$given/default$release.txt" \
        "$given/lines.txt" --transformers $release
    check "says what was cut (release $release)" \
        grep -qF "12 translations were cut at $((release + 15)) pieces (max_length" "$work/err"
    check "searches as release $release" as_transformers beam_of_six \
        "$given/beam6-$release.txt" "$given/lines.txt" --transformers $release
done
check 'knows a model with languages' grep -q '"prefix_token": true' "$work/m-shards/config.json"
variant no_languages
check 'knows one without' grep -q '"prefix_token": false' "$work/m-no_languages/config.json"
unknown_prefix() { # it is one unknown piece, as for MarianTokenizer
    diff <(echo '>>deu<< go' | scored no_languages /dev/stdin) \
        <(echo '>>xyz<< go' | scored no_languages /dev/stdin)
}
check 'takes a language that it lacks for one unknown piece' unknown_prefix
not_taken() { ! variant "$1" "${@:3}" && grep -qF "$2" "$work/err"; }
check 'refuses tables that release 4 shares' not_taken untied 'differ, config.json ties' -t 4
check 'refuses two ends' not_taken two_ends 'has 2 ids'
check 'refuses no end' not_taken no_end 'eos_token_id is missing'
check 'refuses stop strings' not_taken stop_strings 'stop_strings is set'
check 'refuses an index with another file' not_taken misplaced 'is in another file than it says'
check 'refuses an index that lacks a tensor' not_taken unlisted 'is in another file than it says'
check 'refuses an index that leads outside' not_taken outside 'no name of this folder'
check 'refuses two tokens of one id' not_taken one_id_of_two "an added one, have one id, 7"
check 'leaves an added token without a row out' as_given added_beyond

damage true
check 'refuses a folder that holds a run' \
    says 2 'holds a run' "$clattn" import "$hf" --out "$work/m"
check 'names what is not there' says 3 'has no config.json' \
    "$clattn" import "$work/none" --out "$work/no"

passed
