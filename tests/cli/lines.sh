#!/bin/bash
# lines.sh - translate: the order of output lines, and unusual lines
# usage: tests/cli/lines.sh SOURCE_ROOT CLATTN
# shellcheck source=tests/cli/lib.sh
. "${BASH_SOURCE%/*}/lib.sh"
source=$1 clattn=$2
toy_text "$work/data"
run=$work/run
translate() { "$clattn" translate --model "$run" "$@"; }

"$clattn" train "$source/examples/configs/nmt-plain.json" "${toy[@]}" --out "$run" || exit 1

# ---- order and reading ahead
for i in 1 2 3 4 5 6 7 8 9; do
    shuf --random-source=<(yes "$i") "$work/data/train.en"
    [ $((i % 3)) -ne 0 ] || printf '\nthe\na red dog sleeps. a cat.\n'
done >"$work/many"
translate --beam 2 --read-ahead 1 <"$work/many" >"$work/one"
for ahead in 7 1024; do
    check "reading $ahead lines ahead changes nothing" \
        diff "$work/one" <(translate --beam 2 --read-ahead $ahead --batch-lines 5 <"$work/many")
done
# A line from a pipe is answered before the next one comes.
answers() {
    coproc translate --unbuffered
    local to=${COPROC[1]} from=${COPROC[0]} translator=$COPROC_PID answer
    for line in 'the red cat sleeps.' '' 'the red cat sleeps.'; do
        echo "$line" >&"$to"
        IFS= read -r -t 60 answer <&"$from" || return 1
        [ -z "$line" ] || [ "$answer" = 'die rote Katze schläft.' ] || return 1
    done
    exec {to}>&-
    wait "$translator"
}
check 'answers each line at once' answers

given() { printf 'the\nthe red cat sleeps.\n' | translate --given "$work/read"; }
check 'given lines, whatever their ends' reader given $'der\ndie rote Katze\n' given

# ---- unusual lines
lines() { [ "$(wc -l <"$work/out")" -eq "$1" ]; }
check 'a beam wider than the vocabulary' \
    sh -c "'$clattn' translate --model '$run' --beam 256 --nbest 256 <'$work/data/test.en' >'$work/out'"
check 'gives its lines' lines 1024
long() { yes the | head -n "$1" | paste -sd ' '; }
{ long 300; echo 'the red cat sleeps.'; } | translate >"$work/out"
check 'a line of 300 words' lines 2
check 'leaves its neighbour alone' test "$(sed -n 2p "$work/out")" = 'die rote Katze schläft.'
long 10000 >"$work/long"
echo der >"$work/short"
check 'a line of 10,000 words' \
    grep -q '^-[0-9]' <(translate --max-words 10000 --given "$work/short" <"$work/long")
check 'a translation of as many' \
    grep -q '^-[0-9]' <(translate --max-words 10000 --given "$work/long" <"$work/short")
{ echo 'the red cat sleeps.'; cat "$work/long"; } >"$work/second"
check 'one line more than the limit' says 3 \
    'standard input:2: 10000 words and pieces of words, more than 2000: see --max-words' \
    translate --no-split <"$work/second"
check 'after what came before it' test "$(cat "$work/out")" = 'die rote Katze schläft.'
check 'a given line over the limit' says 3 "$work/long:1: 10000 words" \
    translate --given "$work/long" <"$work/short"
head -c 1000000 /dev/zero | tr '\0' x >"$work/word"
check 'a word of 1 MB' says 3 'standard input:1: ' timeout 20 "$clattn" translate --no-split \
    --model "$run" <"$work/word"
printf 'the\001\002\033[2Jred\r\nthe red cat sleeps.\r\n\302\205 \342\200\250\n\357\273\277\nthe\vdog' |
    translate >"$work/out"
check 'control characters, CRLF, no last line end' lines 5
check 'and the second line as ever' test "$(sed -n 2p "$work/out")" = 'die rote Katze schläft.'
check 'bad UTF-8 at the end' says 3 'standard input:2: not UTF-8 (byte 4)' \
    sh -c "printf 'the red cat sleeps.\nthe\303' | '$clattn' translate --model '$run'"
check 'after what came before it' test "$(cat "$work/out")" = 'die rote Katze schläft.'
check 'a NUL byte' says 3 'standard input:1: holds a NUL byte' \
    sh -c "printf 'a\000b\n' | '$clattn' translate --model '$run'"
check 'a folder on standard input' says 6 'standard input: cannot read: Is a directory' \
    translate <"$work"
check 'a given file of bad UTF-8' says 3 "$work/bad:1: not UTF-8" \
    sh -c "printf '\377\n' >'$work/bad'; echo a | '$clattn' translate --model '$run' --given '$work/bad'"

passed
