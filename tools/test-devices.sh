#!/bin/sh
# test-devices.sh - golden cases and op tests on four OpenCL implementations
# usage: [CLATTN_MINUTES=N] tools/test-devices.sh [pocl|intel|rusticl|oclgrind|gpu]...
#
# PoCL runs everything; so does Intel's CPU runtime, whose Python wheels go into
# $CLATTN_INTEL (default ~/.cache/clattn/intel); where they cannot be fetched it is not
# run and counts as skipped. Mesa's rusticl gets small shapes, Oclgrind tiny ones. The step
# gpu runs nothing: the vendors' offline compilers tell what hot kernels cost on GPUs
# (docs/gpu.md); where they cannot be fetched it is not run.
cd "$(dirname "$0")/.." || exit 2
. tools/common.sh
counting=yes

build='build-test'
intel=${CLATTN_INTEL:-${XDG_CACHE_HOME:-$HOME/.cache}/clattn/intel}
vendors=/etc/OpenCL/vendors
except=''
early=''

# The folder of the driver file, or nothing when the wheels cannot be had.
fetch_intel() {
    if [ ! -e "$intel/lib/libintelocl.so" ]; then
        rm -rf "$intel"
        mkdir -p "$(dirname "$intel")"
        python3 -m venv "$intel" &&
            "$intel/bin/pip" install -q intel-opencl-rt intel-cmplr-lib-rt tbb || return 1
    fi
    mkdir -p "$intel/vendors"
    echo "$intel/lib/libintelocl.so" >"$intel/vendors/intel.icd" # the wheel's own is wrong
}

# box MINUTES: from here on checks end when the minutes are over; what was not reached counts
# as skipped and is named. Compilers other than PoCL's take up to a minute a kernel.
box() {
    deadline=$(($(date +%s) + 60 * $1))
}

# family PID...: these processes and all below them. Criterion's tests leave their group and
# session, so that `timeout` would leave them running.
family() {
    for member; do
        echo "$member"
        # shellcheck disable=SC2046 # a list of numbers
        family $(ps -o pid= --ppid "$member")
    done
}

# end PID: it and all below it, now.
end() {
    # shellcheck disable=SC2046 # a list of numbers
    kill -KILL $(family "$1") 2>/dev/null || true
}

# boxed LABEL COMMAND...: one check that counts, inside the box.
boxed() {
    label=$1
    shift
    note "$label"
    start=$(date +%s)
    left=$((deadline - start))
    if [ "$left" -le 0 ]; then
        skipped=$((skipped + 1))
        echo "not run: $label (its minutes are over)"
        return
    fi
    status=0
    said=$(mktemp)
    "$@" >"$said" 2>&1 &
    check=$!
    (
        sleep "$left"
        end "$check"
    ) >/dev/null 2>&1 &
    watch=$!
    wait "$check" || status=$?
    end "$watch"
    wait "$watch" 2>/dev/null || true
    seconds=$(($(date +%s) - start))
    cat "$said"
    count_marginal "$said"
    rm -f "$said"
    if [ "$status" -eq 0 ]; then
        passed=$((passed + 1))
        echo "ok      $label ($seconds s)"
    elif [ "$status" -eq 137 ] && [ "$seconds" -ge "$left" ]; then
        skipped=$((skipped + 1))
        echo "not finished: $label (its minutes are over)"
    else
        failed=$((failed + 1))
        echo "FAILED  $label (status $status)"
    fi
}

# The op tests that compile most, the cheapest first. not_finite has kernels of all the others.
slow_tests='not_finite position_attention relative_attention conv_attention_1d conv1d'
slow_tests="$slow_tests conv_attention_2d attention band_attention_2d band_attention"
slow_tests="$slow_tests conv_attention_2d_laws"
slow_tests="$slow_tests custom_generated custom_attention ham gaussian_attention"
slow_tests="$slow_tests gaussian_attention_laws attention_alias"

# Rules that hold for every operator, the cheapest first.
rule_tests='equal_custom equal_maps nan_maps hidden_scores not_finite'

# The other op tests but $except and $early.
quick_tests() {
    for program in "$build"/tests/test-ops-*; do
        test=${program##*/test-ops-}
        case " $slow_tests $except $early " in
        *" $test "*) continue ;;
        esac
        [ ! -x "$program" ] || [ -d "$program" ] || echo "$test"
    done
}

# op_tests LABEL 'TEST...' COMMAND...: each op test, COMMAND in front of it.
op_tests() {
    prefix=$1 tests=$2
    shift 2
    for test in $tests; do
        boxed "$prefix: test-ops-$test" "$@" "$build/tests/test-ops-$test"
    done
}

# golden LABEL N -e|-v COMMAND...: the N smallest golden files of each operator that is (-e) or
# is not (-v) attention, which takes longest to compile; one check an operator.
golden() {
    prefix=$1 count=$2 which=$3
    shift 3
    for operator in $(find tests/data/golden -mindepth 1 -type d -printf '%f\n' | sort); do
        echo "$operator" | grep -q "$which" attention || continue
        # shellcheck disable=SC2046 # file names without spaces
        boxed "$prefix: golden $operator" "$@" "$build/clattn" verify $(
            find "tests/data/golden/$operator" -name '*.safetensors' -printf '%s %p\n' |
                sort -n | head -n "$count" | cut -d ' ' -f 2
        )
    done
}

# late_tests: the slow op tests but $early.
late_tests() {
    for test in $slow_tests; do
        case " $early " in
        *" $test "*) ;;
        *) echo "$test" ;;
        esac
    done
}

# cases LABEL N COMMAND...: cheap golden cases, $early op tests and cheap ones, then the
# others. Each operator comes with its golden cases before the slow tests take what is left
# of the minutes.
cases() {
    label_all=$1 count_all=$2
    shift 2
    golden "$label_all" "$count_all" -v "$@"
    op_tests "$label_all" "$early" "$@"
    op_tests "$label_all" "$(quick_tests)" "$@"
    golden "$label_all" "$count_all" -e "$@"
    op_tests "$label_all" "$(late_tests)" "$@"
}

on_pocl() {
    export OCL_ICD_VENDORS="$vendors/pocl.icd"
    run 'pocl: golden cases' "$build/clattn" verify tests/data/golden
    run_suites "$build" --suite ops || failed=$((failed + 1)) # no log: meson itself failed
}

on_intel() {
    if ! fetch_intel; then
        echo 'not run: intel (its wheels cannot be fetched here)'
        sed -n "s/^$name: intel: /intel: /p" tests/reached.txt | while read -r line; do
            note "$line"
        done
        skipped=$((skipped + 1))
        return
    fi
    export OCL_ICD_VENDORS="$intel/vendors" CRITERION_JOBS=1
    box "${CLATTN_MINUTES:-7}"
    cases intel 99 env
}

on_rusticl() {
    export OCL_ICD_VENDORS="$vendors/rusticl.icd" RUSTICL_ENABLE=llvmpipe
    export CLATTN_TEST_SIZE=small CRITERION_JOBS=1
    box "${CLATTN_MINUTES:-3}"
    cases rusticl 1 env
}

on_oclgrind() {
    export CLATTN_TEST_SIZE=tiny CRITERION_JOBS=1
    mkdir -p "$build/cache-oclgrind"
    export CLATTN_CACHE_DIR="$PWD/$build/cache-oclgrind"
    box "${CLATTN_MINUTES:-7}"
    echo "skipped: oclgrind: test-ops-conv_fft (clFFT's idle items copy what they never read)"
    skipped=$((skipped + 1))
    except=conv_fft early=$rule_tests # conv_fft: see test_fft of tests/support/support.h
    cases oclgrind 1 tools/oclgrind.sh
}

on_gpu() {
    export CLATTN_GPU="${CLATTN_GPU:-${XDG_CACHE_HOME:-$HOME/.cache}/clattn/gpu}"
    if ! tests/gpu/analysis/compilers.sh "$CLATTN_GPU"; then
        echo 'not run: gpu (the compilers cannot be fetched here)'
        note 'gpu: the gate turns red'
        note 'gpu: hot kernels on three targets'
        skipped=$((skipped + 2))
        return
    fi
    box "${CLATTN_MINUTES:-4}"
    boxed 'gpu: the gate turns red' tests/gpu/gate.sh
    export OCL_ICD_VENDORS="$vendors/pocl.icd"
    boxed 'gpu: hot kernels on three targets' tools/gpu-report.sh --check
}

step 'packages'
# shellcheck disable=SC2086 # lists of words
install $build_packages $test_packages $device_packages

step "build in $build/"
compile "$build" all --buildtype=debugoptimized --werror
mkdir -p "$build/cache" "$build/pocl"
export POCL_CACHE_DIR="$PWD/$build/pocl"

# lane NAME DEVICE...: one after the other, in a process of its own; the counts of a lane
# that reaches its end go to a file.
lane() (
    counted=$counts/$1
    shift
    for device; do
        step "$device"
        except='' early=''
        unset OCL_ICD_VENDORS RUSTICL_ENABLE CLATTN_TEST_SIZE CRITERION_JOBS
        export CLATTN_CACHE_DIR="$PWD/$build/cache"
        case $device in
        pocl) on_pocl ;;
        intel) on_intel ;;
        rusticl) on_rusticl ;;
        oclgrind) on_oclgrind ;;
        gpu) on_gpu ;;
        esac
    done
    echo "$passed $failed $skipped $marginal" >"$counted"
)

# add_lane NAME: its counts to ours.
add_lane() {
    if [ ! -f "$counts/$1" ]; then
        echo "FAILED  lane $1 did not reach its end"
        failed=$((failed + 1))
        return
    fi
    read -r p f s m <"$counts/$1"
    passed=$((passed + p)) failed=$((failed + f)) skipped=$((skipped + s)) marginal=$((marginal + m))
}

[ $# -gt 0 ] || set -- pocl intel rusticl oclgrind gpu
first='' second=''
for device; do
    case $device in
    pocl | intel | rusticl) first="$first $device" ;;
    oclgrind | gpu) second="$second $device" ;;
    *)
        echo "$name: unknown implementation '$device'" >&2
        exit 2
        ;;
    esac
done

# Oclgrind takes as long as two others, on one processor: it goes beside them.
counts=$(mktemp -d)
# shellcheck disable=SC2086 # a list of words
[ -z "$second" ] || lane second $second 2>&1 | sed -u 's/^/beside | /' &
# shellcheck disable=SC2086 # a list of words
[ -z "$first" ] || lane first $first || true
wait
[ -z "$first" ] || add_lane first
[ -z "$second" ] || add_lane second

step 'what was reached'
compare_reached "$@"
rm -rf "$counts"

finish
