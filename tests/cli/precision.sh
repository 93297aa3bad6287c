#!/bin/bash
# precision.sh - how products are computed: chosen, used, kept with a run, and refused
# usage: tests/cli/precision.sh SOURCE_ROOT CLATTN
# shellcheck source=tests/cli/lib.sh
. "${BASH_SOURCE%/*}/lib.sh"
source=$1 clattn=$2
unset CLATTN_PRECISION CLATTN_UNIT
treebank "$source" "$work/trees"
state=last.ckpt.safetensors

# train FOLDER WORDS...: a few steps of a small tagger.
train() {
    "$clattn" train "$source/examples/configs/tagger-demo.json" --set "data=$work/trees" \
        --set steps=3 --set patience=0 --quiet --out "$@" 2>"$work/err"
}
same() { cmp -s "$1/$state" "$2/$state"; }
differ() { test -e "$2/$state" && ! same "$1" "$2"; }
keeps() { grep -q "\"precision\": *\"$2\"" "$work/$1/config.json"; }

check 'trains' train "$work/a"
check 'in float32, which config.json has' keeps a highest
check 'trains at another precision' train "$work/b" --precision medium
check 'which config.json has' keeps b medium
check 'and its numbers are others' differ "$work/a" "$work/b"
check 'as the environment can say' env CLATTN_PRECISION=medium bash -c "$(declare -f train); work=$work \
    source=$source clattn=$clattn; train $work/c"
check 'with the same numbers' same "$work/b" "$work/c"
export CLATTN_UNIT=none
check 'trains without a matrix unit' train "$work/d" --set precision=medium
check 'with the same numbers again' same "$work/b" "$work/d"
unset CLATTN_UNIT
check 'goes on' train "$work/b" --precision medium --set steps=4 --resume
check 'but not at another precision' says 2 "the run was begun with another 'precision'" \
    "$clattn" train --resume --precision highest --out "$work/b"

row() { "$clattn" bench --quick --suite gemm --filter 'M1 N512' --json - "$@" | head -n 1; }
row_says() { row "${@:2}" >"$work/out" && grep -q "\"precision\": *\"$1\"" "$work/out"; }
check 'a benchmark names it' row_says medium --precision medium
check 'and its absence' row_says highest
check 'the list of devices names the unit' prints 'matrix unit' "$clattn" devices --verbose

check 'an unknown word is refused' says 2 "--precision is 'low', must be highest, high or medium" \
    "$clattn" verify --precision low
check 'in the environment, too' says 2 "CLATTN_PRECISION is 'low'" env CLATTN_PRECISION=low "$clattn" verify
check 'and an unknown unit' says 2 "CLATTN_UNIT is 'cuda', must be none, auto, amx," \
    env CLATTN_UNIT=cuda "$clattn" verify
check 'and in a config' says 3 'precision' "$clattn" train "$source/examples/configs/tagger-demo.json" \
    --set "data=$work/trees" --set precision=low --out "$work/e"
passed
