#!/bin/bash
# gpu-day.sh - all that one device can tell, in one folder that can be sent back
# usage: tools/gpu-day.sh DEVICE [FOLDER]
#
# DEVICE is what `clattn --device` takes: gpu, amd, 0:1, part of a name. FOLDER (default
# gpu-day) must not exist; at the end FOLDER.tar.gz holds its files. On a card it takes
# about half an hour. GPU_DAY_MINUTES (default 5) is how long each of two models trains,
# GPU_DAY_TUNE (default 120) the seconds of `clattn tune`. What fails does not stop the rest.
#
# docs/gpu.md tells the owner of a card how to run it and where to send the folder.
# shellcheck disable=SC2317 # parts are called by name
cd "$(dirname "$0")/.." || exit 2
. tools/common.sh
counting=yes
if [ $# -lt 1 ] || [ $# -gt 2 ]; then
    sed -n '3s/^# //p' "$0" >&2
    trap - EXIT
    exit 2
fi
device=$1 out=${2:-gpu-day} build=build-gpu-day
minutes=${GPU_DAY_MINUTES:-5}
mkdir "$out" || exit

# part NAME COMMAND...: a check that counts; its output and its seconds go to the folder.
part() {
    local name=$1 begin=$SECONDS status=0
    shift
    "$@" >"$out/$name.txt" 2>"$out/$name.err" || status=$?
    [ -s "$out/$name.err" ] || rm -f "$out/$name.err"
    printf '%s\t%d\t%d\n' "$name" "$status" $((SECONDS - begin)) >>"$out/parts.tsv"
    return "$status"
}

# here COMMAND...: clattn on the device.
here() { "$build/clattn" "$1" --device "$device" "${@:2}"; }

build_all() {
    # shellcheck disable=SC2086 # lists of words
    ! command -v dpkg-query >/dev/null || install $build_packages libcriterion-dev clpeak || true
    compile "$build" all --buildtype=release
}

op_tests() {
    local failed_tests=0 program
    for program in "$build"/tests/test-ops-*; do
        case $program in *.p) continue ;; esac # a folder of objects
        echo "== $(basename "$program")"
        CLATTN_DEVICE=$device CRITERION_JOBS=1 CLATTN_TEST_KERNELS=$PWD/$build/tests/cl \
            timeout 600 "$program" || failed_tests=$((failed_tests + 1))
    done
    echo "$failed_tests programs failed"
    [ "$failed_tests" -eq 0 ]
}

# The device's peaks by a program that is not ours, under the same index.
peaks() {
    local id
    id=$(sed -n 's/.*"id":"\([0-9:]*\)".*/\1/p' "$out/chosen.json")
    clpeak --platform "${id%:*}" --device "${id#*:}" --compute-sp --global-bandwidth --kernel-latency
}

# chosen: the line of the device that --device picks, as JSON.
chosen() { CLATTN_DEVICE=$device "$build/clattn" devices --json | grep '"default":true'; }

# for_minutes COMMAND...: stops a training after its minutes; a state is saved, and that is
# success.
for_minutes() {
    local status=0
    timeout --signal=INT "${minutes}m" "$@" || status=$?
    case $status in 0 | 124 | 130) ;; *) return 1 ;; esac
}

tagger() {
    for_minutes "$build/clattn" train examples/configs/tagger-conv2d.json --device "$device" \
        --set epochs=1000 --set patience=0 --out "$out/tagger" &&
        here eval --model "$out/tagger" --split test
}

# Parallel text without anybody's licence: words of the shipped sentences, and the same in
# reverse order. A translator learns it in minutes when attention works.
pairs() {
    local part source
    mkdir -p "$out/pairs"
    for part in train dev test; do
        source=examples/data/fr_spoken/$part.conllu
        sed -n 's/^# text = //p' "$source" | awk 'NF > 1 && NF <= 30' >"$out/pairs/$part.fr"
        awk '{ for (i = NF; i > 1; i--) printf "%s ", $i; print $1 }' "$out/pairs/$part.fr" \
            >"$out/pairs/$part.rf"
    done
}

translator() {
    pairs
    for_minutes "$build/clattn" train examples/configs/nmt-csan2d.json --device "$device" \
        --set data="$(realpath "$out/pairs")" --set source=fr --set target=rf --set dev=dev --set test=test \
        --set merges=2000 --set steps=100000 --set epochs=100000 --out "$out/translator" &&
        here eval --model "$out/translator" --split test
}

profile() {
    here train examples/configs/tagger-conv2d.json --set steps=20 --set epochs=1 --profile \
        --out "$out/profile" 2>&1
}

# What is large and says nothing about the device stays out of the archive.
pack() {
    rm -rf "$out/pairs" "$out/profile"
    find "$out" -name '*.ckpt' -delete
    find "$out" -name '*.safetensors' -delete
    tar -czf "$out.tar.gz" -C "$(dirname "$out")" "$(basename "$out")"
}

step "build in $build/"
run 'build' part build build_all || true
step "device '$device'"
run 'card' part card "$build/clattn" devices --verbose
chosen >"$out/chosen.json" || {
    echo "no device '$device'; clattn devices lists what there is" >&2
    exit 4
}
! command -v clinfo >/dev/null || clinfo >"$out/clinfo.txt" 2>&1 || true
step 'known answers, both schedules'
run 'verify' part verify here verify --json tests/data/golden
step 'tests of the operators'
run 'op tests' part ops op_tests
step 'peaks and benchmarks'
if command -v clpeak >/dev/null; then
    run 'clpeak' part clpeak peaks
else
    echo 'not run: clpeak (not installed)'
    skipped=$((skipped + 1))
fi
run 'bench' part bench here bench --quick --verify --json "$out/bench.json"
step 'tuning, and the benchmarks with it'
run 'tune' part tune env CLATTN_TUNING="$out/tuning.json" "$build/clattn" tune \
    --device "$device" --seconds "${GPU_DAY_TUNE:-120}"
run 'bench, tuned' part bench_tuned env CLATTN_TUNING="$out/tuning.json" "$build/clattn" bench \
    --device "$device" --quick --json "$out/bench_tuned.json"
"$build/clattn" bench compare "$out/bench.json" "$out/bench_tuned.json" >"$out/compare.txt" 2>&1 || true
step "two trainings of $minutes minutes"
run 'profile' part profile profile
run 'tagger' part tagger tagger
run 'translator' part translator translator
git rev-parse HEAD >"$out/commit.txt" 2>/dev/null || "$build/clattn" --version >"$out/commit.txt"
run 'archive' pack
cat "$out/parts.tsv"
echo "send back: $out.tar.gz"
finish
