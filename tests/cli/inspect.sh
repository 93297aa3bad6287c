#!/bin/bash
# inspect.sh - what readers and poets look at, level by level, from the command line
# usage: tests/cli/inspect.sh SOURCE_ROOT CLATTN
# shellcheck source=tests/cli/lib.sh
. "${BASH_SOURCE%/*}/lib.sh"
source=$1 clattn=$2
reader=$work/reader poet=$work/poet

# One question on one passage, and two poems: what is looked at does not depend on what is learnt.
mkdir "$work/rc" "$work/poems"
printf '{"data": [{"title": "t", "paragraphs": [{"context": "Ann sold rye.", "qas": [
    {"id": "a", "question": "Who sold rye?", "answers": [{"answer_start": 0, "text": "Ann"}]}
    ]}]}]}' | tee "$work/rc/train.json" >"$work/rc/dev.json"
for again in 1 2; do
    printf 'tang\tpoet\ttitle %s\t%s\n' \
        $again '春眠不覺曉|處處聞啼鳥|夜來風雨聲|花落知多少' \
        $again '床前明月光|疑是地上霜|舉頭望明月|低頭思故鄉'
done | tee "$work/poems/train.tsv" "$work/poems/val.tsv" >"$work/poems/test.tsv"
printf 'Ann sold rye on\nMonday.' >"$work/passage"

train() { # NETWORK DEPTH OUT [OPTION...]: a reader
    "$clattn" train "$source/examples/configs/reader-bidaf.json" --set "data=$work/rc" \
        --set network="$1" --set depth="$2" --set ham_q2c=true --set hidden=6 --set word_dim=5 --set min_count=1 \
        --set steps=1 --set eval_every=1 --quiet --out "$3" "${@:4}"
}
check 'trains a reader' train bidaf 3 "$reader"
check 'trains a reader without levels' train bidaf 0 "$work/flat"
check 'trains a reader of another form' train bidaf 2 "$work/original" --set form=original
check 'trains a poet' "$clattn" train "$source/examples/configs/poem-ppg.json" \
    --set "data=$work/poems" --set hidden=6 --set depth=2 --set word_count=2 --set word_ratio=1 \
    --set vector_epochs=1 --set steps=1 --set eval_every=1 --quiet --out "$poet"
inspect() { "$clattn" inspect --model "$@"; }
question() { inspect "$reader" --passage "$work/passage" --text 'Who sold rye?' "$@"; }
read_question() { inspect "$reader" --passage "$work/read" --text 'Who sold rye?' --json; }
poem() { inspect "$poet" --text '明月' --chars 5 "$@"; }

# maps FILE COUNT PARTS...: an SVG of so many maps, with these in it.
maps() {
    local file=$1 part
    svg_fits "$file" && test "$(grep -c 'font-weight="bold"' "$file")" = "$2" && tail -c 7 "$file" | grep -q '</svg>' ||
        return 1
    for part in "${@:3}"; do
        grep -qF "$part" "$file" || { echo "no $part" && return 1; }
    done
}
check 'a passage behind a byte order mark' reader inspected 'Ann sold rye on Monday.' read_question

# sums KEY FILE: each innermost list under KEY sums to 1; prints how many there are.
sums() {
    python3 - "$@" <<'PYTHON'
import json, sys
rows = 0
for line in open(sys.argv[2], encoding="utf-8"):
    site = json.loads(line)
    assert len(site["maps"]) == len(site["weights"])
    todo = [site[sys.argv[1]]]
    while todo:
        here = todo.pop()
        if isinstance(here[0], list):
            todo += here
        else:
            rows += 1
            assert abs(sum(here) - 1) < 1e-5, here
    for level in site["maps"]:
        assert len(level) == len(site["rows"])
        assert all(len(row) == len(site["columns"]) for row in level)
print(rows)
PYTHON
}

reader_table() {
    question --site c2q >"$work/table" && grep -qx 'c2q: 6 queries, 4 keys' "$work/table" &&
        test "$(wc -l <"$work/table")" -eq 5 &&
        test "$(awk '/^ *[0-9]/ { sum += $2 } END { printf "%.3f", sum }' "$work/table")" = 1.000
}
check 'a table of a reader: weights of levels sum to 1' reader_table
reader_json() {
    question --json --site c2q >"$work/json" && test "$(sums weights "$work/json")" = 1 &&
        test "$(sums maps "$work/json")" = 18
}
check 'an object of a reader: six rows of three maps sum to 1' reader_json
reader_svg() {
    question --out "$work/a.svg" --site c2q >"$work/out" &&
        maps "$work/a.svg" 3 'c2q level 3' '>Monday<' '>Who<' 'rows are queries, columns are keys'
}
check 'a picture of a reader: a map a level' reader_svg
second_site() {
    test "$(question --json | grep -o '"site":"[^"]*"' | tr -d '\n')" = '"site":"c2q""site":"q2c"' &&
        question --site q2c | grep -qx 'q2c: 1 queries, 6 keys'
}
check 'both sites of a reader' second_site
original_json() {
    inspect "$work/original" --json --text 'Who sold rye?' --passage "$work/passage" >"$work/json" &&
        test "$(sums weights "$work/json")" = 2 && test "$(sums maps "$work/json")" = 14
}
check 'both sites of the published form: seven rows of two maps sum to 1' original_json

favoured() { # MODEL SITE [OPTION...]: the weights of its levels, of which the first began with 0.9
    inspect "$1" --site "$2" "${@:3}" | awk '/^ *[0-9]/ { printf "%s ", $2 }'
}
first_level() {
    train bidaf 3 "$work/favoured" --set first_level=0.9 --set lr=0 &&
        "$clattn" train "$source/examples/configs/poem-ppg.json" --set "data=$work/poems" --set hidden=6 \
            --set depth=2 --set first_level=0.75 --set word_count=2 --set word_ratio=1 --set vector_epochs=1 \
            --set steps=1 --set eval_every=1 --set lr=0 --quiet --out "$work/first" || return 1
    for site in c2q q2c; do
        test "$(favoured "$work/favoured" $site --passage "$work/passage" --text 'Who sold rye?')" = '0.9000 0.0500 0.0500 ' ||
            return 1
    done
    test "$(favoured "$work/first" line1 --text '明月' --chars 5)" = '0.7500 0.2500 '
}
check 'the first level begins with the weight that first_level says' first_level

poem_table() {
    poem >"$work/table" && test "$(grep -c '^line' "$work/table")" = 4 &&
        grep -qx 'line1: 5 queries, 1 keys' "$work/table" &&
        grep -qx 'line4: 5 queries, 16 keys' "$work/table"
}
check 'a table of a poem: a line looks at its keyword and at those before' poem_table
poem_json() {
    poem --json >"$work/json" && test "$(sums weights "$work/json")" = 4 &&
        test "$(sums maps "$work/json")" = 40
}
check 'objects of a poem: forty rows that sum to 1' poem_json
same_poem() {
    local lines
    lines=$(python3 -c 'import json, sys
for line in sys.stdin: print("".join(json.loads(line)["rows"]))' <"$work/json")
    test "$lines" = "$("$clattn" compose --model "$poet" --chars 5 '明月')"
}
check 'it is the poem that compose writes' same_poem
poem_svg() { poem --out "$work/b.svg" >"$work/out" && maps "$work/b.svg" 8 'line4 level 2'; }
check 'a picture of a poem: two maps a line' poem_svg
one_line() { poem --site line3 --json >"$work/json" && test "$(wc -l <"$work/json")" -eq 1; }
check 'one site' one_line

not_finite() { # the last character has all of the probability; its bias becomes 10,000
    cp -r "$poet" "$work/sure" && unsealed "$work/sure" &&
        truncate -s -4 "$work/sure/best.ckpt.safetensors" &&
        printf '\000\100\034\106' >>"$work/sure/best.ckpt.safetensors" &&
        "$clattn" eval --json --model "$work/sure" 2>"$work/err" | grep -q '"perplexity":null,'
}
check 'eval --json: a metric that is not finite is null' not_finite

check 'refuses a reader without a passage' says 2 'a reader needs --passage FILE' \
    inspect "$reader" --text Who
check 'refuses a passage that is not there' says 6 "$work/none" \
    inspect "$reader" --text Who --passage "$work/none"
printf ' \n' >"$work/blank"
check 'refuses a passage without a word' says 3 'inspect: the passage has no word' \
    inspect "$reader" --text Who --passage "$work/blank"
check 'refuses a question without a word' says 3 'inspect: the question has no word' \
    inspect "$reader" --text ' ' --passage "$work/passage"
printf 'ab\377' >"$work/bad"
check 'refuses a passage that is no text' says 3 'bad:1: not UTF-8 (byte 3)' \
    inspect "$reader" --text Who --passage "$work/bad"
printf 'a\000b' >"$work/bad"
check 'refuses a NUL byte' says 3 'bad:1: holds a NUL byte' \
    inspect "$reader" --text Who --passage "$work/bad"
check 'refuses a site that is not there' says 2 "--site is 'self', must be one of c2q, q2c" \
    question --site self
check 'refuses a model without levels' says 2 'the model has no levels (its depth is 0)' \
    inspect "$work/flat" --text Who --passage "$work/passage"
check 'refuses a passage for a poet' says 2 '--passage is for readers, the model is a poet' \
    poem --passage "$work/passage"
check 'refuses six characters' says 2 '--chars is 6, must be 5 or 7' poem --chars 6
check 'refuses --chars for a reader' says 2 '--chars and --seed are for poets' question --chars 5
check 'refuses another kind of picture' says 2 'pictures are .svg files' \
    question --out "$work/a.png"
check 'refuses numbers of a reader' says 2 'the maps of a reader are drawn as .svg' \
    question --out "$work/a.safetensors"
check 'refuses nothing to inspect' says 2 'inspect needs --text TEXT' \
    "$clattn" inspect --model "$reader"
# shellcheck disable=SC2046 # six hundred words
printf 'w%d ' $(seq 600) >"$work/long"
check 'refuses to draw six hundred words' says 3 '600 words by 1, at most 512 are drawn' \
    inspect "$reader" --text Who --passage "$work/long" --out "$work/c.svg"

passed
