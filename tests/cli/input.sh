#!/bin/bash
# input.sh - bad and odd data: named with file and line, and nothing is lost
# usage: tests/cli/input.sh SOURCE_ROOT CLATTN
# shellcheck source=tests/cli/lib.sh
. "${BASH_SOURCE%/*}/lib.sh"
source=$1 clattn=$2
trap 'umount "$work/disk" 2>/dev/null; rm -rf "$work"' EXIT
treebank "$source" "$work/good"
train=("$clattn" train "$source/examples/configs/tagger-conv2d.json" --quiet --set word_dim=24
    --set char_dim=8 --set layers=2 --set heads=2 --set batch=8 --set epochs=2)
train() { # train DATA FOLDER SETTING...
    local data=$1 folder=$2
    shift 2
    "${train[@]}" --out "$folder" --set "data=$data" "$@"
}
check 'trains' train "$work/good" "$work/model"

# ---- files that are refused: by train, eval and tag alike
row() { printf '%s\t%s\t_\tX\t_\t_\t_\t_\t_\t_\n' "$1" "$2"; }
refused() { # refused NAME PART, text on standard input
    cat >"$work/bad.conllu"
    rm -rf "$work/bad"
    cp -r "$work/good" "$work/bad"
    cp "$work/bad.conllu" "$work/bad/train.conllu"
    check "$1: train" says 3 "$work/bad/train.conllu$2" train "$work/bad" "$work/run"
    check "$1: eval" says 3 "$work/bad.conllu$2" \
        "$clattn" eval --model "$work/model" --data "$work/bad.conllu"
}
{ row 1 a; echo; row 1 b; printf '2\tc\t_\tX\n'; } | refused 'columns' ':4: 4 columns, must be 10'
{ row 1 a; row 1 b; } | refused 'an id twice' ':2: id 1 after 1'
{ echo '# c'; row 1 a; row 2 b; row 4 c; } | refused 'a gap in the ids' ':4: id 4 after 2'
{ row 2 a; row 1 b; } | refused 'falling ids' ':1: id 2 after 0'
{ row 1 a; echo; row 1 $'\xc3\x28'; } | refused 'no UTF-8' ':3: not UTF-8'
{ row 1 a; row 2 ''; } | refused 'an empty form' ':2: empty form'
printf '1\ta\0b\n' | refused 'a NUL byte' ':1: holds a NUL byte'
: | refused 'an empty file' ': holds no sentence'
check 'a folder in place of a file' says 6 "$work/dir/train.conllu" \
    sh -c "mkdir -p '$work/dir/train.conllu'; '$clattn' train \
        '$source/examples/configs/tagger-conv2d.json' --out '$work/run' --set data='$work/dir'"
# What was refused left no run behind.
check 'the folder is still free' train "$work/good" "$work/run"

tag() { "$clattn" tag --model "$work/model" "$@"; }
{ row 1 a; echo; row 1 b; row 3 c; } >"$work/in"
check 'tag: line of the stream' says 3 ':4: id 3 after 1' tag <"$work/in"
printf 'a b\n\nc d\ne \xff\n' >"$work/in"
check 'tag: no UTF-8' says 3 ':4: not UTF-8' tag <"$work/in"
check 'tag: what came before is tagged' test "$(grep -c '^[0-9]' "$work/out")" -eq 4
check 'tag: a folder on standard input' says 6 'standard input: cannot read: Is a directory' \
    tag <"$work"
check 'tag: no standard input' says 6 'standard input: cannot read: Bad file descriptor' tag <&-
printf 'a b\nc d e\n' >"$work/in"
check 'tag: words over the limit' says 3 'standard input:2: a sentence of more than 2 words' \
    tag --max-words 2 <"$work/in"
check 'tag: the sentence before it is tagged' test "$(grep -c '^[0-9]' "$work/out")" -eq 2
{ row 1 a; echo; row 1 b; row 2 c; row 3 d; } >"$work/in"
check 'tag: rows over the limit' says 3 'standard input:5: a sentence of more than 2 words' \
    tag --max-words 2 <"$work/in"

# ---- lines that begin with '#': comments of CoNLL-U, or words
rows_of() { # rows_of COUNT [OPTION...], text on standard input: tag writes so many rows
    tag "${@:2}" >"$work/out" 2>"$work/err" && [ "$(grep -c '^[0-9]' "$work/out")" -eq "$1" ]
}
check 'tag: one line of words with #' rows_of 3 <<<'#metoo is big'
printf '#a b\n\n#c\n' >"$work/in"
check 'tag: all lines of words with #' rows_of 3 <"$work/in"
printf '#a b\nc\n#d\n' >"$work/in"
check 'tag: a line with # before plain words' rows_of 4 <"$work/in"
{ echo '# a comment of five words'; row 1 a; row 2 b; } >"$work/in"
check 'tag: a comment before rows' rows_of 2 <"$work/in"
check 'tag: its words do not count' rows_of 2 --max-words 2 <"$work/in"
printf '\n \n' >"$work/in"
check 'tag: blank lines alone' rows_of 0 <"$work/in"
printf '#a\n#b c d\n' >"$work/in"
check 'tag: words with # over the limit' says 3 \
    'standard input:2: a sentence of more than 2 words' tag --max-words 2 <"$work/in"
control() { # inspect keeps a control character in a word; XML has none
    "$clattn" inspect --model "$work/model" --text $'a \x07b' --out "$work/maps.svg" >"$work/out" &&
        svg_fits "$work/maps.svg" && grep -qF $'>\xef\xbf\xbdb<' "$work/maps.svg"
}
check 'inspect: a control character is drawn as U+FFFD' control

# ---- words with tabs, and what is neither words nor CoNLL-U
printf 'il\tvient\tde\tlà\n1990\tet\t1991\n' >"$work/in"
check 'tag: words with tabs' rows_of 7 <"$work/in"
printf 'a\tb\tc\td\te\tf\tg\th\ti\tj\n' >"$work/in"
check 'tag: ten words with tabs' rows_of 10 <"$work/in"
printf '# c\n1\ta\t_\tX\n' >"$work/in"
check 'tag: four columns behind an id' says 3 'standard input:2: neither CoNLL-U' tag <"$work/in"
check 'tag: that are words all the same' rows_of 4 --format words <<<$'1\ta\t_\tX'
check 'tag: that must be CoNLL-U' says 3 'standard input:2: 4 columns, must be 10' \
    tag --format conllu <"$work/in"
{ row x1 a; } >"$work/in"
check 'tag: ten columns without an id' says 3 'standard input:1: neither CoNLL-U' tag <"$work/in"
{ echo 'a b'; row 1 a; } >"$work/in"
check 'tag: rows behind words' says 3 'standard input:2: a row of CoNLL-U behind plain words' tag <"$work/in"
check 'tag: another format' says 2 "--format is 'x', must be auto, conllu or words" tag --format x

# ---- what is no word stays: comments, blank lines, line ends
same() { tag "$@" <"$work/in" >"$work/out" && cmp <(cut -f 1-3,5- "$work/in") <(cut -f 1-3,5- "$work/out"); }
{ printf '# d\n\n# s\n'; row 1 a; printf '\n# between\n\n'; row 1-2 x; row 1 b; row 2 c; printf '\n# end\n\n'; } >"$work/in"
check 'tag: comments without words' same
check 'tag: comments without words, at once' same --unbuffered
check 'tag: comments without words, two sentences at once' same --batch-lines 2
sed -i 's/$/\r/' "$work/in"
check 'tag: CR LF' same
printf '1\ta\t_\tX\t_\t_\t_\t_\t_\t_\r\n2\tb\t_\tX\t_\t_\t_\t_\t_\t_' >"$work/in"
whole_ends() { tag "$@" >"$work/out" && [ "$(grep -c $'\r$' "$work/out")" -eq "$(wc -l <"$work/out")" ]; }
check 'tag: CR LF to the end that is missing' whole_ends <"$work/in"
check 'tag: CR LF of words' whole_ends <<<$'a b\r\nc\r'

# ---- column 5
mkdir -p "$work/xpos"
for split in train dev test; do # column 5 is column 4 in lower case, and 4 is empty
    awk -F'\t' -v OFS='\t' 'NF == 10 { $5 = tolower($4); $4 = "_" } { print }' \
        "$work/good/$split.conllu" >"$work/xpos/$split.conllu"
done
check 'no tag in column 4' says 3 "train.conllu: no word has a tag in column 4, upos" \
    train "$work/xpos" "$work/xposrun"
check 'column 5' train "$work/xpos" "$work/xposrun" --set column=xpos
xpos() {
    grep -q '"column": "xpos"' "$work/xposrun/config.json" && awk -v RS= -v ORS='\n\n' 'NR < 5' "$work/xpos/dev.conllu" >"$work/in" &&
        "$clattn" tag --model "$work/xposrun" <"$work/in" >"$work/out" &&
        cut -f 4 "$work/out" | grep -q '^_$' && ! cut -f 4 "$work/out" | grep -q '^[A-Z]' &&
        cut -f 5 "$work/out" | grep -q '^[a-z]' && cmp <(cut -f 1-4,6- "$work/in") <(cut -f 1-4,6- "$work/out")
}
check 'tag fills it' xpos
check 'eval counts it' prints accuracy "$clattn" eval --model "$work/xposrun" --split dev

# ---- data that is odd and works
cp -r "$work/good" "$work/odd"
line=$(grep -n '^1	' "$work/odd/dev.conllu" | head -n 1 | cut -d : -f 1)
sed -i "${line}s/\t[A-Z]*\t/\tZZZ\t/" "$work/odd/dev.conllu"
odd() {
    train "$work/odd" "$work/oddrun" 2>"$work/err" || return 1
    [ "$(grep -c . "$work/err")" -eq 1 ] &&
        grep -qF "$work/odd/dev.conllu:$line: tag 'ZZZ' is not in the training data" "$work/err" &&
        "$clattn" tag --model "$work/oddrun" <"$work/odd/dev.conllu" >/dev/null
}
check 'a tag in dev that train lacks: one warning' odd

{
    for id in $(seq 5000); do row "$id" "w$id"; done
    echo
    row 1 "$(head -c 10000 /dev/zero | tr '\0' x)"
    echo
} >"$work/long.conllu"
long() { # long NAME SETTING...
    name=$1
    shift
    rm -rf "$work/long"
    cp -r "$work/good" "$work/long"
    cp "$work/long.conllu" "$work/long/dev.conllu"
    cat "$work/long.conllu" "$work/good/train.conllu" >"$work/long/train.conllu"
    train "$work/long" "$work/run-$name" "$@" &&
        "$clattn" tag --model "$work/run-$name" <"$work/long.conllu" >"$work/out" &&
        [ "$(cut -f 4 "$work/out" | grep -c '^[A-Z]')" -eq 5001 ] &&
        cmp <(cut -f 1-3,5- "$work/long.conllu") <(cut -f 1-3,5- "$work/out")
}
check 'a sentence of 5,000 words, a word of 10,000 letters: paper' long paper
check 'the same: modern' long modern --set preset=modern --set length=60
check 'a sentence too long to draw' says 3 '5000 words' "$clattn" inspect \
    --model "$work/run-paper" --text "$(seq -s ' ' 5000)" --out "$work/maps.svg"

# ---- checkpoints that do not fit, on resume: the run is left as it was
resume() { CLATTN_LOG=error train "$work/good" "$work/copy" --resume; }
damage() { # damage SED_SCRIPT: of the header, sizes unchanged
    rm -rf "$work/copy"
    cp -r "$work/model" "$work/copy"
    unsealed "$work/copy"
    LC_ALL=C sed -i "$1" "$work/copy/last.ckpt.safetensors"
    cp -r "$work/copy" "$work/copy.before"
}
unchanged() { diff -r "$work/copy.before" "$work/copy" && rm -r "$work/copy.before"; }
damage 's|"rmsprop.square/out.bias"|"rmsprop.square/out.bios"|'
check 'a missing moment' says 3 "tensor 'rmsprop.square/out.bias' is missing" resume
check 'and nothing changed' unchanged
damage 's|"shape":\[2,3,3\]|"shape":[3,2,3]|'
check 'a wrong shape' says 3 "last.ckpt.safetensors: tensor 'layer.0.filter'" resume
check 'and nothing changed' unchanged
damage 's|"step":"|"stop":"|'
check 'no state of a run' says 3 "'step' is missing" resume
check 'and nothing changed' unchanged

# ---- no room to save
mkdir "$work/disk"
if mount -t tmpfs -o size=3m tmpfs "$work/disk" 2>/dev/null; then
    full() { dd if=/dev/zero of="$work/disk/filler" bs=4k 2>/dev/null; }
    begins_full() {
        full
        says 6 "$work/disk/run" train "$work/good" "$work/disk/run"
        result=$?
        rm -r "$work/disk/filler" "$work/disk/run"
        return $result
    }
    check 'no room to begin' begins_full
    stops_full() {
        local more=(--set epochs=20 --set patience=0) process
        train "$work/good" "$work/plain" "${more[@]}" || return 1
        "${train[@]}" --out "$work/disk/run" --set "data=$work/good" "${more[@]}" &
        process=$!
        until [ -s "$work/disk/run/log.jsonl" ]; do
            kill -0 $process 2>/dev/null || break
        done
        kill -KILL $process
        wait $process 2>/dev/null
        [ $? -eq 137 ] || return 1
        cp -r "$work/disk/run" "$work/saved"
        full
        says 6 'No space left on device' \
            train "$work/good" "$work/disk/run" "${more[@]}" --resume ||
            return 1
        cmp "$work/saved/last.ckpt.safetensors" "$work/disk/run/last.ckpt.safetensors" || return 1
        rm "$work/disk/filler"
        train "$work/good" "$work/disk/run" "${more[@]}" --resume &&
            cmp "$work/plain/last.ckpt.safetensors" "$work/disk/run/last.ckpt.safetensors" &&
            diff <(ls "$work/plain") <(ls "$work/disk/run")
    }
    check 'no room to go on: the last state stays and is resumed' stops_full
else
    echo 'skipped no room to save: no tmpfs can be mounted here (needs root)'
fi

passed
