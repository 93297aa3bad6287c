#!/bin/sh
# classifier.sh - the example that trains a network of its own, in one process, and serves
# it in another
# usage: tests/train/classifier.sh PROGRAM
set -eu
program=$(realpath "$1")
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"

fail() {
    echo "classifier: $*" >&2
    exit 1
}

# answers LINE...: what it says of each
answers() {
    printf '%s\n' "$@" | "$program" serve
}

status=0
answers rain 2>said || status=$?
[ $status -eq 1 ] || fail "serves without a file: $status"
grep -q 'classifier.safetensors' said || fail "does not name the file: $(cat said)"

"$program" train
right='weather
music
light
weather'
# sentences that it has not seen, and one of words that it has not seen, too
got=$(answers 'is it cold today' 'play this song' 'the lamp is dark' 'rain in xyzzy')
[ "$got" = "$right" ] || fail "answers $got"
[ -n "$(answers '')" ] || fail 'no answer to an empty line'

printf x | dd of=classifier.safetensors bs=1 seek=9000 conv=notrunc status=none
! answers rain 2>said || fail 'serves a damaged file'
