#!/bin/bash
# average.sh - the states that a run keeps, the model that is their mean, and the export
# of a run
# usage: tests/cli/average.sh SOURCE_ROOT CLATTN
# shellcheck source=tests/cli/lib.sh
. "${BASH_SOURCE%/*}/lib.sh"
source=$1 clattn=$2
mkdir "$work/data"
printf 'the red dog runs.\nthe red cat sleeps.\na blue dog sleeps.\n' >"$work/data/train.en"
printf 'der rote Hund rennt.\ndie rote Katze schläft.\nein blauer Hund schläft.\n' \
    >"$work/data/train.de"
for split in dev test; do
    cp "$work/data/train.en" "$work/data/$split.en"
    cp "$work/data/train.de" "$work/data/$split.de"
done
tiny=(--set "data=$work/data" --set dev=dev --set test=test --set dim=16 --set heads=2
    --set inner=32 --set layers=1 --set merges=40 --set tokens=40 --set steps=60
    --set eval_every=10 --set save_every=4 --set warmup=20 --set lr=0.4 --set dropout=0.1
    --set patience=0 --quiet)
run=$work/run

train() { "$clattn" train "$source/examples/configs/nmt-plain.json" "${tiny[@]}" "$@"; }
average() { "$clattn" average "$@" >"$work/said" 2>&1; }
states() { (cd "$1" && echo kept-*); }
kept=.ckpt.safetensors

check 'trains' train --set keep=3 --out "$run"
check 'keeps the newest evaluated states' test "$(states "$run")" = \
    "kept-0000000040$kept kept-0000000050$kept kept-0000000060$kept"

# Stopped at moments of its own choosing, resumed each time: the same files, to the bit.
killed() {
    local resume
    kill_often "$work/killed" "$clattn" train "$source/examples/configs/nmt-plain.json" \
        "${tiny[@]}" --set keep=3 || return 1
    train --set keep=3 --out "$work/killed" "${resume[@]}" &&
        diff -x log.jsonl -r "$run" "$work/killed"
}
check 'kill -9 and resume end in the same states' killed

# What is of a later step than the state that a run goes on from goes away; keep may change.
cp -r "$run" "$work/more"
cp "$run/kept-0000000060$kept" "$work/more/kept-0000000070$kept"
check 'a run goes on with another keep' train --set keep=2 --out "$work/more" --resume
check 'and keeps that many' test "$(states "$work/more")" = \
    "kept-0000000050$kept kept-0000000060$kept"
check 'and says so in its config' grep -q '"keep": 2' "$work/more/config.json"

# The mean of one state is that state.
check 'averages one' average --model "$run" --last 1 --out "$work/one"
check 'tells what it did' grep -q '^mean of 1 states of [0-9]* numbers' "$work/said"
of_one() {
    cp -r "$run" "$work/newest" && cp "$run/kept-0000000060$kept" "$work/newest/best$kept"
    "$clattn" eval --json --model "$work/newest" >"$work/want" &&
        "$clattn" eval --json --model "$work/one" | diff "$work/want" -
}
check 'which scores as it did' of_one
check 'averages all' average --model "$run" --out "$work/three"
check 'into a model that translates' \
    test "$("$clattn" translate --model "$work/three" <"$work/data/test.en" | wc -l)" = 3
check 'averages two runs' average --model "$run" --model "$work/more" --last 2 --out "$work/two"
check 'four states of them' grep -q '^mean of 4 states' "$work/said"

check 'refuses more than there are' says 2 "$run keeps 3 states, 4 are wanted" \
    "$clattn" average --model "$run" --last 4 --out "$work/no"
check 'refuses a run that keeps none' says 2 "$work/one keeps 0 states, 1 are wanted" \
    "$clattn" average --model "$work/one" --out "$work/no"
check 'refuses a folder that holds a run' says 2 "$work/one holds a run" \
    "$clattn" average --model "$run" --out "$work/one"
check 'refuses no folder' says 2 'average needs --out DIR' \
    "$clattn" average --model "$run"
check 'refuses what is no run' says 6 "$work/data/config.json" \
    "$clattn" average --model "$work/data" --out "$work/no"
check 'and leaves nothing behind' test ! -e "$work/no"

# The best state alone, and with halves: what they say and how large they are.
check 'exports' "$clattn" export --model "$run" --out "$work/small"
check 'exports halves' "$clattn" export --model "$run" --half --out "$work/half"
scores() { "$clattn" eval --json --model "$1"; }
check 'the same scores' test "$(scores "$work/small")" = "$(scores "$run")"
close() { [ -n "$(nll "$run")" ] && [ "$(nll "$work/half")" = "$(nll "$run")" ]; }
nll() { scores "$1" | sed -n 's/.*"nll":\([0-9.]\{4\}\).*/\1/p'; }
check 'of halves to three digits' close
bytes() { stat -c %s "$1/$2$kept"; }
check 'a third of the bytes of a run that goes on' \
    test $((2 * $(bytes "$work/small" best))) -lt "$(bytes "$run" last)"
check 'half of these' test $((10 * $(bytes "$work/half"))) -lt $((6 * $(bytes "$work/small")))
check 'a model that translates' \
    test "$("$clattn" translate --model "$work/half" <"$work/data/test.en" | wc -l)" = 3
check 'exports what was exported' "$clattn" export --model "$work/half" --out "$work/again"
check 'refuses a folder that holds a model' says 2 "$work/half holds a run" \
    "$clattn" export --model "$run" --out "$work/half"
check 'refuses what is no run' says 6 "$work/data/config.json" \
    "$clattn" export --model "$work/data" --out "$work/none"
check 'refuses to go on from it' says 6 "$work/again" \
    "$clattn" train "$source/examples/configs/nmt-plain.json" "${tiny[@]}" --set keep=3 \
    --out "$work/again" --resume

# Pieces of a SentencePiece model, where it is built in: the model goes along.
pieces="$source/tests/data/pieces.model"
if train --set steps=10 --set "sentencepiece=$pieces" --out "$work/sp" 2>"$work/said"; then
    check 'keeps its SentencePiece model' cmp "$pieces" "$work/sp/codes.txt"
    check 'exports it' "$clattn" export --model "$work/sp" --out "$work/sp-small"
    check 'and translates' \
        test "$("$clattn" translate --model "$work/sp-small" <"$work/data/test.en" | wc -l)" = 3
else
    check 'says that SentencePiece is not built in' grep -q 'built without' "$work/said"
fi
refused() { ! train --set "sentencepiece=$work/data/test.en" --out "$work/no" 2>"$work/said"; }
check 'refuses what is no SentencePiece model' refused
check 'and says so' grep -q 'SentencePiece' "$work/said"

cp -r "$run" "$work/infinite" && infinite "$work/infinite"
check 'refuses weights that are not finite' says 7 'holds numbers that are not finite' \
    env CLATTN_LOG=error "$clattn" translate --model "$work/infinite" </dev/null

passed
