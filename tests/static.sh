#!/bin/sh
# static.sh - the library as an archive, without program and tests, as users link it
# usage: tests/static.sh SOURCE_ROOT BUILD_ROOT
#
# BUILD_ROOT is a build with -Ddefault_library=static -Dprogram=false -Dtests=false. It is
# installed into a temporary prefix; an example is linked by pkg-config and by CMake.
set -eu
source=$1 build=$2
prefix=$(mktemp -d)
trap 'rm -rf "$prefix"' EXIT

fail() {
    echo "static: $*" >&2
    exit 1
}

meson install -C "$build" --no-rebuild --quiet --destdir "$prefix"
pc=$(find "$prefix" -name clattn.pc)
[ -n "$pc" ] || fail 'no clattn.pc installed'
PKG_CONFIG_PATH=$(dirname "$pc")
export PKG_CONFIG_PATH
root=$(find "$prefix" -path '*/include/clattn')
root=${root%/include/clattn}
other=$(find "$prefix" -type f ! -path '*/include/clattn/*' ! -path '*/cmake/clattn/*' \
    ! -name clattn.pc ! -name libclattn.a)
[ -z "$other" ] || fail "also installs $other"

# shellcheck disable=SC2046 # flags are words
${CC:-cc} -std=c11 "$source/examples/embed.c" \
    $(pkg-config --define-variable=prefix="$root" --static --cflags --libs clattn) -lm \
    -o "$prefix/embed"
"$prefix/embed"
if ldd "$prefix/embed" | grep libclattn; then
    fail 'the program needs the shared library'
fi

if command -v cmake >/dev/null && command -v c++ >/dev/null; then
    cp "$source/tests/installed/user.cc" "$source/examples/embed.c" "$prefix"
    sed "s/@VERSION@/$(pkg-config --modversion clattn)/" \
        "$source/tests/installed/CMakeLists.txt" >"$prefix/CMakeLists.txt"
    cmake -S "$prefix" -B "$prefix/cmake" -DCMAKE_PREFIX_PATH="$root" \
        >"$prefix/cmake.txt" 2>&1 || fail "cmake: $(cat "$prefix/cmake.txt")"
    cmake --build "$prefix/cmake" >"$prefix/cmake.txt" 2>&1 ||
        fail "cmake: $(cat "$prefix/cmake.txt")"
    "$prefix/cmake/user" || fail 'user.cc fails'
fi
