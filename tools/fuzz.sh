#!/bin/bash
# fuzz.sh - runs fuzz targets under libFuzzer; finds are left in build-fuzz/finds
# usage: tools/fuzz.sh SECONDS|--runs N [TARGET...]
#
# Every target starts from tests/fuzz/corpus/TARGET. New inputs that reach new code go to
# build-fuzz/corpus/TARGET and are used again next time; --merge adds the smallest set of
# them to the tree. FUZZ_SEED=N draws the same inputs again (default: others each time).
# JOBS targets run at once (default 2).
cd "$(dirname "$0")/.." || exit 2
. tools/common.sh
counting=yes

usage() {
    echo 'usage: tools/fuzz.sh SECONDS|--runs N|--merge [TARGET...]' >&2
    trap - EXIT
    exit 2
}
case ${1-} in
--runs)
    [[ ${2-} =~ ^[0-9]+$ ]] || usage
    limit=(-runs="$2")
    shift 2
    ;;
--merge)
    limit=()
    shift
    ;;
*)
    [[ ${1-} =~ ^[0-9]+$ ]] || usage
    limit=(-max_total_time="$1")
    shift
    ;;
esac
readers=("$@") # compile has a variable `targets`
if [ ${#readers[@]} -eq 0 ]; then
    for folder in tests/fuzz/corpus/*/; do
        readers+=("$(basename "$folder")")
    done
fi

step 'packages'
# shellcheck disable=SC2086 # a list of words
install $build_packages clang libclang-rt-14-dev

step 'build in build-fuzz/'
# clFFT's header defines data that clang's AddressSanitizer cannot link.
CC=${FUZZ_CC:-clang} CXX=${FUZZ_CXX:-clang++} compile build-fuzz tests/fuzz/fuzz -Dfuzz=true --werror \
    --buildtype=debugoptimized -Doptimization=1 -Dc_args=-g1 -Dclfft=disabled -Dmpi=disabled -Db_lundef=false
mkdir -p build-fuzz/finds

# fuzz TARGET: prints runs and runs a second; false when an input breaks a promise, leaks,
# takes a minute, or needs 2 GB.
fuzz() {
    local own=build-fuzz/corpus/$1 log=build-fuzz/$1.log
    mkdir -p "$own"
    if [ ${#limit[@]} -eq 0 ]; then
        build-fuzz/tests/fuzz/fuzz --target="$1" -merge=1 "tests/fuzz/corpus/$1" "$own" \
            >"$log" 2>&1
        return
    fi
    build-fuzz/tests/fuzz/fuzz --target="$1" "${limit[@]}" -seed="${FUZZ_SEED:-0}" \
        -close_fd_mask=3 -timeout=60 -rss_limit_mb=2048 -max_len=8192 \
        -print_final_stats=1 -artifact_prefix="build-fuzz/finds/$1-" \
        "$own" "tests/fuzz/corpus/$1" >"$log" 2>&1 || {
        tail -n 40 "$log"
        return 1
    }
    awk '/number_of_executed_units|average_exec_per_sec/ { printf "%s ", $2 }
        END { print "runs, runs a second" }' "$log"
}

# start: the next target, in the background; what it prints goes to a file.
processes=()
start() {
    local target=${readers[${#processes[@]}]-}
    [ -n "$target" ] || return 0
    fuzz "$target" >"build-fuzz/$target.printed" &
    processes+=($!)
}

# shellcheck disable=SC2317 # called by run
# ended N: waits for target N; what it printed, and its status.
ended() {
    local status=0
    wait "${processes[$1]}" || status=$?
    cat "build-fuzz/${readers[$1]}.printed"
    return "$status"
}

step 'targets'
for ((job = 0; job < ${JOBS:-2}; job++)); do
    start
done
for ((n = 0; n < ${#readers[@]}; n++)); do
    run "${readers[n]}" ended $n
    start
done
finish
