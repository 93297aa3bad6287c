# root.sh - a bare Debian 12 in a folder, for tools/fresh.sh and tools/release.sh
# shellcheck shell=sh

# bare_root FOLDER: makes it. The host's apt sources, name service, certificates and pip
# settings are taken along, since they are how this place reaches the outside.
bare_root() {
    root_sources=
    for file in /etc/apt/sources.list /etc/apt/sources.list.d/debian*; do
        [ ! -s "$file" ] || root_sources="$root_sources $file"
    done
    # shellcheck disable=SC2086 # file names without spaces
    mmdebstrap --quiet --variant=minbase bookworm "$1" $root_sources || return 1
    cp -L /etc/resolv.conf "$1/etc/resolv.conf"
    [ ! -f /etc/pip.conf ] || cp /etc/pip.conf "$1/etc/pip.conf"
    if [ -f /etc/ssl/certs/ca-certificates.crt ]; then
        mkdir -p "$1/etc/ssl/certs"
        cp -L /etc/ssl/certs/ca-certificates.crt "$1/etc/ssl/certs/"
    fi
    if [ -d /usr/local/share/ca-certificates ]; then # kept when the package comes
        mkdir -p "$1/usr/local/share"
        cp -rL /usr/local/share/ca-certificates "$1/usr/local/share/"
    fi
}

# inside_root ROOT FOLDER COMMAND...: there, in the folder, with mounts that end with the
# command, and an environment of its own but for the way out.
inside_root() {
    # shellcheck disable=SC2016,SC2046 # the inner shell expands; no spaces in these
    env -i PATH=/usr/sbin:/usr/bin:/sbin:/bin HOME=/root LANG=C.UTF-8 \
        $(env | grep -iE '^(https?|ftp|no|all)_proxy=|^PIP_' || true) \
        unshare --mount --propagation private sh -c '
            mount -t proc proc "$1/proc"
            mount --rbind /sys "$1/sys"
            mount --rbind /dev "$1/dev"
            root=$1 folder=$2
            shift 2
            exec chroot "$root" sh -c "cd $folder && exec \"\$@\"" sh "$@"' \
        sh "$@"
}
