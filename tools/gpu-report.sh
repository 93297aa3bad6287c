#!/bin/sh
# gpu-report.sh - what the kernels cost on GPUs, told by the vendors' offline compilers; no GPU is needed
# usage: [CLATTN_GPU=FOLDER] tools/gpu-report.sh [--all] [--check] [--update] [REPORT_OPTION]...
#
# Without --all: hot kernels on three targets. --check fails when a budget is broken, --update stores the figures and writes
# the table of docs/gpu.md. What else there is: tests/gpu/analysis/report.py --help. The exit status is 77 where the compilers
# cannot be had. They and kept results lie in $CLATTN_GPU (default ~/.cache/clattn/gpu).
set -eu
cd "$(dirname "$0")/.."
CLATTN_GPU=${CLATTN_GPU:-${XDG_CACHE_HOME:-$HOME/.cache}/clattn/gpu}
export CLATTN_GPU
build=${CLATTN_BUILD:-build-test}
all=gfx90a,gfx942,gfx1030,gfx1100,sm_70,sm_86,sm_90,skl,tgllp,dg2-g10
suites='gemm weights attention ham band layers conv' # they launch every hot kernel
[ "${1-}" != --all ] || suites="$suites softmax ragged characters tagger nmt hard reader poem"

tests/gpu/analysis/compilers.sh "$CLATTN_GPU" || {
    echo 'not run: gpu (the compilers cannot be fetched here)' >&2
    exit 77
}
[ -x "$build/clattn" ] || {
    echo "gpu-report.sh: no program $build/clattn; build it first" >&2
    exit 2
}

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
export CLATTN_SCHEDULE=group CLATTN_GEMM=tile CLATTN_TUNING="$work/none" CLATTN_LOG=error
unset CLATTN_RECORD_AS

# record CLASS FOLDER SUITE...: what a suite launches on that class of devices.
record() {
    class=$1 folder=$work/recording/$1-$2
    shift 2
    CLATTN_CLASS=$class CLATTN_RECORD=$folder "$build/clattn" bench --suite "$@" >"$work/log" 2>&1 || {
        cat "$work/log" >&2
        echo "gpu-report.sh: suite $1 cannot be recorded" >&2
        exit 1
    }
}

# card CLASS UNITS: what all suites launch on a card with so many units.
card() {
    export CLATTN_RECORD_AS="compute_units=$2"
    for suite in $suites; do
        record "$1" "$2" "$suite" --quick
    done
    unset CLATTN_RECORD_AS
}
mkdir "$work/recording"
card nvidia 132
card amd 64
card intel 32
for class in nvidia intel; do # the tiles of larger products, too
    record "$class" more gemm --quick
done
# unit CLASS NAME: products and attention of numbers that its matrix unit multiplies.
unit() {
    for suite in gemm attention; do
        CLATTN_UNIT=$2 CLATTN_PRECISION=medium record "$1" "$2" $suite --quick
    done
    CLATTN_UNIT=$2 record "$1" "$2" weights --quick
}
unit nvidia mma
unit amd mfma
unit amd wmma
unit intel dpas
if [ "${1-}" = --all ]; then
    card amd 96
    for class in amd nvidia intel; do # more head widths
        record "$class" more attention
        record "$class" more band
    done
fi

if [ "${1-}" = --all ]; then
    shift
    set -- --targets "$all" "$@"
else
    set -- --hot "$@"
fi
nice python3 tests/gpu/analysis/report.py "$work/recording" "$@"
