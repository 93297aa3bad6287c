#!/bin/bash
# gpu-rehearse.sh - runs parts of a bundle in an empty root, with PoCL as the only driver
# usage: tools/gpu-rehearse.sh BUNDLE.tar.gz FOLDER PART...   (as root; FOLDER must not exist)
#
# The root has a shell, its few programs, the C library and PoCL with what that loads and
# starts: no loader of OpenCL, no registered driver, no network. Variables whose names begin
# with GPU_ or CLATTN_TEST_ reach the parts. Their archives stay in FOLDER/out.
set -eu
if [ $# -lt 3 ] || [ ! -f "$1" ] || [ -e "$2" ]; then
    sed -n '3s/^# //p' "$0" >&2
    exit 2
fi
bundle=$(realpath "$1")
mkdir -p "$2"
root=$(realpath "$2")
shift 2

programs='bash awk basename cat chmod cp cut date dirname env find getconf grep gzip head ls mkdir
    mv nproc paste printf readlink realpath rm sed sh sleep sort stat tail tar timeout tr uname
    uniq xargs'
driver=$(ldconfig -p | awk '/libpocl\.so\.2 / { print $NF; exit }')
[ -n "$driver" ] || {
    echo 'gpu-rehearse.sh: no libpocl.so.2 here' >&2
    exit 4
}

# put FILE...: under its own name in the root, with all libraries that it needs.
put() {
    local file
    for file; do
        install -D "$file" "$root$file"
        { ldd "$file" 2>/dev/null || true; } | grep -oE '/[^ ]+' | while read -r file; do
            [ -e "$root$file" ] || install -D "$file" "$root$file"
        done
    done
}

link() { [ "$1" = "$2" ] || ln -sf "$1" "$root$2"; }

mkdir -p "$root"/{usr/bin,usr/lib,usr/lib64,usr/share,proc,sys,dev,tmp,out,root}
for folder in bin lib lib64; do
    ln -s "usr/$folder" "$root/$folder"
done
for program in $programs; do
    path=$(type -P "$program")
    put "$(realpath "$path")"
    link "$(realpath "$path")" "/usr/bin/$program"
done
for library in dl m mvec pthread resolv rt; do # of the C library, whether or not a program needs it
    put "$(ldconfig -p | awk -v name="lib$library.so." '$1 ~ name && /x86-64|AArch64/ { print $NF; exit }')"
done
# PoCL: its devices, built-in functions, its compiler's headers, the linker with its files.
mapfile -t parts < <(find "$(dirname "$driver")/pocl" -name '*.so*')
put "$driver" "${parts[@]}" "$(realpath "$(type -P ld)")"
link "$(realpath "$(type -P ld)")" /usr/bin/ld
cp -r /usr/share/pocl "$root/usr/share/"
find /usr/lib/*-linux-gnu /usr/lib/gcc -maxdepth 3 -regextype egrep \
    -regex '.*/(lib(m|mvec|c)(_nonshared)?(-[0-9.]+)?\.(a|so)|crt[a-zA-Z1]*\.o|libgcc[a-z_]*\.(a|so))' \
    -exec cp -P --parents -t "$root" {} +
find /usr/lib -maxdepth 5 -path '*clang/*/include/opencl-c*.h' -exec cp --parents -t "$root" {} +
tar -C "$root" -xzf "$bundle"

names=()
for name in $(compgen -e | grep -E '^(GPU_|CLATTN_TEST_)'); do
    names+=("$name=${!name}")
done
# shellcheck disable=SC2016 # the inner shell expands
env -i PATH=/usr/bin OUT=/out "${names[@]}" unshare --mount --net --propagation private bash -c '
    mount -t proc proc "$1/proc"
    mount --rbind /dev "$1/dev"
    mount --rbind /sys "$1/sys" 2>/dev/null || true
    root=$1
    shift
    exec /usr/sbin/chroot "$root" /clattn-gpu/run.sh "$@"' bash "$root" "$@"
