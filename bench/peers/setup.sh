#!/bin/sh
# setup.sh - make the virtual environment that pytorch.py runs in
# usage: bench/peers/setup.sh [FOLDER]
#
# FOLDER defaults to ${XDG_CACHE_HOME:-$HOME/.cache}/clattn/peers. It takes 5 to 7 GB:
# PyTorch's package imports only together with its CUDA wheels.
set -eu

folder=${1:-${XDG_CACHE_HOME:-$HOME/.cache}/clattn/peers}
need_kb=8000000

if [ -x "$folder/bin/python" ] && "$folder/bin/python" -c 'import torch' 2>/dev/null; then
    echo "peers: $folder is ready"
    exit 0
fi
mkdir -p "$folder"
free_kb=$(df -Pk "$folder" | awk 'NR == 2 { print $4 }')
if [ "$free_kb" -lt "$need_kb" ]; then
    echo "peers: $folder has $((free_kb / 1000)) MB free, needs $((need_kb / 1000)) MB" >&2
    exit 6
fi
echo "peers: installing PyTorch into $folder (minutes)"
python3 -m venv "$folder"
"$folder/bin/pip" install --no-cache-dir --disable-pip-version-check torch numpy
"$folder/bin/python" -c 'import torch; print("peers: PyTorch", torch.__version__, "is ready")'
