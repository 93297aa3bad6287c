#!/bin/bash
# weights.sh - models whose weights have 16 or 8 bits, on the device and on disk
# usage: tests/cli/weights.sh SOURCE_ROOT CLATTN
# shellcheck source=tests/cli/lib.sh
. "${BASH_SOURCE%/*}/lib.sh"
source=$1 clattn=$2
toy_text "$work/text"
toy_squad "$work/squad"
treebank "$source" "$work/trees"
configs=$source/examples/configs
run=$work/plain state=best.ckpt.safetensors

# train CONFIG FOLDER SETTINGS...: some steps of a small model.
train() {
    local config=$1 out=$2
    shift 2
    "$clattn" train "$configs/$config.json" "$@" --set patience=0 --quiet --out "$out" \
        2>"$work/err"
}
translator() {
    train "nmt-$1" "$2" --set "data=$work/text" --set dev=dev --set test=test --set dim=16 \
        --set heads=2 --set inner=32 --set layers=2 --set merges=40 --set tokens=40 \
        --set warmup=20 --set lr=0.4 --set warm_start= "${@:3}"
}
numbers() { "$clattn" eval --json --model "$@" 2>"$work/err"; }
lines() { "$clattn" translate --model "$@" <"$work/text/test.en" 2>"$work/err"; }

check 'trains' translator plain "$run" --set steps=60 --set eval_every=20

# On the device.
check 'float32 is what there was' test "$(numbers "$run" --weights float32)" = "$(numbers "$run")"
same() { [ "$(lines "$run" --weights "$1")" = "$(lines "$run")" ]; }
check 'halves give the same translations' same float16
check 'and 8 bits' same int8
near() { # BITS BAR [FOLDER [OPTION...]]: the loss is that of float32 to within the bar
    local a b
    a=$(numbers "$run" | sed 's/.*"nll": *\([0-9.]*\).*/\1/')
    b=$(numbers "${3-$run}" --weights "$1" "${@:4}" | sed 's/.*"nll": *\([0-9.]*\).*/\1/')
    awk -v a="$a" -v b="$b" -v bar="$2" 'BEGIN { d = a - b; exit !(a > 0 && d < bar && -d < bar) }'
}
check 'halves have nearly the same loss' near float16 0.002
check '8 bits, too' near int8 0.03
check 'refuses other bits' says 2 "--weights is 'int4', must be float32, float16 or int8" \
    "$clattn" translate --model "$run" --weights int4

# Products of 8 bits: the same words whatever multiplies them.
bytes_by() { CLATTN_UNIT=$1 lines "$run" --weights int8 --compute int8 "${@:2}"; }
computed() { [ -n "$(bytes_by none)" ] && [ "$(bytes_by "$@")" = "$(bytes_by none)" ]; }
check 'products of 8 bits are the same with a unit' computed auto
check 'and with workers' computed auto --workers 2
grouped() { [ "$(CLATTN_SCHEDULE=group bytes_by auto)" = "$(bytes_by none)" ]; }
check 'under the schedule of GPUs, too' grouped
compute_near() { near int8 "$1" "$run" --compute int8; }
check 'the loss is near' compute_near 0.05
check 'refuses another type' says 2 "--compute is 'int4', must be float32 or int8" \
    "$clattn" translate --model "$run" --weights int8 --compute int4
check 'refuses weights of floats' says 2 '--compute int8 needs --weights int8' \
    "$clattn" translate --model "$run" --weights float32 --compute int8
check 'and those of the state' says 2 'compute is int8, weights must be int8, too' \
    "$clattn" translate --model "$run" --compute int8

# On disk.
bytes() { stat -c %s "$1/$state"; }
for bits in float32 float16 int8; do
    check "exports $bits" "$clattn" export --model "$run" --weights $bits --out "$work/$bits"
done
held() { [ -n "$(numbers "$run")" ] && [ "$(numbers "$work/$1")" = "$(numbers "$run" --weights "$1")" ]; }
check 'float32 is read as it is held' held float32
check 'int8, too' held int8
check 'halves are read, and have nearly the same loss' near float16 0.002 "$work/float16"
check 'float16 is smaller' test $((10 * $(bytes "$work/float16"))) -lt $((9 * $(bytes "$work/float32")))
data() { tail -c +"$(($(od -An -tu8 -N 8 "$1/$state") + 9))" "$1/$state" | cksum; }
check 'exports int8 again' "$clattn" export --model "$work/int8" --weights int8 \
    --out "$work/again"
check 'the same numbers' test "$(data "$work/int8")" = "$(data "$work/again")"
check 'no --weights keeps them' "$clattn" export --model "$work/int8" --out "$work/kept"
check 'the same numbers again' test "$(data "$work/int8")" = "$(data "$work/kept")"
check '8 bits become floats' "$clattn" export --model "$work/int8" --weights float32 \
    --out "$work/wide"
check 'with the same translations' test "$(lines "$work/wide")" = "$(lines "$work/int8")"
check 'refuses --half and --weights' says 2 '--half and --weights: one of them' \
    "$clattn" export --model "$run" --half --weights int8 --out "$work/no"
check 'refuses 8 bits for another program' says 2 '--weights int8 is not for ctranslate2' \
    "$clattn" export --model "$run" --format ctranslate2 --weights int8 --out "$work/no"
check 'but takes a model of 8 bits there' "$clattn" export --model "$work/int8" \
    --format ctranslate2 --out "$work/ct2"
check 'training begins with them' translator plain "$work/warm" --set steps=2 \
    --set "warm_start=$work/int8"
check 'and goes on from none' says 6 "$work/int8" translator plain "$work/int8" \
    --set steps=60 --set eval_every=20 --resume

# Damaged scales: the data begins with the floats, of which scales come with the matrices.
hostile() { # BYTES CODE PART: a scale of these bytes, a warning of no hashes and an error
    rm -rf "$work/bad" && cp -r "$work/int8" "$work/bad" && unsealed "$work/bad"
    put_numbers "$work/bad/$state" "$(scale_at)" "$1"
    exits "$2" "$3" 2 "$clattn" translate --model "$work/bad" </dev/null
}
scale_at() { # the first number of target.table.scale
    head -c 20000 "$work/bad/$state" | tr -d '\n' | LC_ALL=C grep -aoE \
        '"target.table.scale":\{[^}]*"data_offsets":\[[0-9]+' | LC_ALL=C grep -oE '[0-9]+$' |
        awk '{ print $1 / 4 }'
}
check 'refuses a scale of 0' hostile '\000\000\000\000' 3 'scale 0 is 0, must be finite'
check 'refuses a negative one' hostile '\000\000\200\277' 3 'scale 0 is -1, must be finite'
check 'refuses an infinite one' hostile '\000\000\200\177' 7 "'target.table.scale' holds"
check 'refuses one that is no number' hostile '\000\000\300\177' 7 "'target.table.scale' holds"

# Every kind of model reads them, and every kind of attention with matrices of its own.
both() { numbers "$@" --weights float16 >/dev/null && numbers "$@" --weights int8 >/dev/null; }
for config in block conv hard local_soft rel_pos; do
    check "trains $config" translator $config "$work/$config" --set steps=1 --set layers=3
    check "$config with fewer bits" both "$work/$config"
done
for config in tagger-conv2d tagger-pe_add tagger-r; do
    check "trains $config" train $config "$work/$config" --set "data=$work/trees" \
        --set word_dim=24 --set char_dim=8 --set layers=1 --set heads=2 --set steps=1 --set batch=8
    check "$config with fewer bits" both "$work/$config"
done
tag() { echo 'il ne vient pas' | "$clattn" tag --model "$work/tagger-r" --weights "$1" >/dev/null; }
check 'tags' tag int8
for config in reader-bidaf reader-match_lstm reader-r_net; do
    check "trains $config" train $config "$work/$config" --set "data=$work/squad" \
        --set hidden=8 --set word_dim=8 --set steps=1 --set batch=4
    check "$config with fewer bits" both "$work/$config" --split dev
done

passed
