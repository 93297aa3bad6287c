#!/bin/sh
# install.sh - the installed library as an application sees it
# usage: tests/install.sh SOURCE_ROOT BUILD_ROOT
#
# Installs into a temporary prefix, compiles examples with what pkg-config says and
# nothing else, runs one, and looks at what the library shows to the world.
set -eu
source=$1 build=$2
command -v pkg-config >/dev/null || exit 77

prefix=$(mktemp -d)
trap 'rm -rf "$prefix"' EXIT

fail() {
    echo "install: $*" >&2
    exit 1
}

meson install -C "$build" --no-rebuild --quiet --destdir "$prefix"
pc=$(find "$prefix" -name clattn.pc)
[ -n "$pc" ] || fail 'no clattn.pc installed'
PKG_CONFIG_PATH=$(dirname "$pc")
LD_LIBRARY_PATH=$(dirname "$PKG_CONFIG_PATH")
export PKG_CONFIG_PATH LD_LIBRARY_PATH
root=$(find "$prefix" -path '*/include/clattn') # the file itself says where it will be
root=${root%/include/clattn}

# shellcheck disable=SC2046 # flags are words
${CC:-cc} -std=c11 -Wall -Wextra -Werror "$source/examples/embed.c" \
    $(pkg-config --define-variable=prefix="$root" --cflags --libs clattn) -lm \
    -o "$prefix/embed"
"$prefix/embed"
# shellcheck disable=SC2046
${CC:-cc} -std=c11 -Wall -Wextra -Werror "$source/examples/tag.c" \
    $(pkg-config --define-variable=prefix="$root" --cflags --libs clattn) -o "$prefix/tag"
# shellcheck disable=SC2046
${CC:-cc} -std=c11 -Wall -Wextra -Werror "$source/examples/translate.c" \
    $(pkg-config --define-variable=prefix="$root" --cflags --libs clattn) -o "$prefix/translate"
"$prefix/translate" "$prefix/no-model" a 2>"$prefix/err" && fail 'no model, but exit 0'
grep -q 'no-model/config.json' "$prefix/err" || fail "translate says $(cat "$prefix/err")"

# What the library was built with is not the business of those who use it.
flags=$(pkg-config --define-variable=prefix="$root" --cflags clattn)
[ "$flags" = "-I$root/include " ] || [ "$flags" = "-I$root/include" ] ||
    fail "pkg-config --cflags gives $flags"
[ -z "$(pkg-config --print-requires-private clattn)" ] || fail 'clattn.pc needs other libraries'

# C and C++ by CMake; the version before is refused.
if command -v cmake >/dev/null && command -v c++ >/dev/null; then
    mkdir "$prefix/users"
    cp "$source/tests/installed/user.cc" "$source/examples/embed.c" "$prefix/users"
    version=$(pkg-config --modversion clattn)
    sed "s/@VERSION@/$version/" "$source/tests/installed/CMakeLists.txt" \
        >"$prefix/users/CMakeLists.txt"
    cmake -S "$prefix/users" -B "$prefix/users/build" -DCMAKE_PREFIX_PATH="$root" \
        >"$prefix/cmake.txt" 2>&1 || fail "cmake: $(cat "$prefix/cmake.txt")"
    cmake --build "$prefix/users/build" >"$prefix/cmake.txt" 2>&1 ||
        fail "cmake: $(cat "$prefix/cmake.txt")"
    "$prefix/users/build/embed" >/dev/null || fail 'embed, built by CMake, fails'
    "$prefix/users/build/user" || fail 'user.cc fails'
    sed 's/@VERSION@/99.0/' "$source/tests/installed/CMakeLists.txt" \
        >"$prefix/users/CMakeLists.txt"
    cmake -S "$prefix/users" -B "$prefix/users/other" -DCMAKE_PREFIX_PATH="$root" \
        >"$prefix/cmake.txt" 2>&1 && fail 'CMake takes version 99.0'
    grep -q "clattnConfig.cmake, version: $version" "$prefix/cmake.txt" ||
        fail "cmake says $(cat "$prefix/cmake.txt")"
else
    echo 'not run: CMake (no cmake, or no C++ compiler)'
fi

library=$(find "$prefix" -name 'libclattn.so')
readelf -d "$library" | grep -q 'SONAME.*libclattn\.so\.[0-9]' || fail 'no soname'
foreign=$(nm -D --defined-only "$library" | awk '{ print $NF }' | grep -v '^cla_' || true)
[ -z "$foreign" ] || fail "symbols without prefix: $foreign"

# Everything the headers promise is there, and what they do not is hidden.
sed -n 's/^CLA_API .*[ *]\(cla_[a-z0-9_]*\)(.*/\1/p' "$source"/include/clattn/*.h |
    sort -u >"$prefix/promised"
nm -D --defined-only "$library" | awk '{ print $NF }' | sort -u >"$prefix/shown"
hidden=$(comm -23 "$prefix/promised" "$prefix/shown")
extra=$(comm -13 "$prefix/promised" "$prefix/shown")
[ -z "$hidden" ] || fail "promised by a header but hidden: $hidden"
[ -z "$extra" ] || fail "visible but in no header: $extra"
# Programs that were linked before must find what they use.
sed -n 's/^ \(cla_[a-z0-9_]*\)@.*/\1/p' "$source/debian/libclattn0.symbols" | sort -u >"$prefix/released"
vanished=$(comm -23 "$prefix/released" "$prefix/shown")
[ -z "$vanished" ] || fail "in debian/libclattn0.symbols but no longer there: $vanished"
[ -s "$prefix/released" ] || fail 'debian/libclattn0.symbols names no symbol'
[ -n "$(find "$prefix" -path '*share/clattn/golden/*.safetensors')" ] ||
    fail 'no golden cases installed'

# The installed program finds the configs and the data that come with it.
(cd "$prefix" && "$root/bin/clattn" train "$root/share/clattn/configs/tagger-demo.json" \
    --set steps=1 --quiet --out run) || fail 'the installed config does not train'
(cd "$prefix" && "$root/bin/clattn" demo --epochs 1 --out demo >demo.txt 2>&1) ||
    fail "demo: $(cat "$prefix/demo.txt")"
grep -q "$root/share/clattn/configs" "$prefix/demo.txt" || fail 'demo took other configs'
echo "$(wc -l <"$prefix/promised") functions, as promised"
