# common.sh - what the scripts share: named steps, packages, counts; read with `.`
# shellcheck shell=sh disable=SC2034 # lists and counts are used by the readers
set -eu

build_packages='gcc libc6-dev meson ninja-build pkg-config ocl-icd-opencl-dev
    opencl-headers pocl-opencl-icd libclblast-dev libclfft-dev libjansson-dev
    libpcre2-dev libutf8proc-dev libxxhash-dev librandom123-dev libopenblas-dev'
test_packages='libcriterion-dev g++ clang clang-format clang-tidy cppcheck codespell
    shellcheck valgrind git libopenmpi-dev openmpi-bin'
extra_packages='libsentencepiece-dev'
device_packages='oclgrind mesa-opencl-icd python3-venv ca-certificates procps'

name=$(basename "$0")
current='start'
passed=0 failed=0 skipped=0

# step TITLE: from here on a failure is a failure of TITLE.
step() {
    current=$1
    printf '\n== %s\n' "$1"
}

# Says which step stopped a script that did not reach its end.
stopped() {
    status=$?
    if [ "$status" -ne 0 ]; then
        printf '\n%s: stopped in step: %s (exit %d)\n' "$name" "$current" "$status" >&2
        if [ -n "${counting-}" ]; then
            failed=$((failed + 1))
            closing_line
        fi
    fi
}
trap stopped EXIT

# install PACKAGE...: those that are missing, with apt.
install() {
    missing=
    for package; do
        dpkg-query -W -f '${Status}\n' "$package" 2>/dev/null | grep -q ' installed$' ||
            missing="$missing $package"
    done
    if [ -z "$missing" ]; then
        echo 'all there'
        return
    fi
    echo "installing:$missing"
    root=
    [ "$(id -u)" -eq 0 ] || root=sudo
    export DEBIAN_FRONTEND=noninteractive
    # shellcheck disable=SC2086 # words on purpose
    $root apt-get -qq update &&
        $root apt-get -qq install -y --no-install-recommends $missing >/dev/null
}

# compile FOLDER TARGETS MESON_OPTION...: configures, then builds.
compile() {
    folder=$1 targets=$2
    shift 2
    verb=setup
    [ ! -f "$folder/build.ninja" ] || verb=configure
    text=$(meson "$verb" "$folder" "$@" 2>&1) || {
        echo "$text" >&2
        return 1
    }
    # shellcheck disable=SC2086 # words on purpose
    ninja -C "$folder" --quiet $targets
}

# run LABEL COMMAND...: one check that counts.
run() {
    label=$1
    shift
    if "$@"; then
        passed=$((passed + 1))
        echo "ok      $label"
    else
        failed=$((failed + 1))
        echo "FAILED  $label"
    fi
}

# run_suites FOLDER ARGUMENT...: `meson test`, each test counted.
run_suites() {
    folder=$1
    shift
    rm -f "$folder/meson-logs/testlog.json"
    meson test -C "$folder" --no-rebuild --print-errorlogs "$@" || true
    log=$folder/meson-logs/testlog.json
    [ -f "$log" ] || return 1
    passed=$((passed + $(grep -cE '"result": "(OK|EXPECTEDFAIL)"' "$log" || true)))
    skipped=$((skipped + $(grep -c '"result": "SKIP"' "$log" || true)))
    failed=$((failed + $(grep -cvE '"result": "(OK|EXPECTEDFAIL|SKIP)"' "$log" || true)))
}

closing_line() {
    printf '\n%d passed, %d failed' "$passed" "$failed"
    [ "$skipped" -eq 0 ] || printf ', %d skipped' "$skipped"
    printf '\n'
}

# Prints the closing line; the exit status says whether anything failed.
finish() {
    trap - EXIT
    closing_line
    [ "$failed" -eq 0 ] && [ "$passed" -gt 0 ]
    exit
}
