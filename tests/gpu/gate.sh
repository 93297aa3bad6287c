#!/bin/sh
# gate.sh - the gate of GPU figures turns red for what breaks a budget, and only then
# usage: CLATTN_GPU=FOLDER tests/gpu/gate.sh
set -eu
cd "$(dirname "$0")/../.."
[ -e "${CLATTN_GPU:-}/versions" ] || {
    echo 'not run: no compilers in the folder CLATTN_GPU'
    exit 77
}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cp tests/gpu/breaker.cl "$work/breaker.cl"
bad=0

# launch KERNEL LIVE ITEMS ARGUMENT_BYTES: the one launch that is recorded.
launch() {
    printf '{"file": "breaker", "kernel": "%s", "defines": {"LIVE": %d}, "options": "-cl-std=CL1.2", ' "$1" "$2"
    printf '"local": [%d, 1, 1], "arg_bytes": %d, "local_bytes": 0, "groups": [1, 1, 1]}\n' "$3" "$4"
} >"$work/launches.jsonl"

# gate STATUS WORDS: the gate ends with the status and says the words.
gate() {
    status=0
    python3 tests/gpu/analysis/report.py "$work" --targets "$targets" --check --breaches "$work/breaches" \
        --figures "$work/figures" >"$work/out" 2>&1 || status=$?
    if [ "$status" -ne "$1" ] || ! grep -qE "$2" "$work/out"; then
        echo "FAILED: status $status and not $1, or no '$2':"
        cat "$work/out"
        bad=1
    fi
}

: >"$work/breaches"
targets=gfx1100,sm_90,dg2-g10
launch hold 8 64 16
gate 0 'hold their budgets'
launch hold 400 64 16
for target in gfx1100 sm_90 dg2-g10; do
    gate 1 "BREACH  $target +hold LIVE=400: [0-9]+ bytes of registers spilled"
done

targets=gfx1100
for target in '*' gfx1100; do # a breach that is known, with its reason
    echo "spill $target hold* - the test wants it" >"$work/breaches"
    gate 0 'hold their budgets'
done
echo "spill sm_* hold* - another target" >"$work/breaches"
gate 1 'BREACH'
echo "spill gfx1100 hold*" >"$work/breaches" # no reason
gate 1 'budget target case - reason'
echo "spill gfx1100 gone* - mended" >"$work/breaches"
launch hold 8 64 16
gate 1 'MENDED .*delete line 1'
: >"$work/breaches"

launch hold 8 512 16
gate 1 '512 items a group'
launch hold 8 64 300
gate 1 '300 bytes of arguments'
launch call 9 64 8
gate 1 'calls out of line: apart'
launch place 8 64 16
gate 1 '[0-9]+ bytes of private arrays in memory'
gate 1 '40960 bytes of local memory'
launch none 8 64 16
gate 1 'does not compile'

# Work that one group does, on a card of 132 units, and the same in a thousand groups.
grid() {
    {
        printf '{"case": "holding fwd", "flops": 1e9, "bytes": 0}\n'
        printf '{"file": "breaker", "kernel": "hold", "defines": {"LIVE": 8}, "local": [64, 1, 1], '
        printf '"groups": [%d, 1, 1], "flops": 1e9, "bytes": 4096}\n' "$1"
    } >"$work/grids.jsonl"
}
targets=sm_90
launch hold 8 64 16
grid 1056
gate 0 'hold their budgets'
grid 1
gate 1 'BREACH  sm_90 +holding fwd: [0-9.]+ ms estimated on 132 units.* 1 groups'
echo "estimate sm_70|sm_90 add*|hold* - the test wants it" >"$work/breaches"
gate 0 'hold their budgets'
: >"$work/breaches"
rm "$work/grids.jsonl"
targets=gfx1100

# A bound more than a tenth below the stored one.
launch hold 8 64 16
floor() {
    printf '{"compilers": {}}\n{"target": "gfx1100", "case": "hold LIVE=8", "bound": %s}\n' "$1"
} >"$work/figures"
floor 0.001
gate 0 'hold their budgets'
floor 2.0
gate 1 'BELOW .*bound is [0-9]+ %, stored 200 %'
echo '{"compilers": {"ptxas": "1.0"}}' >"$work/figures" # of another compiler
gate 1 'VERSION ptxas: figures are stored from 1.0, here is '

[ "$bad" -eq 0 ] && echo 'the gate holds'
exit "$bad"
