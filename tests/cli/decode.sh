#!/bin/bash
# decode.sh - what translate says beside the best translation, in which order, of which input
# usage: tests/cli/decode.sh SOURCE_ROOT CLATTN
# shellcheck source=tests/cli/lib.sh
. "${BASH_SOURCE%/*}/lib.sh"
source=$1 clattn=$2
mkdir "$work/data"
cat >"$work/data/train.en" <<'END'
the red dog runs.
the red cat sleeps.
a blue dog sleeps.
a blue cat runs.
END
cat >"$work/data/train.de" <<'END'
der rote Hund rennt.
die rote Katze schläft.
ein blauer Hund schläft.
eine blaue Katze rennt.
END
for split in dev test; do
    cp "$work/data/train.en" "$work/data/$split.en"
    cp "$work/data/train.de" "$work/data/$split.de"
done
tiny=(--set "data=$work/data" --set dev=dev --set test=test --set dim=16 --set heads=2
    --set inner=32 --set layers=1 --set merges=40 --set tokens=100 --set steps=100
    --set eval_every=100 --set warmup=20 --set lr=0.4 --set dropout=0 --quiet)
run=$work/run
translate() { "$clattn" translate --model "$run" "$@"; }

# close TOLERANCE: the two first numbers of each line of standard input differ by at most that.
close() { awk -v most="$1" '{ d = $1 - $2; if (d < 0) d = -d; if (!(d <= most)) bad = 1 }
    END { exit bad || !NR }'; }

"$clattn" train "$source/examples/configs/nmt-plain.json" "${tiny[@]}" --out "$run" || exit 1
printf '\n%s\n\n  \n%s\n' 'the red cat sleeps.' 'a blue dog sleeps.' >"$work/in"
translate --beam 4 <"$work/in" >"$work/plain"

# ---- scores and several translations
translate --beam 4 --scores <"$work/in" >"$work/scores"
check 'scores stand beside the translation' diff "$work/plain" <(cut -f 3- "$work/scores")
check 'an empty line is certain' test "$(sed -n 4p "$work/scores")" = $'0.000000\t0.000000\t'
penalised() { # ((5 + n) / 6)^0.6 for n from 2 to 22
    awk -F '\t' 'NF == 3 && $3 != "" { print $1 / $2 }' "$work/scores" >"$work/ratio"
    [ "$(wc -l <"$work/ratio")" -eq 2 ] && awk '!($1 > 1 && $1 < 2.5) { exit 1 }' "$work/ratio"
}
check 'the score is smaller by the length penalty' penalised
check 'without one both are the same' close 0 < <(translate --beam 4 --scores -a 0 <"$work/in")

translate --beam 4 --nbest 3 --scores <"$work/in" >"$work/three"
check 'three lines for each' test "$(wc -l <"$work/three")" = 15
check 'the first of them is the best' diff "$work/scores" <(sed -n '1~3p' "$work/three")
check 'what is not there has no probability' \
    test "$(sed -n 2p "$work/three")" = $'-inf\t-inf\t'
falling() { awk -F '\t' 'NR % 3 != 1 && $2 > last { exit 1 } { last = $2 }' "$work/three" &&
    [ "$(sed -n 4,6p "$work/three" | cut -f 3 | sort -u | wc -l)" -eq 3 ]; }
check 'they fall, and differ' falling
check 'two without scores' diff <(sed -n '1~3p;2~3p' "$work/three" | cut -f 3) \
    <(translate --beam 4 --nbest 2 <"$work/in")
check 'refuses more than the beam has' says 2 '--nbest is 3, the beam has 2' \
    translate --beam 2 --nbest 3

# ---- given translations
translate --given "$work/plain" <"$work/in" >"$work/given"
check 'a number for each line' test "$(wc -l <"$work/given")" = 5
check 'the probability that the search found' close 2e-4 \
    < <(paste "$work/given" "$work/scores" | cut -f 1,3)
check 'and the score' close 2e-4 < <(paste "$work/given" "$work/scores" | cut -f 2,4)
# All of the test set, in natural logarithms, is what eval takes the mean of.
same_loss() {
    "$clattn" eval --model "$run" --split test --json >"$work/eval" || return 1
    nll=$(sed 's/.*"nll":\([^,}]*\).*/\1/' "$work/eval")
    pieces=$(sed 's/.*"pieces":\([^,}]*\).*/\1/' "$work/eval")
    perplexity=$(sed 's/.*"perplexity":\([^,}]*\).*/\1/' "$work/eval")
    translate --given "$work/data/test.de" <"$work/data/test.en" |
        awk -v nll="$nll" -v n="$pieces" '{ s -= $1 } END { print s / n, nll }' >"$work/both"
    close 1e-4 <"$work/both" &&
        echo "$nll $perplexity" | awk '{ print exp($1), $2 }' | close 1e-4
}
check "eval's loss and perplexity are those of the test set" same_loss
check 'eval of dev is that of the same text' diff <("$clattn" eval --model "$run") \
    <("$clattn" eval --model "$run" --split dev)
printf 'x\n\n\n' >"$work/odd"
odd() { printf '\n\nthe\n' | translate --given "$work/odd" >"$work/out" &&
    [ "$(sed -n 1,2p "$work/out" | tr '\t\n' '  ')" = '-inf -inf 0.000000 0.000000 ' ] &&
    sed -n 3p "$work/out" | grep -q '^-[0-9]'; }
check 'text from nothing is impossible, nothing from nothing certain' odd
check 'names a line too many' says 3 'standard input:4: has no partner' \
    sh -c "seq 4 | '$clattn' translate --model '$run' --given '$work/odd'"
check 'names a line too few' says 3 "$work/odd:3: has no partner: standard input ends at line 2" \
    sh -c "seq 2 | '$clattn' translate --model '$run' --given '$work/odd'"
check 'given translations are not searched' says 2 '--given and --nbest' \
    translate --beam 2 --nbest 2 --given "$work/odd"

# ---- order and reading ahead
for i in 1 2 3 4 5 6 7 8 9; do
    shuf --random-source=<(yes "$i") "$work/data/train.en"
    [ $((i % 3)) -ne 0 ] || printf '\nthe\n%s %s\n' "$(head -n 1 "$work/in")" 'a red dog sleeps. a cat.'
done >"$work/many"
translate --beam 2 --read-ahead 1 <"$work/many" >"$work/one"
for ahead in 3 7 1024; do
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

# ---- what nobody writes
lines() { [ "$(wc -l <"$work/out")" -eq "$1" ]; }
check 'a beam wider than the vocabulary' \
    sh -c "'$clattn' translate --model '$run' --beam 256 --nbest 256 <'$work/in' >'$work/out'"
check 'gives its lines' lines 1280
long() { yes the | head -n "$1" | paste -sd ' '; }
{ long 10000; echo 'the red cat sleeps.'; } | timeout 300 "$clattn" translate --model "$run" >"$work/out"
check 'a line of 10,000 words' lines 2
check 'leaves its neighbour alone' test "$(sed -n 2p "$work/out")" = 'die rote Katze schläft.'
long 1000 >"$work/long"
check 'has a probability' grep -q '^-[0-9]' \
    <(echo the | translate --given "$work/long")
printf 'the\001\002\033[2Jred\r\nthe red cat sleeps.\r\n\302\205 \342\200\250\n\357\273\277\nthe\vdog' |
    translate >"$work/out"
check 'control characters, CRLF, no last line end' lines 5
check 'and the second line as ever' test "$(sed -n 2p "$work/out")" = 'die rote Katze schläft.'
check 'bad UTF-8 at the end' says 3 'standard input:2: not UTF-8 (byte 4)' \
    sh -c "printf 'the red cat sleeps.\nthe\303' | '$clattn' translate --model '$run'"
check 'after what came before it' test "$(cat "$work/out")" = 'die rote Katze schläft.'
check 'a NUL byte' says 3 'standard input:1: holds a NUL byte' \
    sh -c "printf 'a\000b\n' | '$clattn' translate --model '$run'"
check 'a given file of bad UTF-8' says 3 "$work/bad:1: not UTF-8" \
    sh -c "printf '\377\n' >'$work/bad'; echo a | '$clattn' translate --model '$run' --given '$work/bad'"

[ $failures -eq 0 ]
