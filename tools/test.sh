#!/bin/sh
# test.sh - builds and runs every test that is fast; ends with "N passed, N failed"
# usage: tools/test.sh
cd "$(dirname "$0")/.." || exit 2
. tools/common.sh
counting=yes

step 'packages'
# shellcheck disable=SC2086 # lists of words
install $build_packages $test_packages
# shellcheck disable=SC2086
install $extra_packages || echo "not tested: what is built with $extra_packages"

step 'build in build-test/'
compile build-test all --buildtype=debugoptimized --werror -Dclblast=enabled -Dclfft=enabled
mkdir -p build-test/cache build-test/pocl
export CLATTN_CACHE_DIR="$PWD/build-test/cache" POCL_CACHE_DIR="$PWD/build-test/pocl"

step 'all suites on the default device'
run_suites build-test

step 'golden cases on the default device'
golden_cases build-test/clattn

step 'the library alone, as an archive, in build-static/'
compile build-static all --buildtype=debugoptimized --werror -Ddefault_library=static \
    -Ddebug=false -Dprogram=false -Dtests=false
run 'static library' tests/static.sh . build-static

# The processor that valgrind shows has kernels of its own, and they take minutes to
# compile under memcheck: a run without it fills the cache, beside what follows.
OCL_ICD_VENDORS=/etc/OpenCL/vendors/pocl.icd \
    valgrind --quiet --tool=none build-test/examples/embed >/dev/null 2>&1 &
filling=$!

# Packages are fetched and Python's tests run on one processor; the other builds for a later step.
compile build-asan "sanitized tests/fuzz/fuzz examples/two_threads" --buildtype=debugoptimized --werror \
    -Doptimization=1 -Dc_args=-g1 -Db_sanitize=address,undefined -Db_lundef=false &
building=$!

step 'the Python package: a wheel in an environment of its own'
# shellcheck disable=SC2086
install $python_packages || true
python_tests

# What follows looks for faults of ours, with the one driver whose own are known.
export OCL_ICD_VENDORS=/etc/OpenCL/vendors/pocl.icd

step 'host, runtime and fuzz suites under AddressSanitizer and UndefinedBehaviorSanitizer'
wait "$building"
export ASAN_OPTIONS=detect_leaks=1:strict_string_checks=1:use_sigaltstack=0
export UBSAN_OPTIONS=halt_on_error=1:print_stacktrace=1
run_suites build-asan --suite base --suite fuzz --suite runtime --suite tensor

step 'a runtime in each of some threads under ThreadSanitizer'
compile build-tsan examples/two_threads --buildtype=debugoptimized --werror \
    -Db_sanitize=thread -Db_lundef=false
export TSAN_OPTIONS=halt_on_error=1
run 'two threads' build-tsan/examples/two_threads
run 'eight threads' build-tsan/examples/two_threads 8 5

step 'the embedding example under valgrind'
wait "$filling" || true
run 'embed' valgrind --quiet --error-exitcode=1 --leak-check=full --num-callers=40 \
    --show-leak-kinds=definite --errors-for-leak-kinds=definite \
    --suppressions=tests/suppressions/valgrind.supp build-test/examples/embed

step 'what was reached'
compare_reached

finish
