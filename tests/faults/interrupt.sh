#!/bin/bash
# interrupt.sh - SIGINT at random moments: status 130, and nothing measured or learnt is lost
# usage: tests/faults/interrupt.sh SOURCE_ROOT CLATTN [MOMENTS]
#
# At MOMENTS (default 2) moments of a training, of each kind of model in turn, and at as many
# of a benchmark. A moment is a number of lines of the run's log, or of rows of the result,
# and some hundredths of a second more. Each stopped training goes on with the command that it
# prints and must then equal, in all files, one that was left alone. The rows of a stopped
# benchmark are whole, and are those with which one that was left alone begins. CLATTN_SEED
# chooses the moments. Where the program ends before the signal comes, an earlier moment is
# taken.
# shellcheck source=tests/faults/lib.sh
. "${BASH_SOURCE%/*}/lib.sh"
moments=${3:-2}
RANDOM=${CLATTN_SEED:-42}
export CLATTN_LOG=error # bench warns of other work
# The copy rate is measured in an eighth of the memory: with less of it bench starts sooner.
export POCL_MEMORY_LIMIT=1 # GB

# lines_of FILE: how many it has; none where it does not exist.
lines_of() { if [ -e "$1" ]; then wc -l <"$1"; else echo 0; fi; }

# interrupt N FILE COMMAND...: SIGINT when the file has N lines; returns the command's status.
interrupt() {
    local lines=$1 file=$2 process
    rm -rf "$work/run" "$work/rows.json"
    "${@:3}" >"$work/out" 2>"$work/err" &
    process=$!
    while kill -0 "$process" 2>/dev/null; do
        [ ! -e "$begun" ] || [ "$(lines_of "$file")" -lt "$lines" ] || break
        sleep 0.01
    done
    sleep "0.0$delay"
    kill -INT "$process" 2>/dev/null
    wait "$process"
}

# stop N FILE START: interrupts what the function START runs; earlier where it had ended.
stop() {
    local lines=$1 status
    while :; do
        interrupt "$lines" "$2" "$3"
        status=$?
        if [ $status -ne 0 ] || [ "$lines" -eq 0 ]; then break; fi
        echo "ended before the signal after $lines lines"
        lines=$((lines / 2))
    done
    reached=$lines
    [ $status -eq 130 ] || { echo "exit $status after $lines lines" && return 1; }
}

# whole_lines FILE: each is an object of JSON, and the last has its line end.
whole_lines() {
    [ -e "$1" ] || return 0
    [ -z "$(tail -c 1 "$1")" ] && python3 -c '
import json, sys
for line in open(sys.argv[1], encoding="utf-8"):
    json.loads(line)' "$1"
}

# ---- train -------------------------------------------------------------------------

# learn FOLDER: two dozen steps of $kind, a line of the log for each.
learn() {
    local set=() setting
    for setting in ${settings[$kind]} patience=0 epochs=1000 steps=24 save_every=7 eval_every=5 \
        log_every=1 "data=$work/$kind"; do
        set+=(--set "$setting")
    done
    exec "$clattn" train "$configs/${config[$kind]}.json" "${set[@]}" --out "$1"
}
learn_here() { learn "$work/run"; }
resumed() {
    local line begun=$work/run/config.json
    stop "$lines" "$work/run/log.jsonl" learn_here || return 1
    [ "$(lines_of "$work/run/log.jsonl")" -ge "$reached" ] && whole_lines "$work/run/log.jsonl" &&
        "$clattn" check "$work/run" >/dev/null || return 1
    line=$(sed -n '/continue with:$/{n;p}' "$work/err")
    if [ -n "$line" ]; then
        sh -c "$line" >/dev/null 2>"$work/err" || return 1
    else # the signal came after the last step: there is nothing to continue
        grep -q "^done: 24 steps" "$work/err" || return 1
    fi
    same_run "$work/whole-$kind" "$work/run"
}

for ((i = 0; i < moments; i++)); do
    kind=${kinds[i % ${#kinds[@]}]} lines=$((RANDOM % 28)) delay=$((RANDOM % 10))
    if [ ! -d "$work/$kind" ]; then
        "make_$kind"
        (learn "$work/whole-$kind") >/dev/null 2>"$work/err" || exit 1
    fi
    check "$kind: stopped after $lines lines, continued as printed" resumed
done

# ---- bench -------------------------------------------------------------------------

measure() { "$clattn" bench --quick --suite layers --json "$1"; }
cases() { sed 's/.*"case":"\([^"]*\)".*"provider":"\([^"]*\)".*/\1 \2/' "$1"; }
measure "$work/whole.json" >/dev/null 2>"$work/err" || exit 1
all=$(wc -l <"$work/whole.json")
measure_here() {
    exec "$clattn" bench --quick --suite layers --json "$work/rows.json"
}
kept() {
    local rows begun=$work/rows.json
    stop "$lines" "$work/rows.json" measure_here || return 1
    rows=$(lines_of "$work/rows.json")
    [ "$rows" -ge "$reached" ] && whole_lines "$work/rows.json" &&
        diff <(cases "$work/rows.json") <(cases "$work/whole.json" | head -n "$rows") &&
        grep -q 'stopped; the rows measured so far are in' "$work/err"
}
for ((i = 0; i < moments; i++)); do
    lines=$((RANDOM % (all - 4))) delay=$((RANDOM % 10))
    check "bench: stopped after $lines of $all rows" kept
done

echo "$((2 * moments)) moments"
passed
