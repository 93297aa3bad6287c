#!/bin/bash
# hard.sh - rewards from the command line: from a soft model to gates, and to sequences
# usage: tests/cli/hard.sh SOURCE_ROOT CLATTN
# shellcheck source=tests/cli/lib.sh
. "${BASH_SOURCE%/*}/lib.sh"
source=$1 clattn=$2
toy_text "$work/data"
configs=$source/examples/configs
small=("${toy[@]}" --set steps=40 --set eval_every=40 --set log_every=10)

# train CONFIG NAME OPTION...
train() { "$clattn" train "$configs/nmt-$1.json" "${small[@]}" --out "$work/$2" "${@:3}"; }
from_soft=(--set "warm_start=$work/soft")

check 'trains what to begin from' train plain soft --set steps=100
named() { # what was found and what was not
    "$clattn" train "$configs/nmt-hard.json" "${toy[@]:0:${#toy[@]}-1}" --set steps=1 \
        "${from_soft[@]}" --out "$work/named" 2>"$work/err" &&
        grep -q "^warm .* tensors from $work/soft/best.ckpt.safetensors" "$work/err" &&
        grep -q '^ *not in it:.* decoder.0.cross.query.in ' "$work/err" &&
        grep -q '^ *not taken: decoder.0.cross.in ' "$work/err"
}
check 'begins from another run, and names what it lacks' named
check 'trains gates' train hard gates "${from_soft[@]}"
logged() {
    for key in reward selected saturated entropy reward_ms wait_ms; do
        tail -n 2 "$work/gates/log.jsonl" | grep -q "\"$key\":" || return 1
    done
}
check 'logs what gates do' logged
again() {
    train hard again "${from_soft[@]}" --set pred=free_sample --set baseline=learned &&
        train hard once_more "${from_soft[@]}" --set pred=free_sample --set baseline=learned &&
        cmp "$work/again/last.ckpt.safetensors" "$work/once_more/last.ckpt.safetensors"
}
check 'same seed, same bits, draws and all' again
check 'trains on what it says' train seqloss sequence "${from_soft[@]}"

words() {
    "$source/reproduction/results_words.py" "$work/words" 2 4 &&
        "$clattn" train "$configs/nmt-words.json" --set data="$work/words" --set steps=20 \
            --set eval_every=20 --out "$work/worded" &&
        grep -q '"selected":0.[3-7]' "$work/worded/log.jsonl" &&
        "$clattn" inspect --model "$work/worded" --text 'a B c' --out "$work/gates.svg"
}
check 'trains the example whose gates alone read the source' words

# ---- how good by length
lengths() {
    for name in soft gates; do
        "$clattn" eval --model "$work/$name" --lengths --beam 2 --json >"$work/$name.jsonl" ||
            return 1
    done
    [ "$(wc -l <"$work/gates.jsonl")" -eq 8 ] &&
        grep -q '^{"words":"1-10","sentences":4,"bleu":' "$work/gates.jsonl" &&
        grep -q '^{"words":">=61","sentences":0}' "$work/gates.jsonl" &&
        grep -q '^{"words":"all","sentences":4,"bleu":' "$work/gates.jsonl" &&
        "$clattn" eval --model "$work/gates" --lengths | grep -q '^all  *4  '
}
check 'scores by the length of sources' lengths
plotted() {
    "$clattn" plot --lengths "$work/soft.jsonl" "$work/gates.jsonl" --out "$work/l.svg" &&
        grep -q 'soft.jsonl</text>' "$work/l.svg" && grep -q 'gates.jsonl</text>' "$work/l.svg" &&
        [ "$(grep -c 'font-size="8"' "$work/l.svg")" -eq 4 ] && svg_fits "$work/l.svg"
}
check 'plots two systems side by side' plotted
echo '{"words":"some"}' >"$work/odd.jsonl"
check 'refuses to plot what is none' says 3 'odd.jsonl:1: no line of' \
    "$clattn" plot --lengths "$work/odd.jsonl" --out "$work/l.svg"

inspected() {
    for name in soft gates; do
        "$clattn" inspect --model "$work/$name" --text 'the red cat sleeps.' \
            --out "$work/$name.svg" || return 1
    done
    grep -q 'open gates</text>' "$work/gates.svg" &&
        grep -q 'probability</text>' "$work/gates.svg" && grep -q 'head 2</text>' "$work/soft.svg"
}
check 'draws what is read for each piece' inspected

encoder() { # NAME MAPS: so many maps of a sentence of 6 pieces and its end
    "$clattn" inspect --model "$work/$1" --text 'the red cat sleeps.' --site encoder \
        --out "$work/encoder.svg" && svg_fits "$work/encoder.svg" &&
        test "$(grep -c 'font-weight="bold"' "$work/encoder.svg")" = "$2" &&
        grep -q 'rows are queries, columns are keys' "$work/encoder.svg"
}
both() {
    encoder soft 2 && grep -q 'layer 1 head 2</text>' "$work/encoder.svg" && encoder gates 2
}
check 'draws the maps of the encoder' both
check 'trains convolved maps' train plain convolved --set attention=conv2d \
    --set attention_dropout=0
convolved() {
    encoder convolved 4 && grep -q 'layer 1 head 2 convolved</text>' "$work/encoder.svg"
}
check 'draws them before and after the convolution' convolved
check 'trains blocks' train block blocks --set attention_layers=1-1
check 'says that blocks have no maps' says 3 "attention is 'block': it has no map" \
    "$clattn" inspect --model "$work/blocks" --text a --site encoder --out "$work/no.svg"
check 'refuses another site' says 2 "--site is 'x', must be one of cross, encoder" \
    "$clattn" inspect --model "$work/soft" --text a --site x --out "$work/no.svg"

check 'refuses gates with a loss of sequences' says 3 'loss is sequence, and cross is hard' \
    train hard no --set loss=sequence
check 'refuses a warm start from nowhere' says 6 'nowhere/codes.txt' \
    train hard no1 --set "warm_start=$work/nowhere"
check 'refuses a warm start with other pieces' says 3 'their ids differ' \
    train hard no2 "${from_soft[@]}" --set merges=3

passed
