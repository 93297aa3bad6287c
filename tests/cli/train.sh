#!/bin/bash
# train.sh - training from the command line: resume, refusals, tagging
# usage: tests/cli/train.sh SOURCE_ROOT CLATTN TAG_EXAMPLE
# shellcheck source=tests/cli/lib.sh
. "${BASH_SOURCE%/*}/lib.sh"
source=$1 clattn=$2 example=$3
treebank "$source" "$work/data"
config=$source/examples/configs/tagger-conv2d.json
small=(--set "data=$work/data" --set word_dim=24 --set char_dim=8 --set layers=2 --set heads=2
    --set epochs=3 --set batch=8 --set save_every=3 --quiet)

train() { "$clattn" train "$config" "${small[@]}" "$@"; }

check 'trains' train --out "$work/whole"
check 'clattn-config(5) names its keys' python3 "$source/tools/config_manual.py" keys "$work/whole/config.json"
check 'writes what a model folder needs' \
    test -s "$work/whole/best.ckpt.safetensors" -a -s "$work/whole/words.txt" \
    -a -s "$work/whole/log.jsonl" -a -s "$work/whole/config.json"
# profiled [VARIABLE=VALUE...]: of a step, the rows of kernels add up to the last one
profiled() {
    rm -rf "$work/profiled"
    env "$@" "$clattn" train "$config" "${small[@]}" --set steps=3 --profile \
        --out "$work/profiled" 2>"$work/err" &&
        awk '/^a step, mean of 2, by kernel:$/ { seen = 1 }
            $6 != "launches" { next }
            $9 == "all" { whole = $5; bytes = $7; next }
            $9 != "(read)" && $9 != "(write)" { launches += $5 }
            { sum += $7 }
            END { off = launches - whole; far = sum - bytes
                exit !(seen && whole > 20 && off < 1 && off > -1 &&
                    bytes > 0 && far < 0.1 && far > -0.1) }' "$work/err" &&
        grep -qE 'ms a step; the device is idle for [0-9]+\.[0-9] % of it' "$work/err"
}
check 'a profile has launches, bytes and idle time of a step' profiled
check 'and counts under CLATTN_RECORD' profiled CLATTN_RECORD="$work/record"
check 'same seed, same bits' \
    sh -c "true; '$clattn' train '$config' ${small[*]} --out '$work/again' &&
        cmp '$work/whole/last.ckpt.safetensors' '$work/again/last.ckpt.safetensors'"

timed() { # each line of the log ends with the time of day
    local lines
    lines=$(grep -c '' "$work/whole/log.jsonl")
    [ "$lines" -gt 3 ] && [ "$(grep -cE \
        ',"time":"20[0-9]{2}-[01][0-9]-[0-3][0-9]T[0-2][0-9]:[0-5][0-9]:[0-6][0-9]Z"}$' \
        "$work/whole/log.jsonl")" -eq "$lines" ]
}
check 'every line of the log has the time' timed

# nothing_left CODE PART OPTION...: a start that fails leaves nothing in the folder, whether
# it was there or not.
nothing_left() {
    local code=$1 part=$2 folder
    shift 2
    rm -rf "$work/begun"
    mkdir -p "$work/begun/there"
    echo mine >"$work/begun/there/words.txt"
    for folder in new there; do
        says "$code" "$part" train "$@" --out "$work/begun/$folder" || return 1
    done
    [ ! -e "$work/begun/new" ] && [ "$(ls "$work/begun/there")" = words.txt ] &&
        says 2 "$work/begun/none holds no run" train --out "$work/begun/none" --resume &&
        [ ! -e "$work/begun/none" ]
}
check 'a wrong setting leaves nothing' nothing_left 3 'window is 10' --set attention=csan1d --set window=10
check 'a setting that the network refuses leaves nothing' nothing_left 3 'no multiple of 5 heads' --set heads=5
check 'data that is missing leaves nothing' nothing_left 6 'none/train.conllu' --set "data=$work/none"
check 'a device that is missing leaves nothing' nothing_left 2 'no device matches' --device nonesuch
check 'a folder to start from that is missing leaves nothing' \
    nothing_left 6 "$work/none" --set "warm_start=$work/none"

own_config() { # resumed by its own config, and held to it
    "$clattn" train "$config" "${small[@]}" --set epochs=1 --out "$work/own" &&
        says 2 "the run was begun with another 'lr'" \
            "$clattn" train --resume --out "$work/own" --set lr=0.5 --quiet &&
        "$clattn" train --resume --out "$work/own" --set epochs=3 --quiet &&
        cmp "$work/whole/last.ckpt.safetensors" "$work/own/last.ckpt.safetensors" &&
        cmp "$work/whole/config.json" "$work/own/config.json" &&
        says 2 "$work/none holds no run to resume" "$clattn" train --resume --out "$work/none" &&
        says 2 'train needs a config file' "$clattn" train --out "$work/none" && [ ! -e "$work/none" ]
}
check 'resuming needs no config again' own_config

# killed WHOLE [OPTION...]: killed at moments of its own choosing, resumed each time, a run
# ends in the bits of the whole one.
killed() {
    local whole=$work/$1 run=$work/$1-killed resume
    shift
    kill_often "$run" "$clattn" train "$config" "${small[@]}" "$@" || return 1
    train "$@" --out "$run" "${resume[@]}" || return 1
    cmp "$whole/last.ckpt.safetensors" "$run/last.ckpt.safetensors" &&
        cmp "$whole/best.ckpt.safetensors" "$run/best.ckpt.safetensors"
}
check 'kill -9 and resume end in the same bits' killed whole
annealed() { # over the last four of ten steps: the logged rate of the last is a fifth
    train --set steps=10 --set anneal=4 --set lr=0.5 --set log_every=1 --out "$work/annealed" &&
        grep -q '"step":6,.*"lr":0.5,' "$work/annealed/log.jsonl" &&
        grep -q '"step":10,.*"lr":0.1,' "$work/annealed/log.jsonl"
}
check 'the rate falls over the last steps' annealed
check 'refuses to anneal more steps than there are' says 3 'anneal is 11, must be at most steps, 10' \
    train --set steps=10 --set anneal=11 --out "$work/refused"
delta=(--set optimiser=adadelta --set lr=1 --set ema=0.9)
check 'trains with AdaDelta and means' train "${delta[@]}" --out "$work/delta"
check 'which go on as well' killed delta "${delta[@]}"
losses() { grep -o '"loss":[^,]*' "$work/$1/log.jsonl"; }
lion=(--set optimiser=lion --set lr=0.003 --set weight_decay=0.5 --set steps=10)
check 'trains with Lion' train "${lion[@]}" --out "$work/lion"
check 'which goes on as well' killed lion "${lion[@]}"
shrinks() { # weight decay changes what is learnt, and is in the config of the run
    train "${lion[@]}" --set weight_decay=0 --out "$work/straight" &&
        grep -q '"weight_decay": 0.5' "$work/lion/config.json" &&
        [ "$(losses lion)" != "$(losses straight)" ]
}
check 'weight decay shrinks parameters' shrinks
check 'refuses weight decay that an optimiser has not' says 3 "unknown key 'weight_decay'" \
    train --set optimiser=adam --set weight_decay=0.1 --out "$work/refused"
scored() { # what was scored is what is kept
    local best
    best=$(grep 'new best' "$work/delta/log.jsonl" | tail -n 1 | grep -o '"accuracy":[^,}]*[,}]')
    [ -n "$best" ] && prints "$best" "$clattn" eval --model "$work/delta" --split dev --json
}
check 'the best state is the mean that was scored' scored
aside() {
    train "${delta[@]}" --set ema=0 --out "$work/without" || return 1
    [ "$(losses delta)" = "$(losses without)" ] &&
        ! cmp -s "$work/delta/best.ckpt.safetensors" "$work/without/best.ckpt.safetensors" &&
        [ "$(grep -o '"accuracy":[^,}]*' "$work/delta/log.jsonl")" != \
            "$(grep -o '"accuracy":[^,}]*' "$work/without/log.jsonl")" ]
}
check 'means change what is scored, not what is learnt' aside

interrupted() {
    "$clattn" train "$config" "${small[@]}" --set epochs=200 --set patience=0 \
        --out "$work/signal" &
    process=$!
    while [ ! -e "$work/signal/config.json" ]; do sleep 0.05; done
    sleep 0.3
    kill -INT $process
    wait $process
    [ $? -eq 130 ] && [ -s "$work/signal/last.ckpt.safetensors" ]
}
check 'SIGINT saves and exits with 130' interrupted

# The line that a stopped run prints continues it as it stands there, and ends in the bits
# of a run that was never stopped. The folder's name needs quotes.
printed() {
    local run="$work/it's a run" line
    "$clattn" train "$config" "${small[@]:0:${#small[@]}-1}" --set epochs=6 --set 'patience=0' \
        --out "$run" 2>"$work/err" &
    process=$!
    while [ ! -e "$run/config.json" ]; do sleep 0.05; done
    sleep 0.2
    kill -INT "$process"
    wait "$process"
    [ $? -eq 130 ] || return 1
    line=$(sed -n '/continue with:$/{n;p}' "$work/err")
    sh -c "$line" 2>"$work/err" || return 1
    train --set epochs=6 --set patience=0 --out "$work/six" &&
        cmp "$work/six/last.ckpt.safetensors" "$run/last.ckpt.safetensors" &&
        cmp "$work/six/best.ckpt.safetensors" "$run/best.ckpt.safetensors"
}
check 'the printed command continues a stopped run' printed

# Three epochs, then the rest: the same bits, settings and scores as six at once.
scores() { grep verdict "$1/log.jsonl" | sed 's/,"time":"[^"]*"//'; }
longer() {
    train --set patience=0 --out "$work/longer" &&
        train --set patience=0 --set epochs=6 --set save_every=5 --set log_every=7 \
            --out "$work/longer" --resume &&
        train --set patience=0 --set epochs=6 --out "$work/longer" --resume &&
        cmp "$work/six/last.ckpt.safetensors" "$work/longer/last.ckpt.safetensors" &&
        cmp "$work/six/best.ckpt.safetensors" "$work/longer/best.ckpt.safetensors" &&
        cmp "$work/six/config.json" "$work/longer/config.json" &&
        [ "$(scores "$work/six")" = "$(scores "$work/longer")" ] &&
        "$clattn" check "$work/longer" >/dev/null
}
check 'resume accepts more epochs and other cadences' longer
older() { # a key that the run's version did not have, with its default and with another value
    train --set patience=0 --out "$work/older" && unsealed "$work/older" &&
        sed -i '/"anneal"/d' "$work/older/config.json" || return 1
    grep anneal "$work/older/config.json" && return 1
    exits 2 "the run was begun with another 'anneal'" 2 train --set patience=0 --set steps=9 \
        --set anneal=1 --out "$work/older" --resume || return 1
    train --set patience=0 --set epochs=6 --out "$work/older" --resume &&
        cmp "$work/six/last.ckpt.safetensors" "$work/older/last.ckpt.safetensors"
}
check 'a run that lacks a newer key goes on' older
steps() {
    train --set patience=0 --set epochs=100 --set steps=48 --out "$work/steps" --resume 2>/dev/null &&
        return 1
    train --set patience=0 --set epochs=100 --set steps=16 --out "$work/steps" &&
        train --set patience=0 --set epochs=100 --set steps=48 --out "$work/steps" --resume &&
        cmp "$work/six/last.ckpt.safetensors" "$work/steps/last.ckpt.safetensors"
}
check 'resume accepts more steps' steps
commented() {
    ! grep -L '"comment": "Data: ' "$source"/{examples,reproduction}/configs/*.json | grep . &&
        grep -q '"comment": "Data: ' "$work/whole/config.json" &&
        train --set comment=other --out "$work/comment" &&
        cmp "$work/whole/last.ckpt.safetensors" "$work/comment/last.ckpt.safetensors" &&
        train --set comment=another --out "$work/comment" --resume &&
        grep -q '"comment": "another"' "$work/comment/config.json"
}
check 'comments change nothing, and name the data of each config' commented
patience() {
    train --set lr=1e-9 --set patience=1 --set epochs=9 --out "$work/patience" &&
        grep -q 'stalled 1 of 1' "$work/patience/log.jsonl" &&
        train --set lr=1e-9 --set patience=2 --set epochs=9 --out "$work/patience" --resume &&
        [ "$(grep -c stalled "$work/patience/log.jsonl")" -eq 2 ]
}
check 'resume accepts more patience' patience
endless() {
    train --set lr=1e-9 --set patience=0 --set epochs=4 --out "$work/patience" --resume &&
        grep -q '"stalled 3"' "$work/patience/log.jsonl"
}
check 'a run that waits for ever counts, but names no limit' endless
complete() {
    "$clattn" train "$config" "${small[@]:0:${#small[@]}-1}" --out "$work/whole" --resume \
        2>"$work/err" && grep -q 'is complete after .* --set epochs=N' "$work/err"
}
check 'a complete run says how to go on' complete
baseline() {
    "$clattn" train "$config" "${small[@]:0:${#small[@]}-1}" --out "$work/lines" 2>"$work/err" &&
        grep -qE 'accuracy [0-9.]+  (new best|stalled 1 of 3)  best [0-9.]+, majority [0-9.]+$' "$work/err"
}
check 'lines show the best score and the majority baseline' baseline

check 'a run is not overwritten' says 2 'holds a run' train --out "$work/whole"
check 'resume of another config is refused' \
    says 2 "another 'lr'" train --out "$work/whole" --resume --set lr=0.5
check 'resume of nothing is refused' says 2 'no run to resume' train --out "$work/no" --resume
other_data() { # and the run is as it was
    cp -r "$work/whole" "$work/before"
    sed -n '/^# sent_id/,$p' "$source/examples/data/fr_spoken/test.conllu" >"$work/data/train.conllu"
    says 3 "$work/whole/words.txt: the data gives another vocabulary" \
        train --out "$work/whole" --resume && diff -r "$work/before" "$work/whole"
    result=$?
    awk -v RS= -v ORS='\n\n' 'NR <= 60' \
        "$source/examples/data/fr_spoken/train.conllu" >"$work/data/train.conllu"
    return $result
}
check 'resume with other data is refused' other_data
check 'unknown key' says 3 "did you mean 'dropout'" train --out "$work/k" --set dropuot=0.1
check 'negative size' says 3 'layers is -1' train --out "$work/n" --set layers=-1
check 'no such data' says 6 'nowhere/train.conllu' train --out "$work/d" --set data=nowhere
misspelt() {
    toy_squad "$work/squad"
    says 6 "$work/squad/nope.json: " "$clattn" train "$source/examples/configs/reader-match_lstm.json" \
        --set "data=$work/squad" --set dev=nope --set hidden=8 --set epochs=1 --quiet \
        --out "$work/misspelt" && [ ! -e "$work/misspelt/config.json" ]
}
check 'a reader without its dev file stops before training' misspelt
check 'width and heads' says 3 'no multiple of 5 heads' train --out "$work/h" --set heads=5

# ---- what a trained model does
check 'eval' prints '"accuracy":' "$clattn" eval --model "$work/whole" --json
# Recomputed from what tag writes: counts, precision and recall of every tag.
tags() {
    "$clattn" eval --model "$work/whole" --tags --json >"$work/tags.json" &&
        "$clattn" tag --model "$work/whole" <"$work/data/test.conllu" >"$work/tagged" &&
        paste "$work/data/test.conllu" "$work/tagged" >"$work/both" &&
        python3 - "$work/tags.json" "$work/both" <<'PYTHON'
import json, sys, collections
pairs = collections.Counter()
for line in open(sys.argv[2], encoding="utf-8"):
    columns = line.split("\t")
    if columns[0].isdigit():
        pairs[columns[3], columns[13]] += 1
gold, said = collections.Counter(), collections.Counter()
for (g, s), n in pairs.items():
    gold[g] += n
    said[s] += n
rows = [json.loads(line) for line in open(sys.argv[1])]
assert {r["tag"] for r in rows} == set(gold) | set(said), rows
assert [r["words"] for r in rows] == sorted((r["words"] for r in rows), reverse=True)
for r in rows:
    t, right = r["tag"], pairs[r["tag"], r["tag"]]
    assert r["words"] == gold[t]
    assert r["tagged_as"] == {s: n for (g, s), n in pairs.items() if g == t}
    assert abs(r["precision"] - (100 * right / said[t] if said[t] else 0)) < 1e-6
    assert abs(r["recall"] - (100 * right / gold[t] if gold[t] else 0)) < 1e-6
    assert abs(r["f1"] - 200 * right / (gold[t] + said[t])) < 1e-6
PYTHON
}
check 'eval --tags counts what tag writes' tags
matrix() { # the diagonal of the matrix and the accuracy agree
    "$clattn" eval --model "$work/whole" --tags >"$work/out" && "$clattn" eval --model "$work/whole" \
        >"$work/scores" && awk '
        NR == FNR { score[$1] = $2; next }
        /^confusion/ { inside = 1; getline; next }
        inside { right += $(2 + ++rows); for (i = 3; i <= NF; i++) all += $i }
        END { exit !(all == score["words"] && sprintf("%.2f", 100 * right / all) == score["accuracy"]) }
        ' "$work/scores" "$work/out"
}
check 'eval --tags prints a matrix' matrix
several() {
    "$clattn" eval --model "$work/whole" --model "$work/delta" >"$work/out" &&
        grep -qx "B  $work/delta" "$work/out" &&
        for model in whole delta; do
            "$clattn" eval --model "$work/$model" | awk '$1 == "accuracy" { print $2 }'
        done | paste -sd ' ' >"$work/want" &&
        awk '$1 == "accuracy" { print $2, $3 }' "$work/out" | cmp - "$work/want" &&
        [ "$("$clattn" eval --model "$work/whole" --model "$work/delta" --json |
            grep -c '^{"model":".*"accuracy":')" -eq 2 ]
}
check 'eval compares models' several
check 'eval --tags with two models' says 2 'for one --model alone' \
    "$clattn" eval --model "$work/whole" --model "$work/delta" --tags
check 'eval names bad lines' \
    says 3 "$work/bad.conllu:2: 4 columns, must be 10" sh -c \
    "printf '# x\n1\ta\t_\tX\n' >'$work/bad.conllu';
     '$clattn' eval --model '$work/whole' --data '$work/bad.conllu'"

tagged() {
    "$clattn" tag --model "$work/whole" <"$work/data/test.conllu" >"$work/tagged" || return 1
    cut -f 1-3,5- "$work/data/test.conllu" | sed '/^$/d' >"$work/rest.want"
    cut -f 1-3,5- "$work/tagged" | sed '/^$/d' >"$work/rest.got"
    cmp "$work/rest.want" "$work/rest.got"
}
check 'tag touches column 4 only' tagged
check 'one by one gives the same tags' writes "$work/tagged" \
    "$clattn" tag --model "$work/whole" --unbuffered <"$work/data/test.conllu"
plain() {
    printf 'il ne vient pas\n\noui\n' | "$clattn" tag --model "$work/whole" >"$work/plain"
    [ "$(grep -c '^1	' "$work/plain")" -eq 2 ] && [ "$(grep -c '	' "$work/plain")" -eq 5 ]
}
check 'tag reads plain words' plain
long() {
    seq -s ' ' 5000 | "$clattn" tag --model "$work/whole" | grep -c '	' | grep -qx 5000 &&
        head -c 10000 /dev/zero | tr '\0' 'x' | "$clattn" tag --model "$work/whole" >/dev/null
}
check 'a sentence of 5,000 words, a word of 10,000 letters' long

# The C API, in a program of its own.
application() {
    "$example" "$work/whole" il ne vient pas >"$work/out" || return 1
    printf 'il ne vient pas\n' | "$clattn" tag --model "$work/whole" | grep '	' |
        cut -f 2,4 | cmp - "$work/out"
}
check 'an application tags' application
refusals() {
    ! "$example" "$work/whole" il '' 2>"$work/err" && grep -q 'words\[1\] is empty' "$work/err" &&
        ! "$example" "$work/whole" $'ab\xff' 2>"$work/err" && grep -q 'words\[0\] is not UTF-8' "$work/err" &&
        ! "$example" "$work/nowhere" il 2>"$work/err" && grep -q 'nowhere/config' "$work/err"
}
check 'an application is told what is wrong' refusals

# ---- damaged models
copy() { rm -rf "$work/copy" && cp -r "$work/whole" "$work/copy" && unsealed "$work/copy"; }
export CLATTN_LOG=error
copy
head -c 3000 "$work/whole/best.ckpt.safetensors" >"$work/copy/best.ckpt.safetensors"
check 'truncated checkpoint' says 3 "$work/copy/best.ckpt.safetensors" \
    "$clattn" eval --model "$work/copy"
copy
sed -i 's/"layers": 2/"layers": 3/' "$work/copy/config.json"
check 'missing tensor' says 3 "tensor 'layer.2.qkv' is missing" \
    "$clattn" eval --model "$work/copy"
copy
echo extra >>"$work/copy/words.txt"
check 'wrong shape' says 3 "tensor 'word.table'" "$clattn" eval --model "$work/copy"
copy
rm "$work/copy/tags.txt"
check 'missing vocabulary' says 6 "$work/copy/tags.txt" "$clattn" eval --model "$work/copy"
unset CLATTN_LOG

inspected() {
    "$clattn" inspect --model "$work/whole" --text 'il ne vient pas' --out "$work/maps.svg" &&
        grep -q 'layer 2 head 2 convolved' "$work/maps.svg" &&
        [ "$(grep -c '>vient</text>' "$work/maps.svg")" -eq 16 ] && svg_fits "$work/maps.svg" &&
        "$clattn" inspect --model "$work/whole" --text oui --out "$work/one.svg" &&
        svg_fits "$work/one.svg" &&
        "$clattn" inspect --model "$work/whole" --out "$work/long.svg" \
            --text 'anticonstitutionnellement <&> WWWWWWWWWWWWWWWW' && svg_fits "$work/long.svg"
}
check 'inspect draws every map, and nothing overlaps or is cut' inspected
check 'a picture of another kind is refused at once' \
    says 2 'pictures are .svg files' "$clattn" inspect --model "$work/none" --text a --out "$work/a.png"
plotted() {
    cp -r "$work/whole" "$work/a run with a name that is much longer than the picture is wide, if \
anybody wants one, and why should nobody do so, since all file systems take it? nothing is cut" &&
        PATH='' "$clattn" plot "$work/whole" "$work/a run"* --metric loss --out "$work/curve.svg" &&
        svg_fits "$work/curve.svg" && [ "$(grep -c '<polyline' "$work/curve.svg")" -eq 2 ] &&
        "$clattn" plot "$work/whole" --out "$work/curve.svg" && svg_fits "$work/curve.svg" &&
        points=$(sed -n 's/.*points="\([^"]*\)".*/\1/p' "$work/curve.svg" | wc -w) &&
        [ "$points" -eq "$(grep -c accuracy "$work/whole/log.jsonl")" ]
}
check 'plot draws a curve for each run' plotted

# Minutes over the end of a February with a leap day, a new year, a second run that is slower.
along_time() {
    local line='{"step":%d,"epoch":1,"nll":%d,"time":"%s"}\n'
    mkdir "$work/timed" "$work/late"
    # shellcheck disable=SC2059 # a format for three lines
    printf "$line" 1 4 2028-02-28T23:59:30Z 2 3 2028-03-01T00:00:30Z 3 2 2028-03-01T00:01:00Z >"$work/timed/log.jsonl"
    # shellcheck disable=SC2059
    printf "$line" 1 4 2026-12-31T23:00:00Z 2 3 2027-01-02T23:03:00Z 3 2 'yesterday' >"$work/late/log.jsonl"
    "$clattn" plot "$work/timed" "$work/late" --along time --out "$work/time.svg" && svg_fits "$work/time.svg" &&
        grep -q '>minutes<' "$work/time.svg" || return 1
    # places in minutes: 0, 1441, 1441.5 and 0, 2883, which is the end of the axis or close to it
    sed -n 's/.*points="\([^"]*\)".*/\1/p' "$work/time.svg" | awk '
        { for (i = 1; i <= NF; i++) { split($i, p, ","); x[NR, i] = p[1] } n[NR] = NF }
        END { a = (x[1, 2] - x[1, 1]) / (x[2, 2] - x[2, 1]); b = (x[1, 3] - x[1, 1]) / (x[2, 2] - x[2, 1])
            exit !(n[1] == 3 && n[2] == 2 && a > 0.499 && a < 0.501 && b >= a && b < 0.502) }'
}
check 'plot along time counts minutes' along_time

passed
