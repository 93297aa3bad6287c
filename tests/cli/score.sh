#!/bin/bash
# score.sh - pieces and scores from the command line
# usage: tests/cli/score.sh SOURCE_ROOT CLATTN
# shellcheck source=tests/cli/lib.sh
. "${BASH_SOURCE%/*}/lib.sh"
source=$1 clattn=$2
# ---- bpe
bpe=$source/tests/data/oracles/bpe
check 'bpe learn equals subword-nmt' \
    writes "$bpe/bpe.ref" "$clattn" bpe learn --merges 1000 "$bpe/corpus.en"
check 'bpe apply equals subword-nmt' writes "$bpe/corpus.bpe.ref.en" \
    "$clattn" bpe apply --codes "$bpe/bpe.ref" <"$bpe/corpus.en"
check 'bpe undo' writes "$bpe/corpus.en" "$clattn" bpe undo <"$bpe/corpus.bpe.ref.en"

printf ' Zwei  (alte) Männer, 我们。\n\n\t"\x01…\n%s\n' "$(seq -s '-' 10000)" >"$work/odd"
printf 'crlf, too\r\n' >"$work/crlf"
round_trip() {
    "$clattn" bpe learn --merges 50 --split --out "$work/codes" "$work/odd" "$work/crlf" &&
        "$clattn" bpe apply --codes "$work/codes" --split <"$work/odd" >"$work/pieces" &&
        "$clattn" bpe undo --split <"$work/pieces" | cmp - "$work/odd"
}
check 'bpe --split comes back to the byte' round_trip
corpus() {
    "$clattn" bpe learn --merges 500 --split --out "$work/split.codes" "$bpe/corpus.en" &&
        "$clattn" bpe apply --codes "$work/split.codes" --split <"$bpe/corpus.en" \
            >"$work/pieces" &&
        "$clattn" bpe undo --split <"$work/pieces" | cmp - "$bpe/corpus.en"
}
check 'bpe --split: a corpus comes back' corpus
crlf() {
    "$clattn" bpe apply --codes "$work/codes" --split <"$work/crlf" |
        "$clattn" bpe undo --split | grep -qx 'crlf, too'
}
check 'bpe: CRLF ends a line' crlf
check 'bpe: no verb' says_alone 2 'bpe needs a verb: learn, apply or undo' "$clattn" bpe
check 'bpe: a slip' says_alone 2 "did you mean 'apply'" "$clattn" bpe applyy
check 'bpe learn: no number' says_alone 2 'needs --merges' "$clattn" bpe learn "$work/odd"
check 'bpe learn: bad number' says_alone 2 "--merges is '-3'" "$clattn" bpe learn --merges -3
check 'bpe learn: nothing to learn from' says_alone 3 'holds no word' \
    "$clattn" bpe learn --merges 5 /dev/null
check 'bpe apply: bad codes' says_alone 3 "$work/odd:1: codes must begin" \
    "$clattn" bpe apply --codes "$work/odd"
check 'bpe apply: no codes' says_alone 6 'nowhere: cannot open' "$clattn" bpe apply --codes nowhere
check 'bpe apply: cut off inside a character' says_alone 3 'standard input:2: not UTF-8 (byte 3)' \
    sh -c "printf 'a\nbc\344\270' | '$clattn' bpe apply --codes '$work/codes'"
# progress VERB...: what stderr shows on a terminal while lines come slowly.
progress() { script -qec "{ echo a; sleep 3; echo b; } | '$clattn' $* >'$work/out'" /dev/null; }
shows_progress() {
    progress bpe undo | grep -q "2 lines, [0-9]* s" && [ "$(wc -l <"$work/out")" -eq 2 ]
}
shows_none() { progress "bpe undo 2>'$work/shown'" && [ ! -s "$work/shown" ]; }
if command -v script >/dev/null; then
    check 'bpe: progress on a terminal' shows_progress
    check 'bpe: none where stderr is a file' shows_none
fi
check 'bpe undo: a NUL byte' says_alone 3 'standard input:1: holds a NUL byte' \
    sh -c "printf 'a\000b\n' | '$clattn' bpe undo"

# ---- scores
cat >"$work/ref" <<'END'
The cat is on the mat.
It is a guide to action that ensures that the military will forever heed Party commands.
END
cat >"$work/hyp" <<'END'
The cat sat on the mat.
It is a guide to action, which ensures that the military always obeys.
END
check 'score bleu' prints '|case:mixed|eff:no|tok:13a|smooth:exp|version:clattn-' \
    "$clattn" score bleu --ref "$work/ref" --hyp "$work/hyp"
check 'score bleu: numbers' prints \
    ' = 46.00 77.3/60.0/44.4/31.2 (BP = 0.913 ratio = 0.917 hyp_len = 22 ref_len = 24)' \
    sh -c "'$clattn' score bleu --ref '$work/ref' <'$work/hyp'"
check 'score bleu: several references' prints ' = 100.00 ' "$clattn" score bleu \
    --ref "$work/ref" --ref "$work/hyp" --hyp "$work/hyp"
check 'score bleu: json' prints '"hyp_len":22,"ref_len":24}' \
    "$clattn" score bleu --json --ref "$work/ref" --hyp "$work/hyp"
check 'score bleu: multi-bleu' prints \
    'BLEU = 38.19, 73.7/58.8/40.0/23.1 (BP=0.854, ratio=0.864, hyp_len=19, ref_len=22)' \
    "$clattn" score bleu --multi-bleu --ref "$work/ref" --hyp "$work/hyp"
printf 'je veux\302\240: un chat noir ÉCOLE\n' >"$work/bytes"
check 'score bleu: multi-bleu splits bytes' prints 'hyp_len=6, ref_len=6' \
    "$clattn" score bleu --multi-bleu -l --ref "$work/bytes" --hyp "$work/bytes"
# 6/7 4/6 2/5 1/4 of n-grams; 11/15 8/14 6/13 4/12 of 15 tokens against 17
sentences() {
    "$clattn" score bleu --sentence --ref "$work/ref" --hyp "$work/hyp" |
        diff - <(printf '48.8923\n44.0993\n')
}
check 'score bleu: sentences' sentences
# The numbers are those of sacreBLEU 2.6.0.
check 'score chrf' prints 'chrF2|nrefs:1|case:mixed|eff:yes|nc:6|nw:0|space:no|version:clattn-' \
    "$clattn" score chrf --ref "$work/ref" --hyp "$work/hyp"
check 'score chrf: number' prints ' = 57.56' "$clattn" score chrf --ref "$work/ref" --hyp "$work/hyp"
check 'score chrf: json' prints '"metric":"chrF2","score":57.56056' \
    "$clattn" score chrf --json --ref "$work/ref" --hyp "$work/hyp"
letters() {
    "$clattn" score chrf --sentence --ref "$work/ref" --hyp "$work/hyp" |
        diff - <(printf '67.1727\n55.3356\n')
}
check 'score chrf: sentences' letters
check 'score bootstrap: of itself' prints 'p = 1.0000' "$clattn" score bootstrap \
    --ref "$work/ref" --hyp "$work/hyp" --baseline "$work/hyp"
check 'score bootstrap: seeded' prints '"samples":50,"seed":3,"p":0.0,"model":[100.0,' \
    "$clattn" score bootstrap --json --samples 50 --seed 3 --ref "$work/ref" \
    --hyp "$work/ref" --baseline "$work/hyp"
gaps() {
    "$clattn" score ngram --ref "$work/ref" --hyp "$work/hyp" --baseline "$work/hyp" \
        >"$work/out" && [ "$(grep -c ' +0.00 .* +0.00$' "$work/out")" -eq 8 ]
}
check 'score ngram: no gap to itself' gaps
check 'score ngram: p of a better system' prints '"gap":59.4177459,"p":0.0,' \
    "$clattn" score ngram --json --samples 50 --seed 3 --ref "$work/ref" --hyp "$work/ref" \
    --baseline "$work/hyp"
printf 'abcdef\nxyz\n' >"$work/letters"
printf 'abcdeg\tabc\nxyzw\n' >"$work/letters.ref"
check 'score charbleu' prints ' = 71.44' \
    "$clattn" score charbleu --ref "$work/letters.ref" --hyp "$work/letters"
check 'score rougel' prints 'ROUGE-L|case:mixed|tok:char|beta:1.2|n:2|version:' \
    "$clattn" score rougel --tokenize char --ref "$work/letters.ref" --hyp "$work/letters"
printf 'a b\na  b\n\n' >"$work/blanks.ref"
printf 'a\302\240b\na  b\n\n' >"$work/blanks"
caption() { # as the MS COCO caption scorer, which splits at each blank
    "$clattn" score rougel --sentence --ref "$work/blanks.ref" --hyp "$work/blanks" >"$work/out" &&
        diff "$work/out" <(printf '0.0000\n100.0000\n100.0000\n')
}
check 'score rougel: blanks' caption
printf '我们是𠀀𠀀中国人。Yes, 3.5%%!\n' >"$work/zh.ref"
printf '我们是𠀀中国的人。Yes, 3.5%%!\n' >"$work/zh"
check 'score bleu: Chinese' prints '|tok:zh|smooth:exp|' \
    "$clattn" score bleu --tokenize zh --ref "$work/zh.ref" --hyp "$work/zh"
check 'as sacreBLEU' grep -qF ' = 57.31 85.7/69.2/50.0/36.4 ' "$work/out"
cat >"$work/data.json" <<'END'
{"data": [{"paragraphs": [{"qas": [
    {"id": "1", "answers": [{"text": "late 1990s"}]},
    {"id": 2, "answers": [{"text": "Paris"}]}]}]}]}
END
echo '{"1": "in the late 1990s"}' >"$work/answers.json"
check 'score squad' prints '"em":0.0,"f1":40.0,"questions":2,"unanswered":1' \
    "$clattn" score squad --json --ref "$work/data.json" --hyp "$work/answers.json"

cat >"$work/data2.json" <<'END'
{"version": "v2.0", "data": [{"paragraphs": [{"qas": [
    {"id": "1", "is_impossible": false, "answers": [{"text": "late 1990s"}]},
    {"id": "2", "is_impossible": true, "answers": []}]}]}]}
END
echo '{"1": "in the late 1990s", "2": ""}' >"$work/answers2.json"
check 'score squad: 2.0' prints 'F1|norm:squad2|n:2|' \
    "$clattn" score squad --ref "$work/data2.json" --hyp "$work/answers2.json"
check 'score squad: 2.0 in parts' prints '"norm":"squad2","HasAns_exact":0.0,"HasAns_f1":80.0,"HasAns_total":1,"NoAns_exact":100.0,"NoAns_f1":100.0,"NoAns_total":1' \
    "$clattn" score squad --json --ref "$work/data2.json" --hyp "$work/answers2.json"
check 'score squad: 1.1 stays' prints 'F1|norm:squad1|n:2|' \
    "$clattn" score squad --ref "$work/data.json" --hyp "$work/answers.json"

check 'score squad: two references' says_alone 2 'score squad takes one --ref, not 2' \
    "$clattn" score squad --ref "$work/data.json" --ref "$work/none" --hyp "$work/answers.json"
for ignored in '--tokenize 13a' '--smooth exp' '--smooth-value 1'; do
    # shellcheck disable=SC2086
    check "score bleu: multi-bleu with $ignored" says_alone 2 '--multi-bleu takes no --tokenize' \
        "$clattn" score bleu --multi-bleu $ignored --ref "$work/ref" --hyp "$work/hyp"
done
for smooth in exp none; do
    check "score bleu: a value for smoothing $smooth" says_alone 2 \
        "--smooth-value is for --smooth floor or add-k, not for $smooth" "$clattn" score bleu \
        --smooth $smooth --smooth-value 1 --ref "$work/ref" --hyp "$work/hyp"
done
check 'score bootstrap: a value without smoothing' says_alone 2 '--smooth-value is for' \
    "$clattn" score bootstrap --smooth-value 1 --ref "$work/ref" --baseline "$work/hyp" \
    --hyp "$work/hyp"
check 'score bleu: a value for add-k' prints 'smooth:add-k[' "$clattn" score bleu \
    --smooth-value 2 --smooth add-k --ref "$work/ref" --hyp "$work/hyp"

check 'score: no verb' says_alone 2 \
    'score needs a verb: bleu, chrf, bootstrap, ngram, squad, rougel, charbleu or lm' "$clattn" score
check 'score: a slip' says_alone 2 "did you mean 'bleu'" "$clattn" score blue
check 'score bleu: no reference' says_alone 2 'score bleu needs --ref FILE' "$clattn" score bleu
check 'score bootstrap: no baseline' says_alone 2 'score bootstrap needs --baseline' \
    "$clattn" score bootstrap --ref "$work/ref"
check 'score bleu: unknown tokens' says_alone 2 "--tokenize is 'ja', must be" \
    "$clattn" score bleu --ref "$work/ref" --tokenize ja
check 'score bleu: bad order' says_alone 2 "--order is '9', must be 1 to 8" \
    "$clattn" score bleu --ref "$work/ref" --order 9
check 'score bleu: unequal files' says_alone 3 \
    "$work/ref:2: has no partner: standard input ends at line 1" \
    sh -c "head -n 1 '$work/hyp' | '$clattn' score bleu --ref '$work/ref'"
check 'score bleu: nothing' says_alone 3 'standard input: holds no line' \
    "$clattn" score bleu --ref /dev/null
check 'score bleu: no such file' says_alone 6 'nowhere: cannot open' \
    "$clattn" score bleu --ref nowhere
check 'score squad: broken JSON' says_alone 3 "$work/ref:1:" \
    "$clattn" score squad --ref "$work/ref" --hyp "$work/answers.json"
check 'score squad: no list' says_alone 3 "holds no list 'data'" \
    "$clattn" score squad --ref "$work/answers.json" --hyp "$work/answers.json"

passed
