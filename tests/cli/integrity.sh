#!/bin/bash
# integrity.sh - damage, poison and hostile folders: never silent, and the good state stays
# usage: tests/cli/integrity.sh SOURCE_ROOT CLATTN
# shellcheck source=tests/cli/lib.sh
. "${BASH_SOURCE%/*}/lib.sh"
source=$1 clattn=$2
treebank "$source" "$work/data"
config=$source/examples/configs/tagger-conv2d.json
small=(--set "data=$work/data" --set word_dim=24 --set char_dim=8 --set layers=1 --set heads=2
    --set epochs=2 --set batch=8 --set keep=2 --quiet)
run=$work/run
best=best.ckpt.safetensors last=last.ckpt.safetensors
train() { "$clattn" train "$config" "${small[@]}" "$@"; }
tag() { echo 'il ne vient pas' | "$clattn" tag --model "$1"; }
copy() { rm -rf "$work/copy" && cp -r "$run" "$work/copy"; }

says_nothing() { "$@" >"$work/out"; }
check 'trains' train --out "$run"
state=$(cd "$run" && ls kept-*16.ckpt.safetensors)
check 'check finds all files whole' says_nothing "$clattn" check "$run"
listed() {
    "$clattn" check "$run" >"$work/out" || return 1
    for file in "$run"/*; do
        grep -qE "^(ok|not covered) +${file##*/} " "$work/out" || return 1
    done
    [ "$(grep -c '^ok' "$work/out")" -eq 9 ]
}
check 'and has a line for each' listed
objects() { "$clattn" check --json "$run" | grep -qx '{"file":"tags.txt","verdict":"ok","detail":"[0-9a-f]*"}'; }
check 'or an object' objects

# ---- one bit -----------------------------------------------------------------------

# flip FILE OFFSET: changes a bit of the byte there.
flip() {
    local byte
    byte=$(od -An -tu1 -j "$2" -N 1 "$1")
    # shellcheck disable=SC2059
    printf "\\$(printf %o $((byte ^ 1)))" | dd of="$1" bs=1 seek="$2" conv=notrunc status=none
}
damaged() { # damaged FILE OFFSET COMMAND...
    copy && flip "$work/copy/$1" "$2" && shift 2 && "$@"
}
size() { stat -c %s "$run/$1"; }
for file in config.json words.txt chars.txt tags.txt lexicon.tsv "$best"; do
    for at in 0 $(($(size "$file") / 2)) $(($(size "$file") - 1)); do
        check "a bit of $file at $at" damaged "$file" "$at" says 3 "$work/copy/$file" tag "$work/copy"
        check 'check finds it' says 3 '1 bad file' "$clattn" check "$work/copy"
        check 'and names it' grep -q "^BAD  *$file " "$work/out"
    done
done
for at in 1000 5000 $(($(size "$state") - 1)); do
    check "a bit of the last state at $at" damaged "$last" "$at" \
        says 3 "$last: damaged" train --out "$work/copy" --resume
    check "a bit of a kept state at $at" damaged "$state" "$at" \
        says 3 "$state: damaged" "$clattn" average --model "$work/copy" --out "$work/no"
done
check 'a kept state, under check' says 3 '1 bad file' "$clattn" check "$work/copy"
check 'a bit of the best, exported' damaged "$best" 5000 \
    says 3 "$best: damaged" "$clattn" export --model "$work/copy" --out "$work/no"
check 'and nothing stays' test ! -e "$work/no"
check 'a bit of the best, warmed up from' damaged "$best" 5000 \
    says 3 "$best: damaged" train --set "warm_start=$work/copy" --out "$work/no2"

# An edit of a vocabulary is damage; so is a state without a hash in a folder with them.
edited() { copy && sed -i '1!s/VERB/verb/' "$work/copy/tags.txt" && "$@"; }
check 'an edited vocabulary' edited says 3 "tags.txt: damaged or changed" tag "$work/copy"
stripped() { copy && LC_ALL=C sed -i 's/"xxh3":"/"xxh4":"/' "$work/copy/$best" && "$@"; }
check 'a state without its hash' stripped says 3 "$best: damaged or changed: it has no hash" \
    tag "$work/copy"
check 'under check' says 3 '1 bad file' "$clattn" check "$work/copy"
lost() { copy && rm "$work/copy/$best" && "$@"; }
check 'check misses the best state' lost says 3 '1 bad file' "$clattn" check "$work/copy"

# Version 0.1.0 stored the optimiser's state in the best state, too.
alone() { [ "$(size "$best")" -lt $(($(size "$last") * 2 / 3)) ]; }
check 'the best state holds the parameters alone' alone
older() { copy && mv "$work/copy/$last" "$work/copy/$best" && tag "$work/copy" >"$work/out"; }
check 'one with the optimiser of its time loads' older

# ---- folders without hashes, and what is made of them ------------------------------

old() { copy && unsealed "$work/copy" && "$@"; }
warned() {
    tag "$work/copy" >"$work/out" 2>"$work/err" && [ "$(wc -l <"$work/err")" -eq 1 ] &&
        grep -q 'warning: .*config.json: has no hashes' "$work/err" &&
        tag "$run" | cmp - "$work/out"
}
check 'an old folder loads with one warning' old warned
whole_line() { "$clattn" check "$work/copy" 2>/dev/null | grep -q "^no hash  *$best "; }
check 'check says so' whole_line
goes_on() {
    rm "$work/copy/$best" && train --set keep=1 --out "$work/copy" --resume 2>"$work/err" &&
        [ "$(wc -l <"$work/err")" -eq 1 ] && ! grep -q integrity "$work/copy/config.json"
}
check 'an old run goes on' goes_on
exported() {
    "$clattn" export --model "$work/copy" --out "$work/new" 2>"$work/err" &&
        [ "$(grep -c warning "$work/err")" -eq 1 ] && "$clattn" check "$work/new" >"$work/out" &&
        [ "$(grep -c '^ok' "$work/out")" -eq 6 ]
}
check 'an export of it has hashes' old exported
averaged() {
    "$clattn" average --model "$run" --out "$work/mean" 2>"$work/err" &&
        "$clattn" check "$work/mean" >"$work/out" && [ "$(grep -c '^ok' "$work/out")" -eq 6 ]
}
check 'a mean has hashes' averaged
again() {
    train --set epochs=1 --out "$work/first" &&
        "$clattn" train "$work/first/config.json" --quiet --out "$work/second" &&
        cmp "$work/first/$last" "$work/second/$last" &&
        cmp "$work/first/config.json" "$work/second/config.json"
}
check 'a config with hashes begins another run' again

# ---- numbers that no run has --------------------------------------------------------

steps() { train --set steps=5 --set epochs=9 --set save_every=1 --set patience=0 --out "$work/five"; }
check 'a run ends within an epoch' steps
unsealed "$work/five"
LC_ALL=C sed -i 's/"finished":"1"/"finished":"0"/' "$work/five/$last"
# lied KEY OLD NEW: the last state with another value of the same length.
lied() {
    rm -rf "$work/copy" && cp -r "$work/five" "$work/copy" &&
        grep -qa "\"$1\":\"$2\"" "$work/copy/$last" &&
        LC_ALL=C sed -i "s/\"$1\":\"$2\"/\"$1\":\"$3\"/" "$work/copy/$last"
}
export CLATTN_LOG=error
for lie in 'next 40 -8 must.be.0.to' 'next 40 99 the.data.has' 'step 5 x must.be.0.to' \
    'epoch 0 7 none.can.be.larger' 'stale 0 9 none.can.be.larger' \
    'best_step 5 9 none.can.be.larger' 'finished 0 7 must.be.0.to.1'; do
    read -r key from to part <<<"$lie"
    check "$key is $to" lied "$key" "$from" "$to"
    check 'which is refused' says 3 "${part//./ }" \
        "$clattn" train "$config" "${small[@]}" --set steps=5 --set epochs=9 --set save_every=1 \
        --set patience=0 --out "$work/copy" --resume
done
unset CLATTN_LOG

# ---- numbers that are not finite ----------------------------------------------------

poison=(--set lr=1000 --set save_every=1 --set layers=2)
check 'a run that is poisoned' says_alone 7 \
    "last good state is $work/poison/$last (step " train "${poison[@]}" --out "$work/poison"
good=$(grep -o '(step [0-9]*)' "$work/err" | tr -dc 0-9)
check 'keeps a state that is whole' says_nothing "$clattn" check "$work/poison"
check 'of the step that it names' grep -q "^ok  *$last .* step $good\$" <("$clattn" check "$work/poison")
check 'from which it goes on, to the same end' says_alone 7 "(step $good)" \
    train "${poison[@]}" --out "$work/poison" --resume
# With a smaller rate the numbers stay finite while the loss grows.
diverge=(--set lr=3 --set epochs=40 --set patience=0 --set save_every=1 --set eval_every=1000)
diverged() {
    says_alone 7 'the run diverges: the loss is' train "${diverge[@]}" --out "$work/diverged" &&
        grep -q "(step " "$work/err" && "$clattn" check "$work/diverged" >/dev/null
}
check 'a run that diverges' diverged
good_loss() { # before the twenty steps
    local at stop
    at=$(grep -o '(step [0-9]*)' "$work/err" | tr -dc 0-9)
    stop=$(grep -o 'at step [0-9]*' "$work/err" | tr -dc 0-9)
    [ $((at + 20)) -eq "$stop" ]
}
check 'keeps the state from before' good_loss

# A state with an infinity in its first parameter, as an older version kept it.
export CLATTN_LOG=error
copy && infinite "$work/copy" && put_numbers "$work/copy/$state" 0 '\000\000\200\177'
says_infinite() { says 7 "tensor 'word.table' holds numbers that are not finite" "$@"; }
check 'a state of an infinity is not tagged with' says_infinite tag "$work/copy"
check 'is not scored' says_infinite "$clattn" eval --model "$work/copy"
check 'is not exported' says_infinite "$clattn" export --model "$work/copy" --out "$work/no"
check 'is not averaged' says_infinite "$clattn" average --model "$work/copy" --out "$work/no"
check 'is not begun with' says_infinite train --set "warm_start=$work/copy" --out "$work/no3"
check 'is found by check' says 7 'bad file' "$clattn" check "$work/copy"
check 'and nothing stays of it' test ! -e "$work/no"

# Finite parameters whose products are not: the row of unknown words is as large as can be.
large() { copy && unsealed "$work/copy" && put_numbers "$work/copy/$best" 24 "$(printf '\\177%.0s' {1..96})"; }
unknown() { echo qqq | "$clattn" tag --model "$work/copy"; }
check 'parameters that are too large' large
check 'give no tags' says 7 'scores of a word are not finite' unknown
# Likewise a reader: its pointer's bias and, behind it, score make infinities of all words.
reader() {
    local first
    toy_squad "$work/passages" &&
        "$clattn" train "$source/examples/configs/reader-match_lstm.json" --quiet \
            --set "data=$work/passages" --set word_dim=12 --set trait_dim=4 --set hidden=12 \
            --set min_count=1 --set epochs=1 --out "$work/reader" && unsealed "$work/reader" || return
    first=$(grep -ao '"match.point.bias":{[^}]*' "$work/reader/$best" | sed 's/.*offsets":\[\([0-9]*\).*/\1/')
    put_numbers "$work/reader/$best" $((first / 4)) "$(printf '\\177%.0s' {1..96})"
}
asked() { echo '{"passage": "Zoë sold rye.", "question": "Who sold rye?"}' | "$clattn" answer --model "$work/reader"; }
check 'a reader of parameters that are too large' reader
check 'gives no answers' says 7 'scores of a question are not finite' asked
check 'nor scores' says 7 'scores of a question are not finite' \
    "$clattn" eval --model "$work/reader" --split dev
# The score of <pad> becomes the highest.
padded() {
    local first
    copy && unsealed "$work/copy"
    first=$(grep -ao '"out.bias":{[^}]*' "$work/copy/$best" | sed 's/.*offsets":\[\([0-9]*\).*/\1/')
    put_numbers "$work/copy/$best" $((first / 4)) '\000\000\200\107\000\000\200\107'
}
no_special() { padded && tag "$work/copy" >"$work/out" && ! grep -q '<' "$work/out" && grep -q '^4' "$work/out"; }
check 'no special label is an answer' no_special
unset CLATTN_LOG

# ---- what cannot be read, links, signals --------------------------------------------

loop() { copy && rm "$work/copy/$best" && ln -s "$best" "$work/copy/$best" && "$@"; }
check 'a best state that cannot be read is no reason for the last' \
    loop says 6 "$work/copy/$best" tag "$work/copy"
echo secret >"$work/secret"
linked() { copy && unsealed "$work/copy" && ln -sf "$work/$1" "$work/copy/$2" && shift 2 && "$@"; }
export CLATTN_LOG=error
check 'export follows no link out of the folder' linked secret chars.txt \
    says 3 "chars.txt: is a link to a file outside" "$clattn" export --model "$work/copy" --out "$work/no"
check 'nor to weights' linked "run/$best" "$best" \
    says 3 "$best: is a link to a file outside" "$clattn" export --model "$work/copy" --out "$work/no"
check 'nor does average' linked secret chars.txt \
    says 3 "chars.txt: is a link to a file outside" "$clattn" average --model "$work/copy" --out "$work/no"
check 'and nothing stays of them' test ! -e "$work/no"
pipe() { copy && rm "$work/copy/tags.txt" && mkfifo "$work/copy/tags.txt" && "$@"; }
check 'a pipe for a vocabulary' pipe says 6 'tags.txt: is not a regular file' \
    timeout 20 "$clattn" tag --model "$work/copy"
check 'and under check' pipe says 6 '1 bad file' timeout 20 "$clattn" check "$work/copy"
stopped() { # by SIGTERM while a large vocabulary is written
    copy && unsealed "$work/copy" && truncate -s 200M "$work/copy/chars.txt"
    "$clattn" "$1" --model "$work/copy" --out "$work/stopped" &
    local process=$!
    until [ -n "$(find "$work/stopped" -name '*.tmp' 2>/dev/null)" ]; do
        kill -0 $process 2>/dev/null || break
    done
    kill -TERM $process
    wait $process
    [ $? -eq 143 ] && [ ! -e "$work/stopped" ]
}
check 'a stopped export leaves nothing' stopped export
check 'a stopped average leaves nothing' stopped average

passed
