#!/bin/bash
# vectors.sh - clattn vectors, and a tagger whose table of words begins with its vectors
# usage: tests/cli/vectors.sh SOURCE_ROOT CLATTN
# shellcheck source=tests/cli/lib.sh
. "${BASH_SOURCE%/*}/lib.sh"
source=$1 clattn=$2
treebank "$source" "$work/bank"
awk -F '\t' '/^[0-9]+\t/ { printf "%s ", $2 } /^$/ { print "" }' \
    "$work/bank/train.conllu" >"$work/text"

vectors() { "$clattn" vectors "$@" >"$work/said" 2>&1; }

check 'learns from a file' vectors --dim 12 --min-count 2 --out "$work/one.vec" "$work/text"
check 'says how many words' grep -qE '^[0-9]+ words in .*one\.vec, loss [0-9.]+$' "$work/said"
check 'learns from standard input' \
    vectors --dim 12 --min-count 2 --out "$work/two.vec" <"$work/text"
check 'the same bits' cmp "$work/one.vec" "$work/two.vec"
check 'another seed' vectors --dim 12 --min-count 2 --seed 43 --out "$work/two.vec" "$work/text"
check 'other bits' test "$(cmp "$work/one.vec" "$work/two.vec" | wc -l)" -eq 1
check 'no --out' says 2 'vectors needs --out FILE' "$clattn" vectors "$work/text"
check 'no words' says 3 'none of 0 words' "$clattn" vectors --out "$work/none.vec" /dev/null
check 'nothing is written then' test ! -e "$work/none.vec"
check 'no file' says 6 'absent' "$clattn" vectors --out "$work/none.vec" "$work/absent"

tagger=("$source/examples/configs/tagger-conv2d.json" --quiet --set "data=$work/bank"
    --set "vectors=$work/one.vec" --set word_dim=12 --set char_dim=8 --set limit=70
    --set layers=1 --set heads=1 --set batch=4 --set length=12)
train() { "$clattn" train "${tagger[@]}" "$@"; }
# rows RUN: how many words' rows hold their vectors, and whether all that have one do
rows() {
    python3 - "$1" "$work/one.vec" <<'PY'
import json, struct, sys
with open(sys.argv[1] + "/last.ckpt.safetensors", "rb") as file:
    (size,) = struct.unpack("<Q", file.read(8))
    header = json.loads(file.read(size))
    begin, end = header["word.table"]["data_offsets"]
    file.seek(8 + size + begin)
    table = struct.unpack(f"<{(end - begin) // 4}f", file.read(end - begin))
with open(sys.argv[1] + "/words.txt", encoding="utf-8") as file:
    words = [line.split("\t")[0].rstrip("\n") for line in file]
with open(sys.argv[2], encoding="utf-8") as file:
    vector = {line.split(" ")[0]: [struct.unpack("<f", struct.pack("<f", float(x)))[0]
                                   for x in line.split(" ")[1:]] for line in list(file)[1:]}
known = [i for i, word in enumerate(words) if word in vector]
equal = [i for i in known if list(table[12 * i:12 * i + 12]) == vector[words[i]]]
print(len(words), len(known) > 10, len(equal) == len(known), len(equal) == 0)
PY
}
check 'trains with frozen words' train --set train_words=false --set steps=4 --out "$work/a"
check 'which keep their vectors' test "$(rows "$work/a")" = '72 True True False'
check 'goes on' train --set train_words=false --set steps=8 --resume --out "$work/a"
check 'and they still do' test "$(rows "$work/a")" = '72 True True False'
check 'trains with words that learn' train --set steps=1 --set epochs=0 --out "$work/b"
check 'which begin with their vectors' test "$(rows "$work/b")" = '72 True True False'
check 'learns' train --set steps=60 --out "$work/c"
check 'and their vectors change' test "$(rows "$work/c" | cut -d ' ' -f 3)" = False
check 'vectors of another width' says 3 'one.vec' "$clattn" train "${tagger[@]}" \
    --set word_dim=16 --out "$work/d"

passed
