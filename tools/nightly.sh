#!/bin/bash
# nightly.sh - the long form of the checks of failures: hours, at the lowest priority
# usage: tools/nightly.sh [PART...]
#
# Parts, all of them by default: calls errors leaks kills interrupts damages mpi fuzz
# expressions hostile load tidy musl recipes peers fresh pages devices gpu soak.
#
#   calls    each call of eight scenarios fails once, and from there on; NIGHTLY_CALLS=paths
#            takes one call of each path to it
#   musl     compiles all files with another C library
#   recipes  builds the additions that docs/architecture.md describes, and runs their tests
#   peers    compares with the newest releases of other programs, from the network, on
#            random inputs (tests/peers/run.sh)
#   fresh    the quick start and three pages on a bare Debian; needs root and the network
#   pages    runs the pages' blocks that are marked "not run", too, where the machine can
#   devices  what tools/test-devices.sh has no minutes for on every change
#   gpu      budgets and estimates of all kernels on ten GPUs, by the vendors' compilers
#   errors   each OpenCL function returns each error; each property of a device is zero
#   leaks    a part of the calls once more under AddressSanitizer
#   kills    kill -9 of training, export, average, tuning and the kernel cache
#   interrupts  SIGINT of training and benchmarks
#   damages  a flipped bit or a cut in each file of a model folder
#   mpi      one of two processes is killed, stops, computes NaN or fails
#   fuzz     every fuzz target
#   expressions  random expressions of custom attention, and programs of them
#   hostile  requests to the service that are no requests
#   load     64 clients of the service, some of which leave; its memory must not grow
#   tidy     clang-tidy, its analyzer as deep as it goes
#   soak     runtimes and training steps; memory must not grow
#
# NIGHTLY_SEED is the seed of random inputs; the default is the day's number, 20261231. To
# repeat a part that has ended, remove its file in build-nightly/logs.
#
# Sizes: NIGHTLY_CALLS (every), NIGHTLY_LEAKS (1000), NIGHTLY_KILLS (1000),
# NIGHTLY_INTERRUPTS (20), NIGHTLY_DAMAGES (5000), NIGHTLY_MPI (100), NIGHTLY_FUZZ (1000000),
# NIGHTLY_EXPRESSIONS (1000000), NIGHTLY_HOSTILE (10000), NIGHTLY_LOAD (600, seconds),
# NIGHTLY_DEVICES (120, minutes for each implementation), NIGHTLY_SOAK (8, hours). JOBS is how
# many cases run at once (default 2).
#
# A round that was interrupted goes on where it stopped: each part keeps a log of its cases
# in build-nightly/logs. What ends is written to build-nightly/figures.jsonl, a line a part,
# and is not run again; `rm -r build-nightly/logs' begins a new round.
# shellcheck disable=SC2317 # parts are called by name
cd "$(dirname "$0")/.." || exit 2
. tools/common.sh
counting=yes
set +e
build=build-nightly logs=build-nightly/logs
all='calls errors leaks kills interrupts damages mpi fuzz expressions hostile load tidy musl recipes peers fresh pages devices gpu soak'
seed=${NIGHTLY_SEED:-$(date +%Y%m%d)}
read -ra parts <<<"${*:-$all}"
for part in "${parts[@]}"; do
    case " $all " in
    *" $part "*) ;;
    *)
        echo "no part '$part'; see the head of $0" >&2
        trap - EXIT
        exit 2
        ;;
    esac
done
renice -n 19 $$ >/dev/null

step "build in $build/"
compile "$build" all --buildtype=debugoptimized || exit
mkdir -p "$logs" "$build/cache" "$build/pocl"
export CLATTN_CACHE_DIR="${CLATTN_CACHE_DIR:-$PWD/$build/cache}"
export POCL_CACHE_DIR="${POCL_CACHE_DIR:-$PWD/$build/pocl}"
program=$build/clattn faulty=$build/tests/faults/clattn-faults

calls() {
    tests/faults/calls.sh . "$program" "$faulty" "${NIGHTLY_CALLS:-every}" "$logs/calls.jsonl"
}

musl() { tools/musl.sh; }

recipes() { tests/tools/recipes.py . "$build" --whole; }

# Comparisons that cannot run here are listed; the newest versions are fetched each time.
peers() { tests/peers/run.sh "$program" "$build" "$seed"; }

fresh() { tools/fresh.sh tools/quickstart.sh tools/pages.sh; }

pages() { tools/check-docs.sh --all . "$program"; }

devices() {
    CLATTN_MINUTES="${NIGHTLY_DEVICES:-120}" tools/test-devices.sh intel rusticl oclgrind gpu
}

gpu() { CLATTN_BUILD=$build tools/gpu-report.sh --all --check; }

errors() {
    tests/faults/calls.sh . "$program" "$faulty" errors "$logs/errors.jsonl"
}

leaks() {
    compile "$build-asan" 'clattn tests/faults/clattn-faults' --buildtype=debugoptimized \
        -Db_sanitize=address,undefined -Db_lundef=false || return
    ASAN_OPTIONS=detect_leaks=1:use_sigaltstack=0:exitcode=99 \
        UBSAN_OPTIONS=halt_on_error=1:print_stacktrace=1 \
        tests/faults/calls.sh . "$build-asan/clattn" "$build-asan/tests/faults/clattn-faults" \
        "${NIGHTLY_LEAKS:-1000}" "$logs/leaks.jsonl"
}

kills() {
    tests/faults/kill.sh . "$program" "${NIGHTLY_KILLS:-1000}" "$logs/kills.jsonl"
}

damages() {
    tests/faults/damage.sh . "$program" "${NIGHTLY_DAMAGES:-5000}" "$logs/damages.jsonl"
}

interrupts() {
    tests/faults/interrupt.sh . "$program" "${NIGHTLY_INTERRUPTS:-20}"
}

mpi() {
    tests/faults/mpi.sh . "$program" "$faulty" "${NIGHTLY_MPI:-100}" "$logs/mpi.jsonl"
}

fuzz() {
    tools/fuzz.sh --runs "${NIGHTLY_FUZZ:-1000000}"
}

# 50 programs hold 400 expressions.
expressions() {
    compile "$build-asan" tests/expressions --buildtype=debugoptimized \
        -Db_sanitize=address,undefined -Db_lundef=false || return
    "$build-asan/tests/expressions" "${NIGHTLY_EXPRESSIONS:-1000000}" "$seed" &&
        CLATTN_EXPRESSIONS=50 CLATTN_SEED="$seed" \
            CLATTN_TEST_KERNELS="$PWD/$build/tests/cl" \
            "$build/tests/test-ops-custom_generated" -j1
}

hostile() {
    CLATTN_HOSTILE="${NIGHTLY_HOSTILE:-10000}" CLATTN_SEED="$seed" \
        tests/cli/serve.sh . "$program" hostile
}

load() {
    CLATTN_LOAD="${NIGHTLY_LOAD:-600}" tests/cli/serve.sh . "$program" load
}

tidy() {
    CLATTN_TIDY_NODES=225000 tools/lint.sh tidy . "$build"
}

soak() {
    "$build/tests/soak/soak_null" --hours "${NIGHTLY_SOAK:-8}" &&
        "$build/tests/soak/soak" --hours "${NIGHTLY_SOAK:-8}"
}

# figure PART SECONDS STATUS LINE: a line of figures.
figure() {
    printf '{"part":"%s","commit":"%s","day":"%s","cores":%d,"seconds":%d,"exit":%d,"figures":"%s"}\n' \
        "$1" "$(git rev-parse --short HEAD 2>/dev/null)" "$(date -u +%F)" "$(nproc)" "$2" "$3" \
        "$(tr -d '"' <<<"$4")" >>"$build/figures.jsonl"
}

# part NAME: runs it and notes its last line; one that has ended well is not run again.
part() {
    local begin=$SECONDS status
    if [ -e "$logs/$1.done" ]; then
        echo "$1 has ended: $(cat "$logs/$1.done")"
        return
    fi
    "$1" 2>&1 | tee "$logs/$1.out"
    status=${PIPESTATUS[0]}
    skipped=$((skipped + $(grep -c '^not run: ' "$logs/$1.out")))
    figure "$1" $((SECONDS - begin)) "$status" "$(tail -n 1 "$logs/$1.out")"
    [ "$status" -ne 0 ] || tail -n 1 "$logs/$1.out" >"$logs/$1.done"
    return "$status"
}

for part in "${parts[@]}"; do
    step "$part"
    run "$part" part "$part"
done
finish
