#!/bin/bash
# demo.sh - the first run: trains, scores, tags, draws, and says what to do next
# usage: tests/cli/demo.sh SOURCE_ROOT CLATTN
# shellcheck source=tests/cli/lib.sh
. "${BASH_SOURCE%/*}/lib.sh"
source=$(realpath "$1") clattn=$(realpath "$2")
cd "$work" || exit 1 # its files do not depend on where it is started

stopped() { # as soon as there is a run
    "$clattn" demo --epochs 1 >"$work/out" 2>"$work/err" &
    local process=$!
    while [ ! -e clattn-demo/config.json ] && kill -0 "$process"; do sleep 0.05; done
    kill -INT "$process"
    wait "$process"
    [ $? -eq 130 ] && grep -q 'continue with:' "$work/err" && ! grep -q 'Next' "$work/out"
}
check 'SIGINT stops the demo with 130' stopped
shown() {
    "$clattn" demo --epochs 1 >"$work/out" 2>"$work/err" || return 1
    grep -qE '^epoch 1  step [0-9]+  accuracy [0-9.]+  new best .*majority' "$work/err" &&
        grep -qE '^accuracy +[0-9.]+$' "$work/out" &&
        grep -qE '^  elle/[A-Z]+  veut/[A-Z]+  pas/[A-Z]+ ' "$work/out" &&
        svg_fits clattn-demo/attention.svg &&
        grep -q 'layer 2 head 4 convolved' clattn-demo/attention.svg
}
check 'the same command goes on, and shows what came of it' shown
next() { # the commands that it prints, but for the benchmark; shorter training
    local line lines=0
    sed -n '/^Next:/,$s/^  //p' "$work/out" >"$work/next"
    while read -r line; do
        case $line in
        *' bench --quick') continue ;;
        *' train '*--resume) line+=' --set epochs=2 --quiet' ;;
        *' train '*) line+=' --set steps=1 --quiet' ;;
        esac
        sh -c "$line" </dev/null >"$work/said" || return 1
        lines=$((lines + 1))
    done <"$work/next"
    [ "$lines" -eq 3 ]
}
check 'the commands that it prints work' next
another() {
    "$clattn" demo --epochs 2 --text 'il <ne> vient' >"$work/out" 2>"$work/err" &&
        grep -q 'is complete' "$work/err" && grep -qE '^  il/[A-Z]+  <ne>/[A-Z]+  vient/[A-Z]+$' "$work/out"
}
check 'a complete demo takes another sentence' another
check 'refuses a sentence without words' says 3 '--text has no word' \
    "$clattn" demo --epochs 2 --text ' '

# Data of a config are looked for beside it first, then where the program was started.
mkdir configs data here
treebank "$source" "$work/data/beside"
treebank "$source" "$work/here/from"
printf '{"model": "tagger", "preset": "modern", "data": "../data/beside"}' >configs/a.json
cp configs/a.json configs/b.json && sed -i 's|../data/beside|from|' configs/b.json
small=(--set layers=1 --set heads=1 --set word_dim=8 --set char_dim=8 --set steps=1 --quiet)
beside() {
    (cd here && "$clattn" train ../configs/a.json "${small[@]}" --out a) &&
        grep -q '"data": "../data/beside"' here/a/config.json &&
        (cd here && "$clattn" train ../configs/b.json "${small[@]}" --out b) &&
        grep -q '"data": "from"' here/b/config.json &&
        (cd here && "$clattn" eval --model b >/dev/null)
}
check 'data beside the config, or where the program was started' beside
check '--set names what is seen from where the program was started' \
    says 6 '../data/beside/train.conllu' \
    "$clattn" train configs/a.json --set data=../data/beside --out c

passed
