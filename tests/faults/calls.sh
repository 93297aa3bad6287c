#!/bin/bash
# calls.sh - fails one call of the program after the other and checks what it does then
# usage: tests/faults/calls.sh SOURCE_ROOT CLATTN CLATTN_FAULTS [CASES|every|paths|errors] [LOG]
#
# CLATTN_FAULTS is the program with wrapped calls (tests/faults/inject.c). CASES cases
# (default 64) are spread over nine scenarios and five classes of calls; `every' takes
# every call, `paths' the first call of each path (calls with equal stacks are one path),
# `errors' every error that an OpenCL function may return. CLATTN_SEED shifts the choice.
# LOG gets a line of JSON a case, and cases that it holds already are not run again. JOBS
# cases run at once (default 2), with SCENARIOS only those scenarios.
#
# After each fault:
#   - the program ends by itself, with a documented exit status that fits the fault
#   - an error is one line on stderr; success has the output of an undisturbed run
#   - no block, descriptor, stream or OpenCL object of the program is left
#   - no temporary file stays, and no damaged one
#   - the same command then ends in the files of an undisturbed run, bit for bit
# shellcheck source=tests/faults/lib.sh
. "${BASH_SOURCE%/*}/lib.sh"
faulty=$3 cases=${4:-64} log=${5:-}
all='verify train resume tag translate workers export average cache'
[ "$cases" != errors ] || all='verify cache'
read -ra scenarios <<<"${SCENARIOS:-$all}"
classes=(alloc file cl short zero)
RANDOM=${CLATTN_SEED:-42}

# ---- scenarios -------------------------------------------------------------------

# scenario NAME FOLDER: runs $program with all that it writes in the folder.
scenario() {
    case $1 in
    verify) run verify "$golden" ;;
    train) train tagger "$2/run" ;;
    resume) train tagger "$2/run" --resume ;;
    tag) use tagger "$2/model" ;;
    translate) use translator "$2/model" ;;
    # The toy's translations do not end: their warning is no news.
    workers)
        printf '%s\n' 'the red dog runs.' 'a blue cat.' |
            CLATTN_LOG=error run translate --model "$2/model" --batch-lines 1 ;;
    export) run export --model "$2/model" --out "$2/run" ;;
    average) run average --model "$2/model" --out "$2/run" ;;
    cache) CLATTN_CACHE_BINARIES=1 CLATTN_CACHE_DIR=$2/cache run verify "$golden" ;;
    esac
}

# begin NAME FOLDER: the folder, as the scenario wants it.
begin() {
    mkdir "$2"
    case $1 in
    resume) cp -r "$work/half" "$2/run" ;;
    tag | export | average) cp -r "$work/whole" "$2/model" ;;
    translate | workers) cp -r "$work/translator-run" "$2/model" ;;
    esac
}

# settle NAME FOLDER: what a user does after a failure, with a program without faults.
settle() {
    case $1 in
    train | resume) go_on tagger "$2/run" ;;
    export | average) [ -e "$2/run/config.json" ] || program=$clattn scenario "$1" "$2" ;;
    verify | tag | translate | workers | cache) program=$clattn scenario "$1" "$2" ;;
    esac
}

# same NAME FOLDER FOLDER: equal files of two settled folders.
same() {
    case $1 in
    train | resume) same_run "$2/run" "$3/run" ;;
    export | average) diff -r -x lock "$2/run" "$3/run" && diff -r "$2/model" "$3/model" ;;
    tag | translate | workers) diff -r "$2/model" "$3/model" ;;
    esac
}

# Exit statuses that fit the class: success where a call may fail without consequence.
allowed() { # allowed CLASS
    case $1 in
    alloc) echo 0 5 ;;
    file | openat) echo 0 6 ;;
    cl*) echo 0 4 5 ;;
    short) echo 0 ;;
    zero) echo 0 2 4 5 ;;
    esac
}

# ---- one case --------------------------------------------------------------------

number() { # number KEY REPORT
    sed -n "s/.*\"$1\":\(-\{0,1\}[0-9]*\).*/\1/p" "$2"
}

errors() { grep -av '^clattn: \(warning\|info\|debug\): ' "$1" | grep -ac '^clattn: '; }

# said_in FOLDER: its output, whatever the folder is called.
said_in() { sed "s|$1/|FOLDER/|g" "$1/out"; }

# inspect NAME FAULT FOLDER STATUS: prints what is wrong, or nothing.
inspect() {
    local name=$1 fault=$2 folder=$3 status=$4 class=${2%%:*} said=0
    if [ "$status" -eq 137 ]; then
        echo 'hangs;'
        return
    fi
    if [ "$status" -ge 128 ]; then
        echo "signal $((status - 128));"
        return
    fi
    said=$(errors "$folder/err")
    grep -qw -- "$status" <<<"$(allowed "$class")" || echo "exit $status;"
    [ "$said" -eq $((status != 0)) ] || echo "$said lines of error;"
    [ "$status" -ne 0 ] || [ "$class" = zero ] ||
        cmp -s <(said_in "$folder") <(said_in "$work/$name") || echo 'other output;'
    if ! grep -q '"hit":true' "$folder/report"; then
        echo "not reached, $(number "$class" "$folder/report") calls;"
    fi
    for held in blocks descriptors streams objects; do
        [ "$(number $held "$folder/report")" -eq 0 ] ||
            echo "$(number $held "$folder/report") $held left;"
    done
    [[ $fault == file:*+ ]] || no_scraps "$folder" || echo 'temporary files;'
    if ! settle "$name" "$folder" >"$folder/settled" 2>"$folder/settled.err"; then
        echo "afterwards: $(head -n 1 "$folder/settled.err");"
    elif [ "$class" != zero ] && grep -aq '^clattn: ' "$folder/settled.err"; then
        echo "afterwards says: $(head -n 1 "$folder/settled.err");"
    elif ! same "$name" "$work/$name" "$folder" >"$folder/diff" 2>&1; then
        echo "afterwards differs: $(head -n 1 "$folder/diff");"
    fi
}

# one NAME FAULT JOB: one case; a line of the log. Its folder has a name as long as that
# of the undisturbed run: texts of other lengths grow in other steps.
one() {
    local name=$1 fault=$2 folder status wrong
    printf -v folder '%s/%0*d' "$work" ${#name} "$3"
    rm -rf "$folder"
    begin "$name" "$folder"
    CLATTN_FAULT=$fault CLATTN_FAULT_REPORT=$folder/report program=$faulty limit=180 \
        scenario "$name" "$folder" >"$folder/out" 2>"$folder/err"
    status=$?
    wrong=$(inspect "$name" "$fault" "$folder" $status | one_line)
    printf '{"scenario":"%s","fault":"%s","exit":%d,"wrong":"%s"}\n' \
        "$name" "$fault" $status "$wrong" >>"$log"
    [ -z "$wrong" ] ||
        echo "FAILED  $name $fault: $wrong ($(grep -am 1 '^clattn: ' "$folder/err"))"
    rm -rf "$folder"
}

# ---- all of them -----------------------------------------------------------------

# spread COUNT OF: COUNT numbers from 1 to OF, each from its own part of equal size.
spread() {
    local i
    for ((i = 0; i < $1; i++)); do
        echo $((1 + ($2 * i + (RANDOM * 32768 + RANDOM) % $2) / $1))
    done
}

# Cases of a scenario by class; a class without calls leaves its cases to allocations.
declare -A share=([alloc]=2 [file]=2 [cl]=2 [short]=1 [zero]=1)

# faults NAME: the scenario's cases, a call that fails once and one with all later ones in
# turn.
faults() {
    local class of n turn=0 wanted left=$((cases / ${#scenarios[@]}))
    for class in file cl short zero alloc; do
        of=$(number $class "$work/$1/report")
        wanted=$((cases * share[$class] / 8 / ${#scenarios[@]}))
        [ $class != alloc ] || wanted=$left
        [ "$wanted" -le "$of" ] || wanted=$of
        left=$((left - wanted))
        for n in $(spread "$wanted" "$of"); do
            turn=$((turn + 1))
            if [ $((turn % 2)) -eq 1 ]; then echo "$1 $class:$n"; else echo "$1 $class:$n+"; fi
        done
    done
}

every_fault() {
    local class n
    for class in "${classes[@]}"; do
        for ((n = 1; n <= $(number "$class" "$work/$1/report"); n++)); do
            printf '%s %s:%d\n%s %s:%d+\n' "$1" "$class" $n "$1" "$class" $n
        done
    done
}

# The first call of each path fails once, and from there on.
every_path() {
    local kinds
    kinds=$(IFS='|' && echo "${classes[*]}")
    grep -E "^($kinds):" "$work/$1/paths" | sed "s/.*/$1 &\n$1 &+/"
}

# Errors of OpenCL functions are -1 to -19 and -30 to -72: each of them once, from the first
# call of each function, and from one in the middle.
every_error() {
    local function count code
    grep -o '"cl[A-Z][A-Za-z]*":[0-9]*' "$work/$1/report" | tr -d '"' |
        while IFS=: read -r function count; do
            for code in $(seq 1 19) $(seq 30 72); do
                printf '%s %s:1=-%d\n%s %s:%d=-%d\n' "$1" "$function" "$code" \
                    "$1" "$function" $((1 + count / 2)) "$code"
            done
        done
}

# Calls that once had a finding, and must be tried whatever the numbers are: the folder of
# the kernel cache that cannot be opened under its first name.
found=('cache openat:2')
# A device that cannot be divided works as a whole; one of a single unit is not divided.
run devices --json | grep '"default":true' >"$work/device"
[ "$(number compute_units "$work/device")" -eq 1 ] ||
    found+=('workers clCreateSubDevices:1' 'workers clCreateSubDevices:1+')

# undisturbed NAME: what the scenario does without a fault, which has to be clean too.
undisturbed() {
    local folder=$work/$1 class held
    begin "$1" "$folder"
    CLATTN_FAULT_REPORT=$folder/report CLATTN_FAULT_PATHS=$folder/paths program=$faulty \
        scenario "$1" "$folder" >"$folder/out" 2>"$work/err" || return 1
    for class in "${classes[@]}"; do
        [ -n "$(number "$class" "$folder/report")" ] || return 1
    done
    for held in blocks descriptors streams objects; do
        [ "$(number $held "$folder/report")" -eq 0 ] || {
            echo "$(number $held "$folder/report") $held left" >>"$work/err"
            return 1
        }
    done
    ! grep -aq '^clattn: ' "$work/err" && settle "$1" "$folder" >/dev/null 2>"$work/err"
}

# worker K: each JOBS-th case of the plan that the log does not hold.
worker() {
    local name fault line=0
    while read -r name fault; do
        line=$((line + 1))
        [ $((line % jobs)) -eq "$1" ] || continue
        [ -z "${known["$name $fault"]-}" ] || continue
        one "$name" "$fault" "$1"
    done <"$work/plan"
}

# wrapped: whether the program calls no function of these kinds that cannot fail here; the
# names end in 64, _2 or _chk in some builds.
wrapped() {
    local files='open|openat|close|p?read|p?write|fsync|fdatasync|ftruncate|rename|unlink|mkdir'
    local streams='f(open|dopen|close|flush|read|write|gets|puts|putc|printf)|puts|printf|getdelim'
    nm -D --undefined-only "$clattn" | sed 's/.* //; s/@.*//' | sort -u |
        grep -E "^(_*($files|$streams|[mc]alloc|realloc|strn?dup)(64)?(_2|_chk)?|cl[A-Z].*)\$" |
        grep -v '^clReleaseEvent$' >"$work/called"
    nm "$faulty" | sed -n 's/.* __wrap_//p' | sort -u >"$work/wraps"
    [ -s "$work/wraps" ] && comm -23 "$work/called" "$work/wraps" >"$work/err" && [ ! -s "$work/err" ]
}
check 'every call is wrapped' wrapped

make_tagger
make_translator
train tagger "$work/whole" && train translator "$work/translator-run" || exit 1
CLATTN_FAULT_REPORT=$work/calls program=$faulty train tagger "$work/counted" || exit 1
CLATTN_FAULT=cl:$(($(number cl "$work/calls") * 6 / 10)) program=$faulty \
    train tagger "$work/half" 2>/dev/null && echo 'FAILED  no run is cut off in its middle' && exit 1
{ # kernels are compiled before calls are counted
    run verify "$golden" && use tagger "$work/whole" && use translator "$work/translator-run"
} >/dev/null || exit 1
for name in "${scenarios[@]}"; do
    check "$name without a fault" undisturbed "$name"
done
passed || exit 1
# The last allocation was out of reach where the folder's name had another length.
[[ " ${scenarios[*]} " != *' cache '* ]] ||
    found+=("cache alloc:$(number alloc "$work/cache/report")")

: "${log:=$work/log}"
touch "$log"
declare -A known=()
while IFS='"' read -r _ _ _ name _ _ _ fault _; do
    known["$name $fault"]=yes
done <"$log"
for name in "${scenarios[@]}"; do
    case $cases in
    every) every_fault "$name" ;;
    paths) every_path "$name" ;;
    errors) every_error "$name" ;;
    *) faults "$name" ;;
    esac
done >"$work/plan"
if [[ $cases =~ ^[0-9]+$ ]]; then
    for fault in "${found[@]}"; do
        [[ " ${scenarios[*]} " != *" ${fault% *} "* ]] || echo "$fault"
    done >>"$work/plan"
fi

jobs=${JOBS:-2}
for ((job = 0; job < jobs; job++)); do
    worker $job &
done
wait
wrong=$(grep -c '"wrong":"[^"]' "$log")
echo "$(wc -l <"$log") faults in ${#scenarios[@]} scenarios, $wrong with a finding"
tried() { sed -n 's/^{"scenario":"\([^"]*\)","fault":"\([^"]*\)".*/\1 \2/p' "$log" | sort -u; }
check 'all that was planned was tried' test -s "$work/plan" -a \
    -z "$(comm -23 <(sort -u "$work/plan") <(tried))"
passed && [ "$wrong" -eq 0 ]
