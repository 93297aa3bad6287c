#!/bin/bash
# score.sh - pieces and scores from the command line
# usage: tests/cli/score.sh SOURCE_ROOT CLATTN
set -u
source=$1 clattn=$2
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
failures=0

check() { # check LABEL COMMAND...
    label=$1
    shift
    if "$@"; then
        echo "ok      $label"
    else
        echo "FAILED  $label"
        failures=$((failures + 1))
    fi
}

# says CODE PART COMMAND...: the command exits with CODE and its one line of stderr has PART.
says() {
    code=$1 part=$2
    shift 2
    "$@" >"$work/out" 2>"$work/err"
    got=$?
    if [ $got -ne "$code" ] || ! grep -qF -- "$part" "$work/err" ||
        [ "$(wc -l <"$work/err")" -ne 1 ]; then
        echo "exit $got, must be $code with '$part':"
        cat "$work/err"
        return 1
    fi
}

# ---- bpe
bpe=$source/tests/data/oracles/bpe
learnt() { "$clattn" bpe learn --merges 1000 "$bpe/corpus.en" | cmp - "$bpe/bpe.ref"; }
applied() {
    "$clattn" bpe apply --codes "$bpe/bpe.ref" <"$bpe/corpus.en" |
        cmp - "$bpe/corpus.bpe.ref.en"
}
undone() { "$clattn" bpe undo <"$bpe/corpus.bpe.ref.en" | cmp - "$bpe/corpus.en"; }
check 'bpe learn equals subword-nmt' learnt
check 'bpe apply equals subword-nmt' applied
check 'bpe undo' undone

printf ' Zwei  (alte) Männer, 我们。\n\n\t"\x01…\n%s\n' "$(seq -s '-' 10000)" >"$work/odd"
printf 'crlf, too\r\n' >"$work/crlf"
round_trip() {
    "$clattn" bpe learn --merges 50 --split --out "$work/codes" "$work/odd" "$work/crlf" &&
        "$clattn" bpe apply --codes "$work/codes" --split <"$work/odd" >"$work/pieces" &&
        "$clattn" bpe undo --split <"$work/pieces" | cmp - "$work/odd"
}
check 'bpe --split comes back to the byte' round_trip
crlf() {
    "$clattn" bpe apply --codes "$work/codes" --split <"$work/crlf" |
        "$clattn" bpe undo --split | grep -qx 'crlf, too'
}
check 'bpe: CRLF ends a line' crlf
check 'bpe: no verb' says 2 'bpe needs a verb: learn, apply or undo' "$clattn" bpe
check 'bpe: a slip' says 2 "did you mean 'apply'" "$clattn" bpe applyy
check 'bpe learn: no number' says 2 'needs --merges' "$clattn" bpe learn "$work/odd"
check 'bpe learn: bad number' says 2 "--merges is '-3'" "$clattn" bpe learn --merges -3
check 'bpe learn: nothing to learn from' says 3 'holds no word' \
    "$clattn" bpe learn --merges 5 /dev/null
check 'bpe apply: bad codes' says 3 "$work/odd:1: codes must begin" \
    "$clattn" bpe apply --codes "$work/odd"
check 'bpe apply: no codes' says 6 'nowhere: cannot open' "$clattn" bpe apply --codes nowhere
check 'bpe apply: cut off inside a character' says 3 'standard input:2: not UTF-8 (byte 3)' \
    sh -c "printf 'a\nbc\344\270' | '$clattn' bpe apply --codes '$work/codes'"
check 'bpe undo: a NUL byte' says 3 'standard input:1: holds a NUL byte' \
    sh -c "printf 'a\000b\n' | '$clattn' bpe undo"

[ $failures -eq 0 ]
