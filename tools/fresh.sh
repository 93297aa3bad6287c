#!/bin/sh
# fresh.sh - proves the README on a bare Debian 12: a new root, a clone, the scripts
# usage: tools/fresh.sh [SCRIPT]...   (as root; needs mmdebstrap)
#
# Installed packages, warm caches and files that were never committed hide what a
# stranger's machine lacks; a new root has none of them. The host's apt sources, name
# service, certificates, pip settings and proxy variables are taken along, since they are
# how this place reaches the outside.
cd "$(dirname "$0")/.." || exit 2
. tools/common.sh

scripts=${*:-tools/quickstart.sh tools/test.sh tools/test-devices.sh}

step 'packages'
install mmdebstrap git

step 'a bare Debian 12'
root=$(mktemp -d "${TMPDIR:-/tmp}/clattn-fresh.XXXXXX")
chmod 755 "$root"
trap 'rm -rf "$root"; stopped' EXIT
sources=
for file in /etc/apt/sources.list /etc/apt/sources.list.d/debian*; do
    [ ! -s "$file" ] || sources="$sources $file"
done
# shellcheck disable=SC2086 # file names without spaces
mmdebstrap --quiet --variant=minbase bookworm "$root" $sources
cp -L /etc/resolv.conf "$root/etc/resolv.conf"
[ ! -f /etc/pip.conf ] || cp /etc/pip.conf "$root/etc/pip.conf"
if [ -f /etc/ssl/certs/ca-certificates.crt ]; then
    mkdir -p "$root/etc/ssl/certs"
    cp -L /etc/ssl/certs/ca-certificates.crt "$root/etc/ssl/certs/"
fi
if [ -d /usr/local/share/ca-certificates ]; then # kept when the package comes
    mkdir -p "$root/usr/local/share"
    cp -rL /usr/local/share/ca-certificates "$root/usr/local/share/"
fi

step 'a clone'
git clone -q "$PWD" "$root/clattn"
git -C "$root/clattn" log -1 --oneline

# inside COMMAND...: in the new root, with mounts that end with the command, and an
# environment of its own but for the way out.
inside() {
    # shellcheck disable=SC2016,SC2046 # the inner shell expands; no spaces in these
    env -i PATH=/usr/sbin:/usr/bin:/sbin:/bin HOME=/root LANG=C.UTF-8 \
        $(env | grep -iE '^(https?|ftp|no|all)_proxy=|^PIP_' || true) \
        unshare --mount --propagation private sh -c '
            mount -t proc proc "$1/proc"
            mount --rbind /sys "$1/sys"
            mount --rbind /dev "$1/dev"
            root=$1
            shift
            exec chroot "$root" sh -c "cd /clattn && exec \"\$@\"" sh "$@"' \
        sh "$root" "$@"
}

times=
for script in $scripts; do
    step "$script"
    begin=$(date +%s)
    inside "$script"
    times="$times$(printf '%6d s  %s' $(($(date +%s) - begin)) "$script")
"
done

printf '\nwall times on %d cores, network included:\n%s' "$(nproc)" "$times"
