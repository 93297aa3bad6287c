#!/bin/bash
# answer.sh - a tiny reader from the command line: trained, scored, asked
# usage: tests/cli/answer.sh SOURCE_ROOT CLATTN ANSWER_EXAMPLE
# shellcheck source=tests/cli/lib.sh
. "${BASH_SOURCE%/*}/lib.sh"
source=$1 clattn=$2 example=$3
config=$source/examples/configs/reader-match_lstm.json
run=$work/run

toy_squad "$work/data"

train() {
    "$clattn" train "$config" --set "data=$work/data" --set word_dim=12 --set trait_dim=4 \
        --set hidden=12 --set dropout=0 --set min_count=1 --set batch=8 --set lr=0.02 \
        --set epochs=40 --set eval_every=160 --quiet "$@"
}
answer() { "$clattn" answer --model "$run" "$@"; }

check 'trains' train --out "$run"
check 'clattn-config(5) names its keys' python3 "$source/tools/config_manual.py" keys "$run/config.json"
check 'writes what a model folder needs' \
    test -s "$run/best.ckpt.safetensors" -a -s "$run/words.txt" -a -s "$run/config.json"
scored() { prints f1 "$clattn" eval --model "$run" --split dev && grep -q '^f1 *100.00' "$work/out"; }
check 'scores' scored

printf 'Än sold rye on day 20.' >"$work/passage"
what() { test "$(echo 'What did Än sell?' | answer --passage "$work/passage")" = rye; }
check 'answers a question' what
offsets() {
    echo 'Who sold rye?' | answer --passage "$work/passage" --scores | cut -f 2- |
        grep -qx $'0\t2\tÄn'
}
check 'says where, in code points' offsets
asked() { answer --scores <"$work/read"; }
about() { echo 'Who sold rye?' | answer --scores --passage "$work/read"; }
check 'lines of JSON, whatever their ends' reader answer_lines \
    $'{"passage": "Öd sold rye.", "question": "Who sold rye?"}\n \n{"passage": "a b", "question": "c"}\n' asked
check 'a passage behind a byte order mark: the same places' reader answer_lines 'Än sold rye on day 20.' about
as_given() {
    printf '{"passage": "\\ufeffÖd\\r\\nsold rye.", "question": "Who sold rye?"}' |
        answer --scores | cut -f 2- | grep -qx $'1\t3\tÖd'
}
check 'places count all characters of a passage within JSON' as_given
lines() {
    printf '%s\n' '{"passage": "Öd sold rye.", "questions": ["Who sold rye?", "What did Öd sell?"]}' \
        '{"passage": "Öd sold rye.", "question": "Who sold rye?"}' |
        answer --json --nbest 3 >"$work/out" && test "$(wc -l <"$work/out")" -eq 3 &&
        test "$(grep -o '"score"' "$work/out" | wc -l)" -eq 9 &&
        cmp <(sed -n 1p "$work/out" | cut -c 1-60) <(sed -n 3p "$work/out" | cut -c 1-60)
}
check 'answers lines of JSON, three answers each' lines
several() {
    printf '%s\n' '{"passages": ["", "Öd sold rye."], "question": "Who sold rye?"}' >"$work/lines"
    answer <"$work/lines" | grep -qx Öd &&
        answer --scores <"$work/lines" | cut -f 2- | grep -qx $'1\t0\t2\tÖd' &&
        answer --json <"$work/lines" | grep -q '"passage":1'
}
check 'says which of several passages' several
whole() {
    answer --squad "$work/data/dev.json" >"$work/answers" &&
        "$clattn" score squad --ref "$work/data/dev.json" --hyp "$work/answers" |
        grep -q '^EM.* = 100.00'
}
check 'answers a file' whole

# Questions of SQuAD 2.0 without an answer: said, left out of training, scored by its rules.
second() {
    mkdir -p "$work/two"
    python3 - "$work/data" "$work/two" <<'PYTHON'
import json, sys
for split in ("train", "dev"):
    data = json.load(open(f"{sys.argv[1]}/{split}.json", encoding="utf-8"))
    asked = data["data"][0]["paragraphs"][0]["qas"]
    asked.append({"id": "none", "question": "Who left?", "is_impossible": True, "answers": []})
    json.dump(data, open(f"{sys.argv[2]}/{split}.json", "w", encoding="utf-8"))
PYTHON
    answer --squad "$work/two/dev.json" 2>"$work/err" >"$work/out" &&
        grep -q '"none":"[^"]' "$work/out" &&
        grep -qF 'dev.json: 1 questions have no answer (SQuAD 2.0): a reader answers' "$work/err" &&
        "$clattn" eval --model "$run" --json --data "$work/two/dev.json" 2>"$work/err" >"$work/out" &&
        grep -q '"has_ans_f1":100.0' "$work/out" && grep -q '"no_ans":0.0' "$work/out" &&
        grep -qF '1 questions have no answer' "$work/err"
}
check 'questions without an answer' second
check 'and training without them' exits 0 'train.json: 1 questions have no answer (SQuAD 2.0): training leaves them out' \
    2 train --set "data=$work/two" --set steps=1 --set eval_every=1 --out "$work/two/run"

# The C API, in a program of its own.
application() {
    "$example" "$run" 'Än sold rye on day 20.' 'Who sold rye?' '' 'What did Än sell?' \
        >"$work/out" && diff "$work/out" <(printf '0 2 Än\n\n8 11 rye\n')
}
check 'an application asks' application
refusals() {
    ! "$example" "$run" a b $'c\xff' 2>"$work/err" &&
        grep -qF 'questions[1] is not UTF-8 (byte 1)' "$work/err"
}
check 'an application is told what is wrong' refusals

# What has no answer gives an empty line; what is no text is named.
empty() {
    test "$(printf '{"passage": "", "question": "Who?"}\n{"passage": " \\n", "question": "?"}\n{"passage": "a b", "question": ""}\n' |
        answer | tr '\n' .)" = ...
}
check 'nothing to answer with: an empty line' empty
check 'a question of one word' \
    test -n "$(echo Who | answer --passage "$work/passage")"
# shellcheck disable=SC2046 # five thousand words
long() {
    printf 'w%d ' $(seq 2500) >"$work/long" && printf ', x' >>"$work/long" &&
        seq -s ' ' 2500 >>"$work/long" &&
        test "$(echo 'What did Än sell?' | answer --passage "$work/long" --nbest 2 | wc -l)" -eq 2
}
check 'a passage of five thousand words' long
check 'nothing asked, nothing said' nothing answer
check 'a line that is no JSON' says 3 'standard input:2:' \
    sh -c "printf '{\"passage\": \"a\", \"question\": \"b\"}\n{\n' | '$clattn' answer --model '$run'"
check 'a line without a passage' says 3 'standard input:1: must be a JSON object with "passage"' \
    sh -c "echo '[1]' | '$clattn' answer --model '$run'"
check 'a line without a question' says 3 'standard input:1: has no "question"' \
    sh -c "echo '{\"passage\": \"a\"}' | '$clattn' answer --model '$run'"
printf '{"passage": "%s", "question": "a"}\n' 'a b c' 'a b c d' >"$work/lines"
check 'a passage over the limit' says 3 'standard input:2: answer: passage[0] has 4 words' \
    answer --max-words 3 <"$work/lines"
check 'after the answer to the one before' test "$(wc -l <"$work/out")" -eq 1
printf 'a b c d' >"$work/four"
check 'a passage file over the limit' says 3 "$work/four: answer: passage[0] has 4 words" \
    answer --max-words 3 --passage "$work/four" <<<a
check 'a passage of a data set over the limit' says 3 'dev.json: passage 1 has 8 words' \
    answer --max-words 6 --squad "$work/data/dev.json"
check 'a folder on standard input' says 6 'standard input: cannot read: Is a directory' \
    answer <"$work"
check 'a question that is no text' says 3 'questions must be strings' \
    sh -c "echo '{\"passage\": \"a\", \"questions\": [\"b\", 1]}' | '$clattn' answer --model '$run'"
check 'a question cut off inside a character' says 3 'standard input:1: not UTF-8' \
    sh -c "printf 'b\344\270' | '$clattn' answer --model '$run' --passage '$work/passage'"
printf 'ab\377' >"$work/bad"
check 'a passage that is no text' says 3 'passages must be strings' \
    sh -c "echo '{\"passages\": [1], \"question\": \"b\"}' | '$clattn' answer --model '$run'"
check 'several passages, and a network that reads one' says 3 'match_lstm reads one passage a question, not 2' \
    sh -c "echo '{\"passages\": [\"a\", \"b\"], \"question\": \"c\"}' | '$clattn' answer --model '$run'"
check 'several passages in training likewise' says 3 'passages is 2, and network '\''match_lstm'\'' reads one a question' \
    train --set passages=2 --out "$work/other"
check 'no passages at all' says 3 'passages' train --set passages=0 --out "$work/other"
check 'a passage that is not UTF-8' says 3 'bad:1: not UTF-8 (byte 3)' \
    sh -c "echo Who | '$clattn' answer --model '$run' --passage '$work/bad'"
printf 'a\000b' >"$work/bad"
check 'a passage with a NUL byte' says 3 'bad:1: holds a NUL byte' \
    sh -c "echo Who | '$clattn' answer --model '$run' --passage '$work/bad'"
check 'no passage there' says 6 "$work/none: cannot open" answer --passage "$work/none"
check 'no model' says 2 'answer needs --model DIR' "$clattn" answer
check 'two kinds of questions' says 2 'one of them' \
    answer --passage "$work/passage" --squad "$work/data/dev.json"
check 'answers of none' says 2 "--nbest is '0', must be 1 to 1000" answer --nbest 0
check 'another kind of network' says 3 'network' train --set network=none --out "$work/other"

# Characters of words: they go where the model goes, and are missed when they are not there.
check 'learns characters' train --set network=r_net --set char_dim=6 --set char_width=6 \
    --set epochs=1 --set keep=1 --out "$work/spelt"
check 'exports them' "$clattn" export --model "$work/spelt" --out "$work/alone"
check 'means them' "$clattn" average --model "$work/spelt" --out "$work/mean"
same() {
    printf 'What did Än sell?\nWho was Zoë?\n' >"$work/questions"
    for model in spelt alone mean; do
        "$clattn" answer --model "$work/$model" --passage "$work/passage" --scores --nbest 3 \
            <"$work/questions" >"$work/$model.out" || return
    done
    test "$(wc -l <"$work/spelt.out")" -eq 6 && cmp "$work/spelt.out" "$work/alone.out" &&
        cmp "$work/spelt.out" "$work/mean.out"
}
check 'answers the same from there' same
rm "$work/alone/chars.txt"
check 'characters that are not there' says 6 "$work/alone/chars.txt: cannot open" \
    sh -c "echo Who | '$clattn' answer --model '$work/alone' --passage '$work/passage'"
check 'words of no characters' says 3 'char_limit is 0, must be' \
    train --set network=r_net --set char_dim=6 --set char_limit=0 --out "$work/other"
check 'a network without characters' says 3 "network 'match_lstm' takes no characters" \
    train --set char_dim=6 --out "$work/other"

cp -r "$run" "$work/infinite" && infinite "$work/infinite"
check 'refuses weights that are not finite' says 7 'holds numbers that are not finite' \
    env CLATTN_LOG=error "$clattn" answer --model "$work/infinite" --passage "$work/passage" </dev/null

passed
