#!/bin/bash
# translate.sh - a tiny translator from the command line: trained, scored, used
# usage: tests/cli/translate.sh SOURCE_ROOT CLATTN
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
config=$source/examples/configs/nmt-plain.json
tiny=(--set "data=$work/data" --set dev=dev --set test=test --set dim=16 --set heads=2
    --set inner=32 --set layers=1 --set merges=40 --set tokens=100 --set steps=100
    --set eval_every=100 --set warmup=20 --set lr=0.4 --set dropout=0 --quiet)
run=$work/run

train() { "$clattn" train "$config" "${tiny[@]}" "$@"; }
translate() { "$clattn" translate --model "$run" "$@"; }

check 'trains' train --out "$run"
check 'writes what a model folder needs' \
    test -s "$run/best.ckpt.safetensors" -a -s "$run/codes.txt" -a -s "$run/source.txt" \
    -a -s "$run/target.txt" -a -s "$run/config.json"
check 'scores' sh -c "'$clattn' eval --model '$run' | grep -q '^perplexity'"

# What was learnt by heart comes back; empty lines keep their places, at either beam.
printf '\n%s\n\n  \n%s\n' 'the red cat sleeps.' 'a blue dog sleeps.' >"$work/in"
printf '\n%s\n\n\n%s\n' 'die rote Katze schläft.' 'ein blauer Hund schläft.' >"$work/want"
for beam in 1 4; do
    translate --beam $beam <"$work/in" >"$work/got"
    check "translates with a beam of $beam" diff "$work/want" "$work/got"
done
# As many lines come out as went in: a last line without end, letters never seen, none.
check 'gives a line for a line' \
    test "$(printf '\r\n\303\251\344\270\255 \001x\nthe' | translate --batch-lines 2 | wc -l)" = 3
check 'gives nothing for nothing' test -z "$(translate </dev/null)"

check 'refuses bad text' \
    says 3 'standard input:2: not UTF-8' sh -c "printf 'a\nbc\344\270' | '$clattn' translate --model '$run'"
check 'refuses a beam of none' says 2 "--beam is '0', must be 1 to 256" translate --beam 0
check 'refuses no model' says 2 'translate needs --model DIR' "$clattn" translate
echo 'one more' >>"$work/data/train.en"
check 'names a line without a partner' says 3 'train.en:5: has no partner' train --out "$work/other"
rm "$run/target.txt"
check 'refuses a folder that lacks a vocabulary' says 6 'target.txt' translate

[ $failures -eq 0 ]
