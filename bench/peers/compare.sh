#!/bin/bash
# compare.sh - clattn beside PyTorch, case by case in turn, as a table of ratios and goals
# usage: bench/peers/compare.sh [CLATTN [ROUNDS [VENV [RE]]]]
#
# CLATTN defaults to build/clattn, ROUNDS to 3, VENV to where setup.sh puts it, RE, which cases
# match, to all. Each round measures a case with clattn and at once with PyTorch, so that both
# see the same machine; the table gives medians over the rounds. Without PyTorch its columns
# stay empty. POCL_MAX_PTHREAD_COUNT, where it is set, is PyTorch's number of threads too.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
clattn=${1:-$here/../../build/clattn}
rounds=${2:-3}
venv=${3:-${XDG_CACHE_HOME:-$HOME/.cache}/clattn/peers}
python=$venv/bin/python
if ! [ -x "$python" ]; then
    echo "compare.sh: no PyTorch in $venv, its columns stay empty (setup.sh installs it)"
    python=python3
fi
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

threads=${POCL_MAX_PTHREAD_COUNT:-$(nproc)}

mapfile -t cases < <(python3 "$here/goals.py" --list "${4:-}")
for ((round = 1; round <= rounds; round++)); do
    for i in "${!cases[@]}"; do
        printf '\rround %d of %d, case %d of %d ' \
            "$round" "$rounds" "$((i + 1))" "${#cases[@]}" >&2
        pattern="^${cases[i]//+/\\+}\$"
        out=$work/$round-$i
        "$clattn" bench --filter "$pattern" --json "$out-clattn.json" >"$work/log" 2>&1 || {
            printf '\n%s: ' "${cases[i]}" >&2
            tail -n 1 "$work/log" >&2
            continue
        }
        "$python" "$here/pytorch.py" --threads "$threads" "$out-clattn.json" "$out-torch.json" \
            >"$work/log" 2>&1 || cat "$work/log" >&2
    done
done
printf '\n' >&2
"$clattn" bench --quick --filter '^masked_softmax fwd B8 H8 T256 S256$' | head -n 2
python3 "$here/goals.py" --only "${4:-}" "$work"/*.json
