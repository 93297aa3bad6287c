#!/bin/bash
# kill.sh - kill -9 at random moments, resume: the run ends in the bits of one left alone
# usage: tests/cli/kill.sh SOURCE_ROOT CLATTN [KILLS]
#
# At least KILLS (default 3), until one has hit a checkpoint while it was written; each kill
# is resumed, and where a run reaches its end another begins. CLATTN_SEED chooses the moments.
# shellcheck source=tests/cli/lib.sh
. "${BASH_SOURCE%/*}/lib.sh"
source=$1 clattn=$2 kills=${3:-3}
RANDOM=${CLATTN_SEED:-42}

treebank "$source" "$work/data"
train=("$clattn" train "$source/examples/configs/tagger-conv2d.json" --quiet
    --set "data=$work/data" --set word_dim=24 --set char_dim=8 --set layers=2 --set heads=2
    --set batch=8 --set patience=0 --set epochs=8 --set save_every=2)

"${train[@]}" --out "$work/cold" || exit 1 # compiles
begin=$(date +%s%N)
"${train[@]}" --out "$work/whole" || exit 1
took=$((($(date +%s%N) - begin) / 1000)) # microseconds

# One process, killed at a moment of its life or done before; $killed and $torn count.
live() { # live RUN_FOLDER
    local resume=()
    [ ! -e "$1/config.json" ] || resume=(--resume)
    "${train[@]}" --out "$1" "${resume[@]}" &
    local process=$! moment=$(((RANDOM * 32768 + RANDOM) % took)) status
    sleep "$(printf '%d.%06d' $((moment / 1000000)) $((moment % 1000000)))"
    kill -KILL $process 2>/dev/null
    wait $process 2>/dev/null
    status=$?
    [ $status -eq 137 ] || return $status
    killed=$((killed + 1))
    [ -z "$(find "$1" -name '*.safetensors.*.tmp' 2>/dev/null)" ] || torn=$((torn + 1))
    return 137
}

killed=0 torn=0 runs=0
while [ $killed -lt "$kills" ] || [ $torn -eq 0 ]; do
    runs=$((runs + 1))
    run=$work/run-$runs
    while :; do
        live "$run"
        status=$?
        [ $status -eq 137 ] || break
    done
    for file in best.ckpt.safetensors last.ckpt.safetensors config.json words.txt; do
        if [ "$status" -ne 0 ] || ! cmp "$work/whole/$file" "$run/$file"; then
            echo "FAILED  exit $status after $killed kills, CLATTN_SEED=${CLATTN_SEED:-42}"
            exit 1
        fi
    done
    diff <(ls "$work/whole") <(ls "$run") || exit 1
    diff <(grep -o '"accuracy":.*' "$work/whole/log.jsonl") \
        <(grep -o '"accuracy":.*' "$run/log.jsonl") || exit 1
    [ $runs -lt 40 ] || exit 1
done
echo "ok      $killed kills, $torn of them in a checkpoint, $runs runs of equal bits"
