#!/bin/bash
# checkpoints.sh - loads trained taggers into PyTorch: same logits, same attention maps
# usage: bench/peers/checkpoints.sh [CLATTN [VENV]]
#
# Each config of a tagger is trained for two epochs on the treebank that comes with
# the project, with 24 and 8 numbers a word and two layers, then looked at by both.
set -u
here=$(cd "$(dirname "$0")" && pwd)
root=$here/../..
clattn=$(realpath "${1:-$root/build/clattn}")
venv=${2:-${XDG_CACHE_HOME:-$HOME/.cache}/clattn/peers}
python=$venv/bin/python
if ! "$python" -c 'import torch' 2>/dev/null; then
    echo "not run: no PyTorch in $venv (bench/peers/setup.sh installs it)"
    exit 77
fi
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$root" || exit 2
sentence="alors ça je l' ai vu à Zürich , non"

one() { # one CONFIG FOLDER
    "$clattn" train "$1" --out "$2" --set word_dim=24 --set char_dim=8 --set layers=2 \
        --set heads=2 --set epochs=2 --quiet &&
        "$clattn" inspect --model "$2" --text "$sentence" --out "$2/view.safetensors" &&
        "$python" "$here/tagger.py" check "$2" "$2/view.safetensors" "$sentence"
}

status=0
for config in examples/configs/tagger-*.json reproduction/configs/tagger-*.json; do
    name=$(basename "$config" .json)
    if said=$(one "$config" "$work/$name"); then
        echo "ok      $name: $said"
    else
        echo "FAILED  $name: $said"
        status=1
    fi
done
exit $status
