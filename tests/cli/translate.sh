#!/bin/bash
# translate.sh - a tiny translator from the command line: trained, scored, used
# usage: tests/cli/translate.sh SOURCE_ROOT CLATTN TRANSLATE_EXAMPLE
# shellcheck source=tests/cli/lib.sh
. "${BASH_SOURCE%/*}/lib.sh"
source=$1 clattn=$2 example=$3
toy_text "$work/data"
config=$source/examples/configs/nmt-plain.json
run=$work/run

train() { "$clattn" train "$config" "${toy[@]}" "$@"; }
translate() { "$clattn" translate --model "$run" "$@"; }

check 'trains' train --out "$run"
check 'clattn-config(5) names its keys' python3 "$source/tools/config_manual.py" keys "$run/config.json"
check 'writes what a model folder needs' \
    test -s "$run/best.ckpt.safetensors" -a -s "$run/codes.txt" -a -s "$run/source.txt" \
    -a -s "$run/target.txt" -a -s "$run/config.json"
check 'scores' prints perplexity "$clattn" eval --model "$run"
# BLEU and chrF of eval are those of its translations, for each of several models.
check 'trains a worse one' train --set steps=30 --set eval_every=30 --out "$work/worse"
quality() {
    local beam name line metric score
    for beam in 1 4; do
        "$clattn" eval --model "$run" --model "$work/worse" --beam $beam --json >"$work/both" || return 1
        for name in "$run" "$work/worse"; do
            "$clattn" translate --model "$name" --beam $beam <"$work/data/test.en" >"$work/said" || return 1
            line=$(grep -F "\"model\":\"$name\"" "$work/both")
            for metric in bleu chrf; do
                score=$("$clattn" score $metric --json --ref "$work/data/test.de" --hyp "$work/said" |
                    sed 's/.*"score":\([^,]*\),.*/\1/')
                grep -qE "\"$metric\":$score(,|\})" <<<"$line" || return 1
            done
        done
    done
}
check 'eval scores translations as score does' quality
table() {
    "$clattn" eval --model "$run" --model "$work/worse" >"$work/out" &&
        grep -qE '^bleu +100.00 +[0-9.]+$' "$work/out" && grep -qE '^chrf +100.00 +[0-9.]+$' "$work/out"
}
check 'eval compares two translators' table

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
check 'gives nothing for nothing' nothing translate

# Documents: the markup stays, and each text is translated as a line.
if "$clattn" translate --model "$run" --format html </dev/null 2>&1 | grep -q 'built without'; then
    echo 'skipped documents: built without Gumbo and MD4C'
    documents=''
else
    documents='html markdown'
fi
for format in $documents; do
    check "forty pages of $format lose nothing" \
        python3 "$source/tests/cli/document.py" "$format" "$clattn" "$run"
    check "nothing of $format is nothing" nothing translate --format "$format"
    check "$format has no n best" says 2 "--format $format and --nbest: one of them" \
        translate --beam 2 --nbest 2 --format "$format"
done
if CLATTN_LOG=info translate <<<'the red dog runs.' 2>&1 | grep -q 'built without ICU'; then
    echo 'skipped paragraphs: built without ICU'
else
    check 'forty pages of paragraphs, lists and quotes keep each sentence' \
        python3 "$source/tests/cli/document.py" text "$clattn" "$run"
fi
# Line ends of the markup stay as they are.
document() { translate --format html <"$work/read" | tr -d '\r'; }
[ -z "$documents" ] || check 'reads a document, whatever its line ends' \
    reader document $'<p>the red cat sleeps.\n a blue dog</p>\n<br>\n' document
check 'refuses another format' says 2 "--format is 'rtf', must be text, html or markdown" translate --format rtf

# Workers, on shares of the device, give the same lines in the same order.
units=$(compute_units "$clattn")
for ((i = 0; i < 40; i++)); do cat "$work/in"; done >"$work/many"
with_workers() {
    translate --batch-lines 8 --workers 1 "$@" <"$work/many" >"$work/want" &&
        translate --batch-lines 8 --workers 2 "$@" <"$work/many" >"$work/got" && diff "$work/want" "$work/got" &&
        translate --batch-lines 8 "$@" <"$work/many" >"$work/got" && diff "$work/want" "$work/got"
}
if [ "$units" -ge 2 ]; then
    check 'two workers translate as one does' with_workers
    check 'and score' with_workers --beam 2 --scores
fi
check 'refuses more workers than the device has units' \
    says 2 "has $units compute units" sh -c "yes a | head -n 3 | '$clattn' translate --model '$run' --workers 256"

# The C API, in a program of its own.
application() {
    "$example" "$run" '' 'the red cat sleeps.' ' ' 'a blue dog sleeps.' >"$work/out" &&
        translate --beam 4 --scores <<<$'\nthe red cat sleeps.\n \na blue dog sleeps.' \
            >"$work/lines" && cut -f 3 "$work/lines" | diff - <(cut -f 2 "$work/out") &&
        cut -f 2 "$work/lines" | sed 's/...$//' | diff - <(cut -f 1 "$work/out" | sed 's/...$//')
}
check 'an application translates' application
refusals() {
    ! "$example" "$run" a $'a\nb' 2>"$work/err" && grep -q 'lines\[1\] holds a line end' "$work/err" &&
        ! "$example" "$run" $'ab\xff' 2>"$work/err" && grep -q 'lines\[0\] is not UTF-8' "$work/err" &&
        ! "$example" "$work/data" a 2>"$work/err" && grep -q 'data/config.json' "$work/err"
}
check 'an application is told what is wrong' refusals

# A run from before "attention_where", when rel_pos was in the decoder, too.
older() {
    local old=$work/old
    train --set attention=rel_pos --set attention_where=both --set steps=4 --out "$old" &&
        "$clattn" eval --model "$old" >"$work/want" && unsealed "$old" &&
        sed -i '/"attention_where"/d' "$old/config.json" &&
        "$clattn" eval --model "$old" >"$work/got" && diff "$work/want" "$work/got" &&
        train --set attention=rel_pos --set steps=4 --out "$old" --resume
}
check 'an older run keeps its decoder, and goes on' older

# The lines of a language begin with its prefix, which is one piece in training, too.
prefixed() {
    local split folder=$work/prefixed
    mkdir "$folder" || return 1
    for split in train dev test; do
        sed 's/^/>>de<< /' "$work/data/$split.en" >"$folder/$split.en"
        sed 's/^/>>en<< /' "$work/data/$split.en" >>"$folder/$split.en"
        cat "$work/data/$split.de" "$work/data/$split.en" >"$folder/$split.de"
    done
    for tied in all none; do
        train --set "data=$folder" --set prefix_token=true --set tied=$tied --set steps=1 \
            --out "$work/prefixed-$tied" && grep -qxF '>>de<<' "$work/prefixed-$tied/source.txt" &&
            grep -qxF '>>en<<' "$work/prefixed-$tied/source.txt" || return 1
    done
    cmp "$work/prefixed-all/source.txt" "$work/prefixed-all/target.txt" &&
        ! grep -F '>>de<<' "$work/prefixed-none/target.txt" &&
        train --set "data=$folder" --set prefix_token=true --set tied=all --set steps=1 \
            --set eval_every=1 --set epochs=2 --out "$work/prefixed-all" --resume
}
check 'a prefix is one piece in training' prefixed
languages() {
    local model=$work/prefixed-all
    "$clattn" languages --model "$model" >"$work/got" &&
        printf 'en\tde\nen\ten\n' | diff - <(sort "$work/got") &&
        "$clattn" languages --model "$model" --json | grep -qxF '{"source":"en","target":"de"}' &&
        "$clattn" translate --model "$model" <<<$'>>de<< the dog\n' >"$work/want" &&
        "$clattn" translate --model "$model" --target de <<<$'the dog\n' >"$work/got" &&
        diff "$work/want" "$work/got" &&
        "$clattn" languages --model "$run" | grep -qxF $'en\tde'
}
check 'a target is chosen by its name' languages
check 'refuses a target that is none' \
    says 3 'the model has no target ed; did you mean' \
    sh -c "echo a | '$clattn' translate --model '$work/prefixed-all' --target ed"
check 'refuses to list the languages of a folder without a model' \
    says 6 'config.json' "$clattn" languages --model "$work/data"

# A paragraph is as good as its sentences on lines of their own: nothing gets lost.
paragraph() {
    local sentences=$work/sentences line
    for ((i = 0; i < 60; i++)); do printf 'the red cat sleeps.\na blue dog sleeps.\n'; done >"$sentences"
    translate <"$sentences" | paste -sd ' ' >"$work/want" || return 1
    { printf '  ' && paste -sd ' ' <"$sentences" && echo; } | translate >"$work/got" || return 1
    printf '  %s\n\n' "$(cat "$work/want")" | diff - "$work/got"
}
if ! echo a | CLATTN_LOG=info translate 2>&1 | grep -q 'built without ICU'; then
    check 'translates a paragraph sentence by sentence' paragraph
    check 'or as it is' test "$(paste -sd ' ' <"$work/sentences" | translate --no-split | wc -w)" -lt 360
fi

# --max-words counts the pieces that are translated.
check 'refuses control characters, of several pieces each' \
    says 3 'standard input:1: 20 words and pieces of words, more than 9: see --max-words' \
    sh -c "printf '\\001\\001\\001\\001\\n' | '$clattn' translate --model '$run' --max-words 9"
blanks() {
    printf '%3000s\nthe red cat sleeps.\n' '' | translate >"$work/got" &&
        printf '\ndie rote Katze schläft.\n' | diff - "$work/got"
}
check 'a line of 3,000 blanks has no piece' blanks

misspelt() {
    says 6 "$work/data/nope.en: " train --set dev=nope --out "$work/misspelt" &&
        [ ! -e "$work/misspelt/config.json" ]
}
check 'refuses dev files that do not exist, before training' misspelt

check 'refuses bad text' \
    says 3 'standard input:2: not UTF-8' sh -c "printf 'a\nbc\344\270' | '$clattn' translate --model '$run'"
check 'refuses a beam of none' says 2 "--beam is '0', must be 1 to 256" translate --beam 0
check 'refuses no model' says 2 'translate needs --model DIR' "$clattn" translate
echo 'one more' >>"$work/data/train.en"
check 'names a line without a partner' says 3 'train.en:5: has no partner' train --out "$work/other"
rm "$run/target.txt"
check 'refuses a folder that lacks a vocabulary' says 6 'target.txt' translate

passed
