#!/bin/sh
# fresh.sh - proves the README on a bare Debian 12: a new root, a clone, the scripts
# usage: tools/fresh.sh [SCRIPT]...   (as root; needs mmdebstrap)
#
# Installed packages, warm caches and files that were never committed hide what a
# stranger's machine lacks; a new root has none of them (tools/root.sh).
cd "$(dirname "$0")/.." || exit 2
. tools/common.sh
. tools/root.sh

scripts=${*:-tools/quickstart.sh tools/test.sh tools/test-devices.sh}

step 'packages'
install mmdebstrap git

step 'a bare Debian 12'
root=$(mktemp -d "${TMPDIR:-/tmp}/clattn-fresh.XXXXXX")
chmod 755 "$root"
trap 'rm -rf "$root"; stopped' EXIT
bare_root "$root"

step 'a clone'
git clone -q "$PWD" "$root/clattn"
git -C "$root/clattn" log -1 --oneline

times=
for script in $scripts; do
    step "$script"
    begin=$(date +%s)
    inside_root "$root" /clattn "$script"
    times="$times$(printf '%6d s  %s' $(($(date +%s) - begin)) "$script")
"
done

printf '\nwall times on %d cores, network included:\n%s' "$(nproc)" "$times"
