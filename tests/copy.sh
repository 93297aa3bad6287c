#!/bin/sh
# copy.sh STAMP FOLDER FILE... - copies files into one folder, then touches the stamp
set -eu
stamp=$1 folder=$2
shift 2
mkdir -p "$folder"
cp "$@" "$folder"
touch "$stamp"
