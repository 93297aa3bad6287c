#!/bin/bash
# custom.sh - attention of the config's own expressions: trained, resumed, refused
# usage: tests/cli/custom.sh SOURCE_ROOT CLATTN
# shellcheck source=tests/cli/lib.sh
. "${BASH_SOURCE%/*}/lib.sh"
source=$1 clattn=$2
configs=$source/examples/configs
alibi=(--set attention=custom --set 'score=s - slope[h] * abs(j - i)'
    --set 'learn={"slope": {"shape": ["heads"], "init": "alibi"}}')

# check_task NAME LENGTH PARAMETER OPTION...: a run of two LENGTHs (steps or epochs) and one
# that was resumed after the first end in the same bits, and PARAMETER was learned. A
# resumed run keeps its expressions.
check_task() {
    local name=$1 length=$2 parameter=$3
    shift 3
    train() { "$clattn" train "$1" "${alibi[@]}" "${@:2}" --quiet; }
    check "$name: trains" train "$@" --set "$length=2" --out "$work/$name"
    check "$name: trains one of two" train "$@" --set "$length=1" --out "$work/$name-part"
    resumed() {
        train "$@" --set "$length=2" --out "$work/$name-part" --resume &&
            cmp "$work/$name/last.ckpt.safetensors" "$work/$name-part/last.ckpt.safetensors"
    }
    check "$name: a resumed run ends in the same bits" resumed "$@"
    check "$name: has the parameter" grep -qa "\"$parameter\"" "$work/$name/last.ckpt.safetensors"
    check "$name: resume with another expression is refused" \
        says 2 "another 'score'" train "$@" --set "$length=3" --out "$work/$name" --resume \
        --set 'score=s + slope[h] * abs(j - i)'
    check "$name: and with another parameter" \
        says 2 "another 'learn'" train "$@" --set "$length=3" --out "$work/$name" --resume \
        --set 'learn={"slope": {"shape": ["heads"], "init": 0.5}}'
    misspelt() {
        says 3 "name 'slop' is not known" train "$@" --out "$work/none" \
            --set 'score=s - slop[h] * abs(j - i)' && grep -qE '^ *\^~*$' "$work/err"
    }
    check "$name: an error has a caret under its place" misspelt "$@"
}

toy_text "$work/pairs"
translator=("${toy[@]}" --set "data=$work/pairs" --set layers=2)
check_task translator steps encoder.0.self.slope "$configs/nmt-plain.json" "${translator[@]}"
treebank "$source" "$work/sentences"
check_task tagger epochs layer.0.slope "$configs/tagger-conv2d.json" \
    --set "data=$work/sentences" --set word_dim=24 --set char_dim=8 --set layers=2 --set heads=2 \
    --set batch=30 --set positions=none

# Sentences of a translator have no greatest length.
plain=("$clattn" train "$configs/nmt-plain.json" "${translator[@]}" "${alibi[@]}" --out "$work/plain")
check 'in a decoder, too' "$clattn" train "$configs/nmt-plain.json" "${translator[@]}" "${alibi[@]}" \
    --set attention_where=both --set steps=2 --out "$work/both"
check 'which translates' sh -c "echo 'the red dog runs.' | '$clattn' translate --model '$work/both' --beam 3"
check 'no shape of a length' \
    says 3 'learn.slope.shape must be numbers or "heads": sentences have no greatest length' \
    "${plain[@]}" --set 'learn={"slope": {"shape": ["length"], "init": 0}}'
check 'a narrow window' "${plain[@]}" --set steps=1 --set window=3
check 'keys of expressions do not disturb plain attention' \
    "$clattn" train "$configs/nmt-plain.json" "${translator[@]}" "${alibi[@]}" \
    --set attention=softmax --set steps=1 --out "$work/softmax"

passed
