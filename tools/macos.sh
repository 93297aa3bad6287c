#!/bin/bash
# macos.sh - compiles and links clattn for macOS, which is not run here
# usage: tools/macos.sh
#
# The compiler is that of Zig (from PyPI), which has the headers and the names of macOS'
# C library. OpenCL is the null device. What a Mac must show is in .github/workflows.
# Everything lies in build-macos/.
# shellcheck disable=SC2317 # functions are called by `run`
cd "$(dirname "$0")/.." || exit 2
. tools/common.sh
counting=yes

work=$PWD/build-macos
packages='meson ninja-build pkg-config gcc libc6-dev dpkg-dev xz-utils bzip2 python3-venv llvm-14 clang
    opencl-headers librandom123-dev'

compiler() {
    mkdir -p "$work/bin"
    [ -x "$work/zig/bin/python" ] ||
        { python3 -m venv "$work/zig" && "$work/zig/bin/pip" install -q ziglang; } || return 1
    # meson knows no linker of Zig: it is told of Apple's, whose options Zig takes.
    cat >"$work/bin/macos-cc" <<END
#!/bin/sh
case " \$* " in
*' -Wl,--version '*) echo 'ld: unknown option: --version' >&2 && exit 1 ;;
*' -Wl,-v '*) echo '@(#)PROGRAM:ld  PROJECT:ld64-609' >&2 && exit 0 ;;
esac
whole=
for argument; do # Zig takes no list of exports, and a library after -force_load, not beside it
    shift
    case \$whole\$argument in
    -Wl,-exported_symbols_list,*) ;;
    -Wl,-force_load) whole=-Wl,-force_load, ;;
    *) set -- "\$@" "\$whole\$argument" && whole= ;;
    esac
done
exec "$work/zig/bin/python" -m ziglang cc -target aarch64-macos -UNDEBUG "\$@" # Zig defines it
END
    printf '#!/bin/sh\nexec "%s/zig/bin/python" -m ziglang ar "$@"\n' "$work" >"$work/bin/macos-ar"
    chmod +x "$work"/bin/*
    macos-cc --version | head -n 1
}

build() {
    CC=macos-cc AR=macos-ar tools/deps.sh macos "$work/deps" >"$work/build.log" 2>&1 || {
        tail -n 5 "$work/build.log"
        return 1
    }
    export PKG_CONFIG_LIBDIR="$work/deps/lib/pkgconfig"
    [ -f "$work/build/build.ninja" ] || rm -rf "$work/build"
    [ -f "$work/build/build.ninja" ] ||
        meson setup "$work/build" --cross-file tools/cross/macos.ini --buildtype=release -Dwerror=true \
            -Dtests=false -Dclblast=disabled -Dclfft=disabled -Dmpi=disabled -Dserve=disabled \
            -Dicu=disabled -Dmarkup=disabled -Ddetect=disabled -Dsentencepiece=disabled -Dmarian=enabled -Db_pie=false \
            -Dc_args=-isystem"$work/deps/include" >"$work/build.log" 2>&1 || {
        tail -n 5 "$work/build.log"
        return 1
    }
    ninja -C "$work/build" --quiet >"$work/build.log" 2>&1 || {
        grep -E 'error|undefined' "$work/build.log"
        return 1
    }
}

# A library of macOS shows what Linux' shows, and asks for the system alone.
shows() {
    local header
    header=$(cat include/clattn/{model,parameters}.h | sed -n 's/^CLA_API .*[ *]\(cla_[a-z0-9_]*\)(.*/_\1/p' | sort -u)
    [ "$(llvm-nm-14 -gU "$work/build/libclattn-models.0.dylib" | sed -n 's/.* \(_cla_.*\)/\1/p' | sort -u)" = "$header" ] &&
        file "$work/build/clattn" | grep -q 'Mach-O 64-bit arm64 executable'
}

step 'packages'
# shellcheck disable=SC2086 # words
install $packages file
export PATH=$work/bin:$PATH ZIG_GLOBAL_CACHE_DIR=$work/cache ZIG_LOCAL_CACHE_DIR=$work/cache

step 'build in build-macos/'
run 'compiler' compiler
run 'build' build
run 'what it shows' shows

step 'what was reached'
compare_reached
finish
