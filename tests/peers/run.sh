#!/bin/bash
# run.sh - compares clattn with the newest releases of other programs, on random inputs
# usage: tests/peers/run.sh CLATTN FOLDER SEED
#
# The packages are installed with pip into FOLDER/peers, and an older transformers into
# FOLDER/peers-4. A comparison whose packages cannot be installed is named: `not run'.
# Fails when a comparison finds a difference, or when none ran. The same seed gives the
# same inputs, with the same releases.
set -u
clattn=$(realpath "$1") folder=$(realpath "$2") seed=$3
cd "$(dirname "$0")" || exit 2
python=$folder/peers/bin/python models=$folder/peers-models
inputs=0 differences=0 missing=0 failed=''

# get PACKAGE...: the newest releases; the reason of a failure is in $why.
get() {
    why=$("$folder/peers/bin/pip" install -q --upgrade "$@" 2>&1) && return
    why=$(grep -m 1 ERROR <<<"$why")
    return 1
}

# old: a transformers with the search and the lengths of release 4, and with SQuAD's scores.
# It uses the torch of the other environment.
old() {
    [ ! -e "$folder/peers-4/transformers-4.46.3.dist-info" ] || return 0
    rm -rf "$folder/peers-4"
    get --target "$folder/peers-4" transformers==4.46.3
}

# compare NAME COMMAND...: one comparison, whose last line has its figures.
compare() {
    local name=$1 last status
    shift
    echo "-- $name"
    "$@" 2>&1 | tee "$folder/peers.out"
    status=${PIPESTATUS[0]}
    last=$(tail -n 1 "$folder/peers.out")
    if [[ $last =~ ^([0-9]+)\ inputs\ compared,\ ([0-9]+)\ differences ]]; then
        inputs=$((inputs + BASH_REMATCH[1])) differences=$((differences + BASH_REMATCH[2]))
    fi
    [ "$status" -eq 0 ] || failed+=" $name"
}

# without NAME: a comparison that cannot run here.
without() {
    echo "not run: $1: ${why:-pip gives no reason}"
    missing=$((missing + 1))
}

scores() { "$python" scores.py "$clattn" "$seed"; }
byte_pairs() { "$python" byte_pairs.py "$clattn" "$seed"; }
squad() { PYTHONPATH=$folder/peers-4 "$python" squad.py "$clattn" "$seed"; }

# The stored model, of which docs/import.md tells.
stored() {
    rm -rf "$models/stored"
    "$clattn" import ../data/marian --out "$models/stored" &&
        "$python" translators.py "$clattn" "$models/stored" ../data/marian/lines.txt
}

# Random models; the search of release 4, too, where that can be had.
marian() {
    local four=()
    if old; then four=("$folder/peers-4"); else without 'marian with release 4'; fi
    "$python" marian.py "$clattn" "$seed" "${four[@]}"
}
argos() { "$python" argos.py "$clattn" "$seed"; }
libretranslate() { "$python" libretranslate.py "$clattn" "$seed"; }
t5() { "$python" t5.py "$clattn" "$seed"; }
alignments() { "$python" alignments.py "$clattn" "$seed"; }
m2m() { "$python" m2m.py "$clattn" "$seed"; }
lm() { "$python" lm.py "$clattn" "$seed"; }
ct2() { "$python" ct2.py "$clattn" "$seed"; }
ct2_import() { "$python" ct2_import.py "$clattn" "$seed"; }

# A tagger of ten steps: its training takes seconds.
treebanks() {
    local data=$PWD/../../examples/data/fr_spoken config=../../examples/configs/tagger-conv2d.json
    rm -rf "$models/tagger"
    "$clattn" train "$config" --set "data=$data" --set layers=2 --set heads=2 \
        --set word_dim=24 --set char_dim=8 --set steps=10 --set eval_every=5 --quiet \
        --out "$models/tagger" &&
        "$python" treebanks.py "$clattn" "$models/tagger" "$seed"
}

[ -x "$python" ] || python3 -m venv "$folder/peers" || exit
mkdir -p "$models"
echo "seed $seed"
if get sacrebleu pycocoevalcap; then compare scores scores; else without scores; fi
if get subword-nmt; then compare byte_pairs byte_pairs; else without byte_pairs; fi
if get conllu; then compare treebanks treebanks; else without treebanks; fi
if get libretranslatepy; then
    compare libretranslate libretranslate
else
    without libretranslate
fi
if get argostranslate; then compare argos argos; else without argos; fi
if old; then compare squad squad; else without squad; fi
if get torch transformers sentencepiece protobuf; then
    compare stored stored
    compare marian marian
    compare alignments alignments
    compare m2m m2m
    compare t5 t5
    compare lm lm
    if get ctranslate2; then
        compare ct2 ct2
        compare ct2_import ct2_import
    else
        for name in ct2 ct2_import; do without "$name"; done
    fi
else
    for name in stored marian alignments m2m t5 lm ct2 ct2_import; do without "$name"; done
fi
"$folder/peers/bin/pip" list 2>/dev/null |
    grep -E '^(sacrebleu|pycocoevalcap|subword-nmt|conllu|transformers|torch|ctranslate2|libretranslatepy|argostranslate) '
echo "$inputs inputs compared, $differences differences, $missing comparisons not run," \
    "seed $seed${failed:+; failed:$failed}"
[ -z "$failed" ] && [ "$inputs" -gt 0 ]
