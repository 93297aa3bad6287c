#!/bin/bash
# windows.sh - builds clattn for Windows with mingw-w64 and runs it under wine
# usage: tools/windows.sh [OPERATOR...]
#
# Without arguments it installs what it needs and runs all checks: golden cases under both
# schedules, the tests that need no POSIX, a state beside Linux's, folders with awkward names,
# runs that are killed and go on, a cache of two processes, a DLL in a program.
# With operators it runs their golden cases alone, and where mingw-w64, wine or the network
# is missing it says "not run" and counts as skipped. The device is the CPU, by Intel's
# driver for Windows from PyPI; where that cannot be had, by the drivers of this system,
# which wine hands calls to. Everything lies in build-windows/.
# shellcheck disable=SC2317 # functions are called by `run`
cd "$(dirname "$0")/.." || exit 2
. tools/common.sh
counting=yes

work=$PWD/build-windows
packages='gcc-mingw-w64-x86-64 clang wine64 meson ninja-build pkg-config gcc libc6-dev dpkg-dev xz-utils
    bzip2 unzip python3-pip opencl-headers librandom123-dev pocl-opencl-icd ocl-icd-opencl-dev
    libjansson-dev libpcre2-dev libutf8proc-dev libxxhash-dev libyaml-dev zlib1g-dev'
export WINEPREFIX=$work/wine WINEDEBUG=-all WINEARCH=win64 CLATTN_CACHE_DIR=$work/cache PATH=$PATH:/usr/lib/wine
export XDG_RUNTIME_DIR=${XDG_RUNTIME_DIR:-/tmp}

# Says why nothing is run; it counts as one that was skipped.
not_run() {
    trap - EXIT
    echo "not run: Windows ($1)"
    skipped=1
    closing_line
    exit 0
}

# fetch_driver FOLDER PLATFORM FILES PACKAGE...: Intel's driver from PyPI. FILES is a pattern
# of what is wanted in the wheels; FOLDER/packages gets the names with their versions.
fetch_driver() {
    local folder=$1 platform=$2 files=$3 wheel
    shift 3
    [ ! -f "$folder/packages" ] || return 0
    rm -rf "$folder"
    mkdir -p "$folder"
    python3 -m pip download -q --no-deps --only-binary=:all: --platform "$platform" -d "$folder/wheels" \
        "$@" || return 1
    for wheel in "$folder"/wheels/*.whl; do
        unzip -q -o -j "$wheel" "$files" -d "$folder" || return 1
        basename "$wheel" | sed 's/_/-/g; s/^\([a-z-]*\)-\([0-9.]*\)-.*/\1==\2/' >>"$folder/packages.new"
    done
    rm -r "$folder/wheels"
    mv "$folder/packages.new" "$folder/packages"
}

# Tells wine of the driver, once.
register_driver() {
    local key='HKLM\SOFTWARE\Khronos\OpenCL\Vendors' path
    path=$(wine64 winepath -w "$work/driver/intelocl64.dll" 2>/dev/null | tr -d '\r')
    wine64 reg add "$key" /v "$path" /t REG_DWORD /d 0 /f >/dev/null 2>&1
    cp "$work/driver/OpenCL.dll" "$work/build/" # Khronos' loader, for wine's own
    export WINEDLLOVERRIDES='opencl=n;mscoree,mshtml='
}

clattn() { wine64 "$work/build/clattn.exe" "$@"; }

# build TARGET...: these alone.
build() {
    tools/deps.sh windows "$work/deps"
    [ -f "$work/build/build.ninja" ] ||
        PKG_CONFIG_LIBDIR="$work/deps/lib/pkgconfig" \
            meson setup "$work/build" --cross-file tools/cross/windows.ini --buildtype=release \
            -Dwerror=true -Dclblast=disabled -Dclfft=disabled -Dicu=disabled -Dmarkup=disabled -Ddetect=disabled \
            -Dsentencepiece=disabled -Dmarian=enabled -Dc_args=-isystem"$work/deps/include" || return 1
    PKG_CONFIG_LIBDIR="$work/deps/lib/pkgconfig" ninja -C "$work/build" --quiet "$@"
}

# golden OPERATOR...: their golden cases; all without one.
golden() {
    local folders=() op
    for op; do
        folders+=("tests/data/golden/$op")
    done
    [ $# -gt 0 ] || folders=(tests/data/golden)
    clattn verify --json "${folders[@]}" >"$work/golden.jsonl"
    local status=$?
    grep '"ok":false' "$work/golden.jsonl"
    echo "$(grep -c '"ok":true' "$work/golden.jsonl") golden runs are right"
    return "$status"
}

if [ $# -gt 0 ]; then
    for tool in x86_64-w64-mingw32-gcc wine64 meson pkg-config unzip; do
        command -v "$tool" >/dev/null || not_run "$tool is not installed"
    done
else
    step 'packages'
    # shellcheck disable=SC2086 # words
    install $packages
fi

step 'build in build-windows/'
mkdir -p "$work"
if ! build clattn.exe libclattn-0.dll libclattn-models-0.dll >"$work/build.log" 2>&1; then
    [ -f "$work/deps/done" ] || [ $# -eq 0 ] || not_run 'the sources of libraries cannot be fetched'
    cat "$work/build.log"
    exit 1
fi

step 'the driver'
wine64 wineboot -i >/dev/null 2>&1
if fetch_driver "$work/driver" win_amd64 '*/Library/bin/*' \
    intel-opencl-rt intel-cmplr-lib-rt tbb >/dev/null 2>&1; then
    register_driver
else
    echo "Intel's driver for Windows cannot be fetched: the drivers of this system are used"
fi
run 'devices' clattn devices

step 'golden cases'
run 'golden cases' golden "$@"
[ $# -eq 0 ] || finish

. tools/windows-checks.sh

step 'what was reached'
compare_reached
finish
