# lib.sh - what the tests of the command line share; read with `.`
# shellcheck shell=bash
set -u
# shellcheck source=tests/cli/toys.sh
. "${BASH_SOURCE%/*}/toys.sh"
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

# check LABEL COMMAND...: one check; a failed one shows what the last command said, and is
# noted in a file, since a pipeline runs it in a subshell. The caller ends with `passed`.
check() {
    local label=$1
    shift
    if "$@"; then
        echo "ok      $label"
    else
        echo "FAILED  $label"
        [ ! -e "$work/err" ] || sed 's/^/    | /' "$work/err"
        echo "$label" >>"$work/failed"
    fi
}

# passed: whether no check has failed.
passed() { [ ! -e "$work/failed" ]; }

# exits CODE PART LINES COMMAND...: the command exits with CODE, stderr has PART, and LINES of
# its lines are ours.
exits() {
    local code=$1 part=$2 lines=$3 got
    shift 3
    "$@" >"$work/out" 2>"$work/err"
    got=$?
    if [ $got -ne "$code" ] || ! grep -qF -- "$part" "$work/err" ||
        [ "$(grep -c '^clattn: ' "$work/err")" -ne "$lines" ]; then
        echo "exit $got, must be $code with '$part'"
        return 1
    fi
}

# says CODE PART COMMAND...: the command exits with CODE and one line of stderr has PART.
says() { exits "$1" "$2" 1 "${@:3}"; }

# prints PART COMMAND...: the command succeeds, and what it writes has PART.
prints() {
    "${@:2}" >"$work/out" || return 1
    grep -qF -- "$1" "$work/out" || {
        echo "lacks '$1':"
        cat "$work/out"
        return 1
    }
}

# writes FILE COMMAND...: the command succeeds, and writes the bytes of the file.
writes() { "${@:2}" >"$work/out" && cmp "$work/out" "$1"; }

# kill_often FOLDER TRAIN...: a training into the folder is killed at moments of its own
# choosing, and resumed once it has begun: on a busy machine the last moments are for that.
# Sets resume to what it goes on with.
kill_often() {
    local folder=$1 delay
    shift
    resume=()
    for delay in 0.15 0.2 0.3 0.35 0.4 0.5 0.6 0.8 1.1 1.6 4 12 36; do
        case $delay in
        4 | 12 | 36) [ ${#resume[@]} -eq 0 ] || break ;;
        esac
        timeout -s KILL "$delay" "$@" --out "$folder" "${resume[@]}" >/dev/null 2>&1
        [ ! -e "$folder/config.json" ] || resume=(--resume)
    done
    [ ${#resume[@]} -eq 1 ]
}

# reader NAME TEXT COMMAND...: one of src/base/readers.h. The command reads work/read, and finds
# the same in TEXT with a byte order mark and CR LF.
reader() {
    printf '%s' "$2" >"$work/read"
    "${@:3}" >"$work/plain" && [ -s "$work/plain" ] || return 1
    printf '\357\273\277%s' "${2//$'\n'/$'\r\n'}" >"$work/read"
    "${@:3}" >"$work/marked" && cmp "$work/plain" "$work/marked"
}

# nothing COMMAND...: without input it succeeds and writes nothing.
nothing() { "$@" </dev/null >"$work/out" && [ ! -s "$work/out" ]; }

# says_alone CODE PART COMMAND...: and stderr has no other line.
says_alone() { says "$@" && [ "$(wc -l <"$work/err")" -eq 1 ]; }

# unsealed FOLDER: makes a model's folder one of a version that wrote no hashes.
unsealed() {
    sed -i -z 's/,\n  "integrity": {[^}]*}//' "$1/config.json"
    LC_ALL=C sed -i 's/"xxh3":"/"none":"/' "$1"/*.ckpt.safetensors
}

# put_numbers STATE NUMBER BYTES: writes over the data of a state, from a number of 4 bytes on;
# BYTES are for printf.
put_numbers() {
    local header
    header=$(od -An -tu4 -N 4 "$1")
    # shellcheck disable=SC2059
    printf "$3" | dd of="$1" bs=1 seek=$((header + 8 + 4 * $2)) conv=notrunc status=none
}

# infinite FOLDER: its best state gets an infinity, as older versions kept it.
infinite() { unsealed "$1" && put_numbers "$1/best.ckpt.safetensors" 0 '\000\000\200\177'; }

# svg_fits FILE: well-formed XML; every text lies inside of the picture and bold titles do
# not touch each other. Widths of letters are those of DejaVu Sans, on average.
svg_fits() {
    python3 - "$1" <<'PYTHON'
import re, sys, xml.etree.ElementTree as tree
root = tree.parse(sys.argv[1]).getroot()
width, height = float(root.get("width")), float(root.get("height"))
titles = {}

def numbers(text):
    return [float(x) for x in re.findall(r"-?[0-9.]+", text)]

def look(node, x, y):
    move = re.search(r"translate\(([^)]*)\)", node.get("transform", ""))
    if move:
        dx, dy = numbers(move.group(1))
        x, y = x + dx, y + dy
    if node.tag.endswith("text"):
        bold = node.get("font-weight") == "bold"
        font = float(node.get("font-size") or root.get("font-size"))
        long = len(node.text) * font * (0.66 if bold else 0.58)
        x, y = x + float(node.get("x", 0)), y + float(node.get("y", 0))
        left = {"end": x - long, "middle": x - long / 2}.get(node.get("text-anchor"), x)
        if "rotate" in node.get("transform", ""):
            up = y + long / 2 if node.get("text-anchor") == "middle" else y
            assert 0 <= up - long and up <= height and font <= x <= width, node.text
        else:
            assert 0 <= left and left + long <= width and font <= y <= height, node.text
        if bold:
            titles.setdefault(y, []).append((left, left + long))
    for child in node:
        look(child, x, y)

look(root, 0, 0)
for row in titles.values():
    row.sort()
    assert all(a[1] < b[0] for a, b in zip(row, row[1:])), row
PYTHON
}

# What learns them by heart: train CONFIG "${toy[@]}".
# shellcheck disable=SC2034
toy=(--set "data=$work/data" --set dev=dev --set test=test --set dim=16 --set heads=2
    --set inner=32 --set layers=1 --set merges=40 --set tokens=100 --set steps=100
    --set eval_every=100 --set warmup=20 --set lr=0.4 --set dropout=0 --quiet)

# compute_units CLATTN: of the device that is the default.
compute_units() {
    "$1" devices --json | sed -n '/"default":true/s/.*"compute_units":\([0-9]*\).*/\1/p'
}
