#!/bin/bash
# decode.sh - how fast translators are decoded here and in CTranslate2, as a table
# usage: bench/peers/decode.sh DATA [CLATTN [ROUNDS [VENV]]]
#
# DATA is Multi30k: train.en, train.de and so on (docs/data.md). Trains two small translators
# of 8,000 pieces, minutes each, as long as their folders are not there: D256 with norms in
# front, and base (512, 6 layers) with norms behind. They need not translate well:
# base ends no sentence before its 24 pieces. CLATTN defaults to build/clattn, ROUNDS to 7; VENV, where setup.sh puts it,
# gets the package ctranslate2. Folders are in ${XDG_CACHE_HOME:-$HOME/.cache}/clattn/decode.
# DECODE_THREADS (1): threads of each program; see decode.py. DECODE_ONLY: rows that match.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
data=$(cd "$1" && pwd)
clattn=${2:-$here/../../build/clattn}
rounds=${3:-7}
cache=${XDG_CACHE_HOME:-$HOME/.cache}/clattn
venv=${4:-$cache/peers}
models=$cache/decode

[ -x "$venv/bin/python" ] || python3 -m venv "$venv"
"$venv/bin/python" -c 'import ctranslate2' 2>/dev/null ||
    "$venv/bin/pip" install --quiet --disable-pip-version-check ctranslate2 numpy

# train NAME SETTING...
train() {
    local folder=$models/$1 settings=()
    [ ! -e "$folder/best.ckpt.safetensors" ] || return 0
    for setting in "${@:2}"; do settings+=(--set "$setting"); done
    rm -rf "$folder"
    mkdir -p "$models"
    "$clattn" train "$here/../../examples/configs/nmt-plain.json" --quiet --out "$folder" \
        --set "data=$data" "${settings[@]}"
}
train D256 steps=250 eval_every=250 warmup=150 lr=0.3 max_length=40
train base preset=vaswani dim=512 heads=8 inner=2048 layers=6 tokens=512 steps=100 \
    eval_every=100 warmup=50 lr=0.1 max_length=24

"$venv/bin/python" "$here/decode.py" --clattn "$clattn" --rounds "$rounds" \
    --threads "${DECODE_THREADS:-1}" --only "${DECODE_ONLY:-}" \
    --lines "$data/test_2016_flickr.en" "D256=$models/D256" "base=$models/base"
