#!/bin/bash
# gpu-day.sh - all that one device can tell, in one folder that can be sent back
# usage: tools/gpu-day.sh DEVICE [FOLDER]
#
# DEVICE is what `clattn --device` takes: gpu, amd, 0:1, part of a name. FOLDER (default
# gpu-day) must not exist; at the end FOLDER.tar.gz holds its archives, one a part. It
# builds a bundle (tools/gpu-bundle.sh) and runs its parts one after another
# (tools/gpu-parts.sh, which names the variables that change them). On a card it takes about
# three quarters of an hour. What fails does not stop the rest.
#
# docs/gpu.md tells the owner of a card how to run it and where to send the folder.
cd "$(dirname "$0")/.." || exit 2
. tools/common.sh
counting=yes
if [ $# -lt 1 ] || [ $# -gt 2 ]; then
    sed -n '3s/^# //p' "$0" >&2
    trap - EXIT
    exit 2
fi
export CLATTN_DEVICE=$1
out=${2:-gpu-day} bundle='build-gpu-day'
mkdir "$out" || exit

step 'build'
# shellcheck disable=SC2086 # lists of words
! command -v dpkg-query >/dev/null || install $build_packages libcriterion-dev clinfo clpeak || true
rm -rf "$bundle"
tools/gpu-bundle.sh "$bundle"

# part LETTER: its steps on the terminal and in the archive.
# shellcheck disable=SC2317 # called by `run`
part() { OUT=$out "$bundle/run.sh" "$1" 2>"$out/$1.err"; }

while read -r letter words; do
    step "$letter: $words"
    run "part $letter" part "$letter"
    [ -s "$out/$letter.err" ] || rm -f "$out/$letter.err"
    if grep -q '"device":"none"' "$bundle/result-$letter/steps.jsonl"; then
        echo "no device '$CLATTN_DEVICE'; clattn devices lists what there is" >&2
        exit 4
    fi
done < <("$bundle/run.sh" --list)
tar -czf "$out.tar.gz" -C "$(dirname "$out")" "$(basename "$out")"
echo "send back: $out.tar.gz"
finish
