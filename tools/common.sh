# common.sh - what the scripts share: named steps, packages, counts; read with `.`
# shellcheck shell=sh disable=SC2034 # lists and counts are used by the readers
set -eu

build_packages='gcc libc6-dev meson ninja-build pkg-config ocl-icd-opencl-dev
    opencl-headers pocl-opencl-icd libclblast-dev libclfft-dev libjansson-dev
    libpcre2-dev libutf8proc-dev libxxhash-dev librandom123-dev libopenblas-dev'
test_packages='libcriterion-dev g++ clang libclang-rt-14-dev clang-format clang-tidy cppcheck codespell
    shellcheck ruby cmake mandoc zsh fish valgrind git locales libopenmpi-dev openmpi-bin'
extra_packages='libmicrohttpd-dev libsentencepiece-dev libicu-dev libgumbo-dev libmd4c-dev libexttextcat-dev libyaml-dev zlib1g-dev g++'
# What the pages show: without these packages the build fails, and no command says later
# that it "was built without" something.
wheel_extras='-Dsentencepiece=enabled -Dmarian=enabled -Dserve=enabled -Dmarkup=enabled'
with_extras="$wheel_extras -Ddetect=enabled" # its models are files of the system
python_packages='python3-venv ca-certificates'
device_packages='oclgrind mesa-opencl-icd python3-venv ca-certificates procps'

name=$(basename "$0")
current='start'
passed=0 failed=0 skipped=0 marginal=0
reached=$(mktemp) # here, because a note from a pipeline is a note from a subshell

# step TITLE: from here on a failure is a failure of TITLE.
step() {
    current=$1
    printf '\n== %s\n' "$1"
}

# Says which step stopped a script that did not reach its end.
stopped() {
    status=$?
    rm -f "$reached"
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

# note LABEL: a check that ran, or that was named as skipped; see compare_reached.
note() {
    echo "$name: $1" >>"$reached"
}

# compare_reached [BEGINNING...]: a label of this script in tests/reached.txt that was not
# noted is lost, and fails. With arguments, only the labels that begin with one of them count.
compare_reached() {
    note 'the end'
    [ $# -gt 0 ] || set -- ''
    wanted=$(mktemp)
    for beginning; do
        grep "^$name: $beginning" tests/reached.txt || true
    done | sort -u >"$wanted"
    sort -u "$reached" -o "$reached"
    lost=$(comm -13 "$reached" "$wanted")
    if [ -n "$lost" ]; then
        echo "$lost" | sed 's/^/LOST    /'
        failed=$((failed + $(echo "$lost" | wc -l)))
    fi
    comm -23 "$reached" "$wanted" | grep -v ': the end$' | sed 's/^/new     /' || true
    echo "$(comm -12 "$reached" "$wanted" | wc -l) of $(wc -l <"$wanted") lines of tests/reached.txt"
    rm -f "$wanted" "$reached"
}

# golden_cases CLATTN: all golden files under both schedules, one check that counts.
golden_cases() {
    results=$(mktemp)
    run 'golden cases' verify_into "$results" "$1"
    grep '"ok":false' "$results" || true
    sed -n 's/^{"case":"\([^"]*\)","op":"\([^"]*\)","schedule":"\([^"]*\)".*/golden \2 \1 \3/p' \
        "$results" | while read -r line; do
        note "$line"
    done
    rm -f "$results"
}
verify_into() { "$2" verify --json tests/data/golden >"$1"; }

# run LABEL COMMAND...: one check that counts.
run() {
    label=$1
    shift
    note "$label"
    if "$@"; then
        passed=$((passed + 1))
        echo "ok      $label"
    else
        failed=$((failed + 1))
        echo "FAILED  $label"
    fi
}

# The tests of tools/python.sh, each counted; skipped where there is no environment.
python_tests() {
    printed=$(mktemp) outcome=0
    tools/python.sh >"$printed" 2>&1 || outcome=$?
    sed -nE 's#^tests/python/(.*) (PASSED|FAILED|ERROR|SKIPPED).*#\1#p' "$printed" |
        while read -r line; do
            note "python: $line"
        done
    if [ "$outcome" -eq 77 ]; then
        echo 'not run: python (no environment, or its packages cannot be fetched here)'
        sed -n "s/^$name: python: /python: /p" tests/reached.txt | while read -r line; do
            note "$line"
        done
        skipped=$((skipped + 1))
    elif [ "$outcome" -ne 0 ]; then
        cat "$printed"
        failed=$((failed + 1))
    else
        tail -n 1 "$printed"
    fi
    passed=$((passed + $(grep -c '^tests/python/.* PASSED' "$printed" || true)))
    skipped=$((skipped + $(grep -c '^tests/python/.* SKIPPED' "$printed" || true)))
    rm -f "$printed"
}

# count_marginal LOG: results between the bar of a test and ten times that bar.
count_marginal() {
    grep 'MARGINAL' "$1" | sed 's/^/between the bars: /' || true
    marginal=$((marginal + $(grep -c 'MARGINAL' "$1" || true)))
}

# Fails when more results lie between the bars than tests/marginal.txt explains.
check_marginal() {
    explained=$(grep -vc '^#' tests/marginal.txt || true)
    echo "$marginal results between the two bars of their tests, $explained explained"
    [ "$marginal" -le "$explained" ] || failed=$((failed + 1))
}

# run_suites FOLDER ARGUMENT...: `meson test`, each test counted.
run_suites() {
    folder=$1
    shift
    rm -f "$folder/meson-logs/testlog.json"
    meson test -C "$folder" --no-rebuild --print-errorlogs "$@" || true
    log=$folder/meson-logs/testlog.json
    [ -f "$log" ] || return 1
    sed -n 's/^{"name": "clattn:\([^"]*\)".*/\1/p' "$log" | while read -r line; do
        note "$folder $line"
    done
    count_marginal "$folder/meson-logs/testlog.txt"
    # Says that a check failed, and ends well: the failure was lost, as in a subshell.
    lost=$(sed -nE '/"result": "OK"/s/^\{"name": "clattn:([^"]*)".*(\\n|")FAILED[ :].*/\1/p' "$log")
    [ -z "$lost" ] || {
        echo "$lost" | sed 's/^/FAILED  with status 0: /'
        failed=$((failed + $(echo "$lost" | wc -l)))
    }
    passed=$((passed + $(grep -cE '"result": "(OK|EXPECTEDFAIL)"' "$log" || true)))
    # One skip a line: of a whole script, or of a Criterion test in a program that passes.
    sed -n 's/^ok - \(.*\) *# SKIP /skipped: \1: /p' "$folder/meson-logs/testlog.txt"
    skipped=$((skipped + $(grep -c '"result": "SKIP"' "$log" || true)))
    skipped=$((skipped + $(grep -c '^ok - .* # SKIP ' "$folder/meson-logs/testlog.txt" || true)))
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
    rm -f "$reached"
    check_marginal
    closing_line
    [ "$failed" -eq 0 ] && [ "$passed" -gt 0 ]
    exit
}
