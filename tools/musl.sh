#!/bin/bash
# musl.sh - builds clattn with musl, the C library of small systems, and runs its tests
# usage: tools/musl.sh
#
# The compiler is Debian's musl-gcc; the libraries are built by tools/deps.sh, and OpenCL is
# the null device, which computes nothing. The program, the tests that need no device and
# the fuzz targets run in a root that has musl, BusyBox and this source, and no other
# library (that needs root). Headers that are not musl's own are findings: Alpine has
# none of fts and argp. Everything lies in build-musl/.
# shellcheck disable=SC2317 # functions are called by `run`
cd "$(dirname "$0")/.." || exit 2
. tools/common.sh
counting=yes

work=$PWD/build-musl
root=$work/root
packages='musl-tools busybox-static meson ninja-build pkg-config gcc dpkg-dev xz-utils bzip2
    opencl-headers librandom123-dev'
suites='base expr text metrics exchange train'
computes='test-(train-(exchange|hard|optimisers|parameters)|exchange-lm_exchange)$' # needs results of kernels
fuzz_targets=$(find tests/fuzz/corpus -mindepth 1 -maxdepth 1 -printf '%f\n' | sort)

build() {
    tools/deps.sh musl "$work/deps" || return 1
    export PKG_CONFIG_LIBDIR="$work/deps/lib/pkgconfig"
    [ -f "$work/build/build.ninja" ] ||
        meson setup "$work/build" --cross-file tools/cross/musl.ini --buildtype=release -Dwerror=true \
            -Dclblast=disabled -Dclfft=disabled -Dmpi=disabled -Dserve=disabled -Dicu=disabled -Dmarkup=disabled -Ddetect=disabled \
            -Dsentencepiece=disabled -Dmarian=enabled -Dc_args=-isystem"$work/deps/include" || return 1
    local pattern=${suites// /|} targets
    mapfile -t targets < <(ninja -C "$work/build" -t targets all |
        grep -oE "^tests/test-($pattern)-[a-z0-9_]+:" | tr -d : | grep -vE "$computes" | sort -u)
    ninja -C "$work/build" --quiet clattn libclattn.so.0.2.0 libclattn-models.so.0.2.0 tests/fuzz/fuzz \
        tests/kernels.stamp "${targets[@]}"
}

# A root with musl, BusyBox, and the source where it lies here.
make_root() {
    rm -rf "$root"
    mkdir -p "$root"/{bin,lib,tmp,proc,dev,"$PWD"}
    cp /lib/x86_64-linux-musl/libc.so "$root/lib/ld-musl-x86_64.so.1"
    cp /bin/busybox "$root/bin/"
    local tool
    for tool in sh ls cat rm chmod mkdir env; do
        ln -s busybox "$root/bin/$tool"
    done
}

# inside COMMAND...: there, in the build folder.
inside() {
    # shellcheck disable=SC2016 # the inner shell's
    unshare --mount --propagation private sh -c '
        mount --bind "$2" "$1$2" && mount -t proc proc "$1/proc" && mount --rbind /dev "$1/dev" &&
            root=$1 && source=$2 && shift 2 &&
            exec env -i PATH=/bin HOME=/tmp CLATTN_CACHE_DIR=/tmp/cache \
                CLATTN_TEST_KERNELS="$source/build-musl/build/tests/cl" CLATTN_TEST_DATA="$source/tests/data" \
                CLATTN_TEST_MODELS="$source/tests/fuzz/fixtures" \
                CLATTN_TEST_TREEBANK="$source/examples/data/fr_spoken" \
                CLATTN_TEST_ATTENTION="$source/docs/attention.md" CLATTN_TEST_TRAINING="$source/docs/training.md" \
                /usr/sbin/chroot "$root" sh -c "cd $source/build-musl/build && exec \"\$@\"" sh "$@"
        ' sh "$root" "$PWD" "$@"
}

# Headers of the C library that are not musl's, and all that lie elsewhere in the system.
headers() {
    local used
    # But for those of tools/embed.c, which runs where it is built.
    used=$(ninja -C "$work/build" -t deps | awk '/^[^ ]/ { own = !/^embed/ } own' |
        grep -oE '/usr/include/.*\.h$' | sort -u)
    grep -vE '^/usr/include/x86_64-linux-musl/' <<<"$used" && return 1
    grep -E '/(fts|argp|obstack|execinfo|err|sys/(queue|tree|cdefs))\.h$' <<<"$used" && return 1
    echo "$(wc -l <<<"$used") headers of musl"
}

# Nothing but musl is asked for.
needs() {
    local file wanted
    for file in "$work"/build/{clattn,libclattn.so,libclattn-models.so}; do
        [ -f "$file" ] || return 1
        wanted=$(readelf -d "$file" | sed -n 's/.*(NEEDED).*\[\(.*\)\]/\1/p' | grep -vE '^(libc|libclattn)\.so')
        [ -z "$wanted" ] || {
            echo "$(basename "$file") needs ${wanted//$'\n'/ }"
            return 1
        }
    done
}

suite() {
    local program log=$work/suite.log good=0 bad=0
    for program in "$work/build/tests/test-$1"-*; do
        [[ -f $program && ! $program =~ $computes ]] || continue
        inside "tests/$(basename "$program")" >"$log" 2>&1 || {
            echo "$(basename "$program"):"
            grep -vE '^ok - ' "$log" | tail -n 20
            bad=$((bad + 1))
        }
        good=$((good + $(grep -cE '^ok - [^#]*$' "$log")))
    done
    echo "$good tests of $1 passed, programs that fail: $bad"
    [ "$good" -gt 0 ] && [ "$bad" -eq 0 ]
}

# The corpora of all fuzz targets: readers, models and training on the null device.
replay() {
    local target bad=0
    for target in $fuzz_targets; do
        inside tests/fuzz/fuzz "$target" "$PWD/tests/fuzz/corpus/$target" >"$work/fuzz.log" 2>&1 || {
            echo "fuzz $target:"
            tail -n 5 "$work/fuzz.log"
            bad=$((bad + 1))
        }
    done
    echo "$(wc -w <<<"$fuzz_targets") corpora, $bad fail"
    [ "$bad" -eq 0 ]
}

step 'packages'
# shellcheck disable=SC2086 # words
install $packages

step 'build in build-musl/'
mkdir -p "$work"
run 'build' build
make_root

step 'what it needs'
run 'headers' headers
run 'libraries' needs

step 'tests in a root with musl alone'
run 'clattn --version' inside ./clattn --version
for name_of_suite in $suites; do
    run "tests of $name_of_suite" suite "$name_of_suite"
done
run 'corpora' replay

step 'what was reached'
compare_reached
finish
