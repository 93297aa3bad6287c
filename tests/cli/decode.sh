#!/bin/bash
# decode.sh - what translate says beside the best translation, and of given ones
# usage: tests/cli/decode.sh SOURCE_ROOT CLATTN
# shellcheck source=tests/cli/lib.sh
. "${BASH_SOURCE%/*}/lib.sh"
source=$1 clattn=$2
toy_text "$work/data"
run=$work/run
translate() { "$clattn" translate --model "$run" "$@"; }

# close TOLERANCE: the two first numbers of each line of standard input differ by at most that.
close() { awk -v most="$1" '{ d = $1 - $2; if (d < 0) d = -d; if (!(d <= most)) bad = 1 }
    END { exit bad || !NR }'; }

"$clattn" train "$source/examples/configs/nmt-plain.json" "${toy[@]}" --out "$run" || exit 1
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
falling() { awk -F '\t' 'NR % 3 != 1 && !($2 <= last) { exit 1 } { last = $2 }' "$work/three" &&
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
by_default() {
    "$clattn" eval --model "$run" --split dev >"$work/dev" &&
        writes "$work/dev" "$clattn" eval --model "$run"
}
check 'eval of dev is that of the same text' by_default
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

passed
