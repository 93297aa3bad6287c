#!/bin/bash
# generate.sh - a tiny language model from the command line: trained, resumed, scored, used
# usage: tests/cli/generate.sh SOURCE_ROOT CLATTN
# shellcheck source=tests/cli/lib.sh
. "${BASH_SOURCE%/*}/lib.sh"
source=$1 clattn=$2
config=$source/examples/configs/lm-small.json
run=$work/run
mkdir "$work/data"
for i in 1 2 3; do echo 'one two three four five six seven eight'; done >"$work/data/train.txt"
cp "$work/data/train.txt" "$work/data/dev.txt"
cp "$work/data/train.txt" "$work/data/test.txt"

tiny=(--set "data=$work/data" --set train=train.txt --set hold_out=0 --set dim=32 --set heads=2
    --set layers=1 --set context=16 --set batch=4 --set lr=0.01 --set warmup=1 --set eval_every=40
    --set patience=0 --quiet)
train() { "$clattn" train "$config" "${tiny[@]}" "$@"; }
generate() { "$clattn" generate --model "$run" "$@"; }

check 'trains' train --set steps=160 --out "$run"
check 'clattn-config(5) names its keys' python3 "$source/tools/config_manual.py" keys "$run/config.json"
check 'writes the characters' test -s "$run/characters.txt"
check 'the folder is whole' "$clattn" check "$run"

learnt() {
    "$clattn" eval --model "$run" --json >"$work/scores" || return 1
    python3 - "$work/scores" <<'PYTHON'
import json, math, sys
m = json.load(open(sys.argv[1]))
assert m["pieces"] == 3 * 40 - 1 and m["nll"] < 0.4, m
assert abs(m["perplexity"] - math.exp(m["nll"])) < 1e-6
assert abs(m["bits_per_byte"] - m["nll"] / math.log(2)) < 1e-6
PYTHON
}
check 'knows its text: nats, perplexity, bits a byte' learnt

# Greedy writing, its stops, and what --json says.
printf 'one two three four five six seven eight\n' >"$work/want"
check 'continues a prompt' writes "$work/want" generate --greedy --pieces 100 --stop $'\n' 'one two'
check 'ends before a stop' prints 'one two three four' generate --greedy --stop ' five' 'one two'
check 'no more than --pieces' prints '"text":" three f"' generate --greedy --pieces 8 --json 'one two'
lines() {
    printf 'one\nfour\n' | generate --greedy --pieces 4 >"$work/out" &&
        printf 'one two\nfour fiv\n' | cmp - "$work/out"
}
check 'continues each line of standard input' lines

repeats() {
    for name in a b; do generate --seed 7 --temperature 3 'o' >"$work/$name" || return 1; done
    generate --seed 8 --temperature 3 'o' >"$work/c" && cmp -s "$work/a" "$work/b" &&
        ! cmp -s "$work/a" "$work/c"
}
check 'a seed repeats its draws, and another gives others' repeats
check 'one likely piece is greedy' writes "$work/want" generate --top-k 1 --pieces 100 --stop $'\n' 'one two'
check 'so is the head of the probability' writes "$work/want" generate --top-p 0.001 --pieces 100 --stop $'\n' 'one two'

for none in --temperature --top-p; do
    check "$none 0 is greedy" writes "$work/want" generate $none 0 --pieces 100 --stop $'\n' 'one two'
done

# A run that is stopped and resumed is the run that was never stopped, also its draws.
resumed() {
    local more=(--set dropout=0.1 --set save_every=1 --set schedule=noam)
    train "${more[@]}" --set steps=12 --out "$work/whole" &&
        train "${more[@]}" --set steps=7 --out "$work/parts" &&
        train "${more[@]}" --set steps=12 --out "$work/parts" --resume &&
        cmp "$work/whole/last.ckpt.safetensors" "$work/parts/last.ckpt.safetensors"
}
check 'resumes with the same bits' resumed
killed() { # at moments of its own choosing, resumed each time
    local more=(--set dropout=0.1 --set save_every=1 --set steps=40) resume
    kill_often "$work/killed" "$clattn" train "$config" "${tiny[@]}" "${more[@]}" || return 1
    train "${more[@]}" --out "$work/killed" "${resume[@]}" &&
        train "${more[@]}" --out "$work/unhurt" &&
        cmp "$work/unhurt/last.ckpt.safetensors" "$work/killed/last.ckpt.safetensors"
}
check 'kill -9 and resume end in the same bits' killed
parts() { # three parts of a batch make the same step, but for rounding
    train --set steps=3 --set accumulate=4 --out "$work/accumulated" &&
        train --set steps=3 --out "$work/at_once" &&
        python3 - "$work" <<'PYTHON'
import json, sys
loss = [[json.loads(l)["nll"] for l in open(f"{sys.argv[1]}/{d}/log.jsonl") if "nll" in l]
        for d in ("accumulated", "at_once")]
assert loss[0] and all(abs(a - b) < 1e-4 for a, b in zip(*loss)), loss
PYTHON
}
check 'parts of a batch make the same step' parts

# Nats of lines: those of the text it has learnt are few, and their sum is that of eval.
likely() {
    "$clattn" score lm --model "$run" <"$work/data/test.txt" >"$work/out" &&
        printf 'one two three four five six seven eight\nfive seven\n\n' |
        "$clattn" score lm --model "$run" --json >"$work/json" &&
        python3 - "$work/out" "$work/json" <<'PYTHON'
import json, sys
rows = [line.split() for line in open(sys.argv[1])]
assert len(rows) == 3 and len(set(map(tuple, rows))) == 1 and rows[0][1] == "40", rows
known, strange, none = map(json.loads, open(sys.argv[2]))
assert abs(known["nats"] - float(rows[0][0])) < 1e-3 and known["pieces"] == 40
assert strange["pieces"] == 11 and none["pieces"] == 1
assert strange["nats"] / 11 > 3 * known["nats"] / 40, (known, strange)
PYTHON
}
check 'score lm: a known line is likely' likely
whole() {
    printf 'one two\nthree\n\nfour\n' | "$clattn" score lm --model "$run" --documents >"$work/out" &&
        [ "$(cut -f 2 "$work/out")" = "$(printf '14\n5')" ]
}
check 'score lm --documents' whole

# Words as pieces; a text of a megabyte is kept as numbers, which a resumed run finds.
words() {
    local more=(--set pieces=bpe --set merges=50 --set steps=160)
    train "${more[@]}" --out "$work/words" && "$clattn" check "$work/words" >/dev/null &&
        "$clattn" generate --model "$work/words" --greedy --stop $'\n' 'one two' >"$work/out" &&
        cmp "$work/want" "$work/out"
}
check 'trains and writes with byte pairs' words
kept() {
    cp "$work/data/train.txt" "$work/few"
    for i in $(seq 40); do seq -f 'one two three %g' 1500; done >"$work/data/train.txt"
    train --set pieces=bpe --set merges=9 --set steps=2 --out "$work/kept" &&
        train --set pieces=bpe --set merges=9 --set steps=3 --out "$work/kept" --resume &&
        [ "$(echo "$work/data"/*)" = "$(echo "$work/data"/{dev.txt,test.txt,train.txt,train.txt.*.prepared})" ] &&
        mv "$work/few" "$work/data/train.txt"
}
check 'keeps a long text as numbers' kept

# Documents end by themselves.
documents() {
    printf 'one two\n\nthree four\n\n' >"$work/data/train.txt"
    cp "$work/data/train.txt" "$work/data/dev.txt"
    train --set documents=true --set steps=160 --out "$work/documents" &&
        "$clattn" generate --model "$work/documents" --greedy 'one' >"$work/out" &&
        echo 'one two' | cmp - "$work/out"
}
check 'a document ends' documents

for way in csan1d custom rel_pos; do
    check "trains with $way" train --set attention=$way --set window=5 --set steps=2 --out "$work/$way"
    check "writes with $way" prints 'one' "$clattn" generate --model "$work/$way" --pieces 30 'one'
done
# A window with sinks: of one layer, a piece sees the last three and the first two alone.
sinks() {
    train --set attention=custom --set 'mask=i - j < 3 || j < 2' --set position=none --set steps=2 \
        --out "$work/sinks" || return 1
    for text in 'one two three' 'ote two three' 'one two nhree' 'one two thrne'; do
        "$clattn" inspect --model "$work/sinks" --text "$text" --out "$work/${text// /_}.safetensors" || return 1
    done
    python3 - "$work" <<'PYTHON'
import json, struct, sys
def last(name):
    data = open(f"{sys.argv[1]}/{name}.safetensors", "rb").read()
    size, = struct.unpack("<Q", data[:8])
    logits = json.loads(data[8:8 + size])["logits"]
    at, end = (8 + size + x for x in logits["data_offsets"])
    wide = logits["shape"][1]
    return struct.unpack(f"<{wide}f", data[end - 4 * wide:end])
whole = last("one_two_three")
assert last("one_two_nhree") == whole
assert last("ote_two_three") != whole and last("one_two_thrne") != whole
PYTHON
}
check 'a window with sinks sees them and the window' sinks

# A SentencePiece model cuts lines; their ends are pieces.
for i in 1 2 3; do echo 'one two three four five six seven eight'; done | tee "$work/data/train.txt" >"$work/data/dev.txt"
pieces=(--set pieces=sentencepiece --set "sentencepiece=$source/tests/data/pieces.model")
if train "${pieces[@]}" --set steps=160 --out "$work/pieces" 2>"$work/said"; then
    check 'writes with SentencePiece' writes "$work/want" \
        "$clattn" generate --model "$work/pieces" --greedy --pieces 100 --stop $'\n' 'one two'
    check 'keeps its pieces' cmp "$work/pieces/codes.txt" "$source/tests/data/pieces.model"
    check 'goes on with the same' train "${pieces[@]}" --set steps=170 --resume --out "$work/pieces"
else
    check 'says that SentencePiece is not built in' grep -q 'built without' "$work/said"
fi
check 'refuses what reads ahead' says 3 "attention is 'block', which reads pieces" \
    train --set attention=block --out "$work/none"

# Maps of what is read: each row is a distribution over the pieces up to its own.
looks() {
    "$clattn" inspect --model "$run" --text 'one two' --out "$work/map.svg" && grep -q '<svg' "$work/map.svg" &&
        "$clattn" inspect --model "$run" --text 'one two' --out "$work/map.safetensors" &&
        python3 - "$work/map.safetensors" <<'PYTHON'
import json, struct, sys
data = open(sys.argv[1], "rb").read()
size, = struct.unpack("<Q", data[:8])
header = json.loads(data[8:8 + size])
assert header["logits"]["shape"][0] == 7, header["logits"]
assert {k for k in header if k.startswith("map.")} == {"map.0.0", "map.0.1"}, header.keys()
for head in ("map.0.0", "map.0.1"):
    at, end = header[head]["data_offsets"]
    row = struct.unpack(f"<{(end - at) // 4}f", data[8 + size + at:8 + size + end])
    for i in range(7):
        assert abs(sum(row[7 * i:7 * i + i + 1]) - 1) < 1e-5, (head, i)
        assert not any(row[7 * i + i + 1:7 * i + 7]), (head, i)
PYTHON
}
check 'inspect draws and writes its maps' looks
# Filters read rows up to a piece's own: no map has weights of later pieces. Those of conv are as wide as the
# context, and the text is shorter.
convolved() {
    train --set attention="$1" --set conv_pos="$2" --set map_activation=tanh --set steps=2 --out "$work/$1-$2" &&
        "$clattn" inspect --model "$work/$1-$2" --text 'one two' --out "$work/conv.safetensors" &&
        python3 - "$work/conv.safetensors" "$2" <<'PYTHON'
import json, struct, sys
data = open(sys.argv[1], "rb").read()
size, = struct.unpack("<Q", data[:8])
header = json.loads(data[8:8 + size])
maps = [k for k in header if k != "logits" and k != "__metadata__"]
assert sorted({k.split(".")[0] for k in maps}) == ["convolved", "map"], maps
for name in maps:
    at, end = header[name]["data_offsets"]
    map_ = struct.unpack(f"<{(end - at) // 4}f", data[8 + size + at:8 + size + end])
    assert len(map_) == 49, (name, len(map_))
    for i in range(7):
        row = map_[7 * i:7 * i + 7]
        assert not any(row[i + 1:]), (name, i, row)
        if name.startswith("map") or sys.argv[2] == "before":
            assert abs(sum(row) - 1) < 1e-5, (name, i, row)
PYTHON
}
for way in conv conv2d; do
    check "$way hides later pieces behind the softmax" convolved $way after
    check "$way hides later pieces before it" convolved $way before
done
check 'inspect refuses what it cannot read at once' says 3 'the text has 17 pieces, must have 1 to 16' \
    "$clattn" inspect --model "$run" --text 'one two three fou' --out "$work/map.svg"
if "$clattn" serve --model "$work/none" 2>&1 | grep -q 'built without libmicrohttpd'; then
    echo 'skipped serve: built without libmicrohttpd'
else
    check 'the service writes what the command does' timeout 300 \
        python3 "$source/tests/cli/generate_client.py" "$clattn" "$run" "$work/documents"
fi
check 'generate wants a language model' says 2 'tag needs a tagger' \
    "$clattn" tag --model "$run"
passed
