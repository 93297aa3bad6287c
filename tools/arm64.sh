#!/bin/bash
# arm64.sh - builds clattn for Linux on ARM64 with a cross compiler and runs it under qemu
# usage: tools/arm64.sh [OPERATOR...]
#
# Debian's packages for ARM64 are unpacked into build-arm64/root; nothing of them is
# installed. Then the program is built, and golden cases of the operators run under qemu-user
# with PoCL for that processor; without operators those of all, `verify`, and ten steps of
# a tagger. Needs the network the first time. CLATTN_MINUTES is the time of `verify', and
# that of all golden cases together; without it there is no limit, and it takes hours, as
# the driver's compiler is emulated, too. What the limit cuts off is named, with the runs
# that were right until then. A later call finds the kernels that are compiled.
# shellcheck disable=SC2317 # functions are called by `run`
cd "$(dirname "$0")/.." || exit 2
. tools/common.sh
counting=yes

work=$PWD/build-arm64
root=$work/root
packages='gcc-aarch64-linux-gnu libc6-dev-arm64-cross qemu-user-static meson ninja-build pkg-config gcc
    pocl-opencl-icd'
libraries='libc6 libgcc-s1 libstdc++6 libjansson-dev libpcre2-dev libutf8proc-dev libxxhash-dev
    zlib1g-dev libyaml-dev librandom123-dev ocl-icd-opencl-dev opencl-headers pocl-opencl-icd'

# Unpacks the libraries and all that they depend on.
make_root() {
    [ ! -f "$root/done" ] || return 0
    mkdir -p "$work"/apt/{lists/partial,archives/partial} "$root"
    : >"$work/apt/status"
    local apt=(apt-get -qq -o APT::Architecture=arm64 -o APT::Architectures=arm64
        -o "Dir::State=$work/apt" -o "Dir::State::status=$work/apt/status"
        -o "Dir::Cache=$work/apt" -o APT::Sandbox::User=root) package
    "${apt[@]}" update || return 1
    # shellcheck disable=SC2086 # words
    "${apt[@]}" install -y --download-only --no-install-recommends $libraries || return 1
    for package in "$work"/apt/archives/*.deb; do
        dpkg-deb -x "$package" "$root" || return 1
    done
    touch "$root/done"
}

build() {
    export PKG_CONFIG_LIBDIR="$root/usr/lib/aarch64-linux-gnu/pkgconfig:$root/usr/share/pkgconfig"
    export PKG_CONFIG_SYSROOT_DIR="$root" QEMU_LD_PREFIX="$root"
    [ -f "$work/build/build.ninja" ] ||
        meson setup "$work/build" --cross-file tools/cross/aarch64.ini --buildtype=release \
            -Dwerror=true -Dtests=false -Dclblast=disabled -Dclfft=disabled -Dmpi=disabled \
            -Dserve=disabled -Dsentencepiece=disabled -Dmarkup=disabled -Ddetect=disabled -Dmarian=enabled "-Dc_args=--sysroot=$root" \
            "-Dc_link_args=--sysroot=$root" || return 1
    ninja -C "$work/build" --quiet
}

# PoCL asks for its library and calls the linker by paths that qemu does not look up in the
# root: both are put there in a mount namespace of the run's own, which needs root.
clattn() {
    cat >"$work/ld" <<'END'
#!/bin/sh
exec aarch64-linux-gnu-ld -L/usr/lib/gcc-cross/aarch64-linux-gnu/12 -L/usr/aarch64-linux-gnu/lib "$@"
END
    chmod +x "$work/ld"
    mkdir -p "$work/pocl"
    # shellcheck disable=SC2016 # the inner shell's
    CLATTN_CACHE_DIR=$work/cache POCL_CACHE_DIR=$work/pocl timeout "${limit:-0}" unshare -m sh -c '
        mount --bind "$1/root/usr/share/pocl" /usr/share/pocl &&
            mount --bind "$1/ld" "$(readlink -f /usr/bin/ld)" &&
            work=$1 && shift && exec qemu-aarch64-static -L "$work/root" "$work/build/clattn" "$@"
    ' clattn "$work" "$@"
}

right() { grep -c '"ok":true' "$@"; }

# one OPERATOR LIMIT: its cases, in so many seconds, 0 for any number.
one() {
    local limit=$2
    clattn verify --json "tests/data/golden/$1" >"$work/golden/$1.jsonl"
}

# golden OPERATOR...: their cases; what was done before the time ended counts. In a first
# round an operator takes a quarter of the time that is left, at most.
golden() {
    local op share code limit status=0 left=("$@") cut=() end=
    [ -z "${CLATTN_MINUTES:-}" ] || end=$(($(date +%s) + 60 * CLATTN_MINUTES))
    rm -rf "$work/golden" && mkdir "$work/golden"
    for share in 4 1; do
        cut=()
        for op in "${left[@]}"; do
            code=0 limit=0
            [ -z "$end" ] || limit=$(((end - $(date +%s)) / share))
            if [ -n "$end" ] && [ "$limit" -le 0 ]; then code=124; else one "$op" "$limit" || code=$?; fi
            case $code in
            0) ;;
            124 | 137) cut+=("$op") ;;
            *) status=1 && echo "$op: exit $code" ;;
            esac
        done
        left=("${cut[@]}")
    done
    cat "$work"/golden/*.jsonl >"$work/golden.jsonl"
    grep '"ok":false' "$work/golden.jsonl" && status=1
    echo "$(right "$work/golden.jsonl") golden runs of $(($# - ${#cut[@]})) of $# operators are right"
    [ ${#cut[@]} -eq 0 ] || echo "cut off by time: ${cut[*]}"
    return "$status"
}

verify() {
    local code=0 limit=0
    [ -z "${CLATTN_MINUTES:-}" ] || limit=${CLATTN_MINUTES}m
    clattn verify --json >"$work/verify.jsonl" || code=$?
    echo "$(right "$work/verify.jsonl") built-in runs are right"
    [ "$code" -ne 124 ] || echo 'cut off by time: the other built-in runs'
    ! grep '"ok":false' "$work/verify.jsonl" && { [ "$code" -eq 0 ] || [ "$code" -eq 124 ]; }
}

tagger() {
    rm -rf "$work/tagger"
    clattn train examples/configs/tagger-demo.json --out "$work/tagger" --set steps=10 >"$work/tagger.log" 2>&1 &&
        clattn check "$work/tagger" && tail -n 1 "$work/tagger.log"
}

step 'packages'
# shellcheck disable=SC2086 # words
install $packages
make_root

step 'build in build-arm64/'
build

step 'golden cases'
run 'devices' clattn devices
all=("$@")
[ $# -gt 0 ] || mapfile -t all < <(find tests/data/golden -mindepth 1 -maxdepth 1 -type d -printf '%f\n' | sort)
if [ $# -eq 0 ]; then
    run 'tagger of ten steps' tagger
    run 'verify' verify
fi
run 'golden cases' golden "${all[@]}"
finish
