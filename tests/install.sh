#!/bin/sh
# install.sh - the installed library as an application sees it
# usage: tests/install.sh SOURCE_ROOT BUILD_ROOT
#
# Installs into a temporary prefix, compiles examples with what pkg-config says and
# nothing else, runs one, and looks at what the library shows to the world.
set -eu
source=$1 build=$2
command -v pkg-config >/dev/null || exit 77

. "$source/tests/installed/prefix.sh"
LD_LIBRARY_PATH=$libraries
export LD_LIBRARY_PATH

compile clattn embed
"$prefix/embed"
compile clattn-models classifier
"$source/tests/train/classifier.sh" "$prefix/classifier" || fail 'the classifier fails'
# The program of docs/tutorial-c.md has at most 120 lines, and is C++, too.
[ "$(wc -l <"$source/examples/classifier.c")" -le 120 ] || fail 'classifier.c grew'
if command -v c++ >/dev/null; then
    # shellcheck disable=SC2046 # flags are words
    c++ -x c++ -std=c++17 -Wall -Wextra -Werror "$source/examples/classifier.c" -x none \
        $(package --cflags --libs clattn-models) -o "$prefix/classifier-c++" ||
        fail 'classifier.c is no C++'
    "$source/tests/train/classifier.sh" "$prefix/classifier-c++" ||
        fail 'the classifier in C++ fails'
else
    echo 'not run: the classifier in C++ (no compiler)'
fi
compile clattn-models tag
compile clattn-models translate
"$prefix/translate" "$prefix/no-model" a 2>"$prefix/err" && fail 'no model, but exit 0'
grep -q 'no-model/config.json' "$prefix/err" || fail "translate says $(cat "$prefix/err")"

# needs FILE: what it is linked with, but for the C library, the compiler's and the loader
needs() {
    readelf -d "$1" | sed -n 's/.*(NEEDED).*\[\(.*\)\]/\1/p' |
        grep -vE '^(libc|libm|libpthread|libgcc_s|ld-linux[a-z0-9_-]*)\.so' | sort
}

# The core needs OpenCL, and CLBlast and clFFT where they are built in; nothing else may
# come with it, not even through another library of ours.
[ "$(needs "$prefix/embed")" = libclattn.so.0 ] || fail "embed needs $(needs "$prefix/embed")"
for name in $(needs "$libraries/libclattn.so"); do
    case $name in
    libOpenCL.so.* | libclblast.so.* | libclFFT.so.*) ;;
    *) fail "libclattn.so needs $name" ;;
    esac
done
needs "$libraries/libclattn.so" | grep -q '^libOpenCL' || fail 'libclattn.so without OpenCL'
# There is one error text and one log: the second library has the first one's.
needs "$libraries/libclattn-models.so" | grep -qx libclattn.so.0 ||
    fail 'libclattn-models.so does not need libclattn.so'

# What a library was built with is not the business of those who use it.
for name in clattn clattn-models; do
    flags=$(package --cflags "$name")
    [ "$flags" = "-I$root/include " ] || [ "$flags" = "-I$root/include" ] ||
        fail "pkg-config --cflags $name gives $flags"
    [ -z "$(pkg-config --print-requires-private "$name")" ] || fail "$name.pc needs others"
done
[ "$(pkg-config --print-requires clattn-models)" = clattn ] || fail 'clattn-models without clattn'

# C and C++ by CMake; the version before is refused.
if command -v cmake >/dev/null && command -v c++ >/dev/null; then
    version=$(pkg-config --modversion clattn)
    by_cmake users "$version" || fail "cmake: $(cat "$prefix/cmake.txt")"
    "$prefix/users/build/embed" >/dev/null || fail 'embed, built by CMake, fails'
    "$prefix/users/build/user" || fail 'user.cc fails'
    [ "$(needs "$prefix/users/build/user")" = "$(printf 'libclattn.so.0\nlibstdc++.so.6')" ] ||
        fail "user.cc needs $(needs "$prefix/users/build/user")"
    by_cmake other 99.0 && fail 'CMake takes version 99.0'
    grep -q "clattnConfig.cmake, version: $version" "$prefix/cmake.txt" ||
        fail "cmake says $(cat "$prefix/cmake.txt")"
else
    echo 'not run: CMake (no cmake, or no C++ compiler)'
fi

# shows LIBRARY VERSION: its names of that version
shows() {
    nm -D --defined-only "$libraries/lib$1.so" | sed -n "s/.* [^A] \([^@]*\)@@*$2\$/\1/p" | sort -u
}

# check_names LIBRARY VERSION HEADER...: everything the headers promise is there, what they
# do not is hidden, and programs that were linked before find what they use.
check_names() {
    library=$1 version=$2
    shift 2
    readelf -d "$libraries/lib$library.so" | grep -q "SONAME.*lib$library\.so\.[0-9]" ||
        fail "no soname: $library"
    sed -n 's/^CLA_API .*[ *]\(cla_[a-z0-9_]*\)(.*/\1/p' "$@" | sort -u >"$prefix/promised"
    shows "$library" "$version" >"$prefix/shown"
    hidden=$(comm -23 "$prefix/promised" "$prefix/shown")
    extra=$(comm -13 "$prefix/promised" "$prefix/shown")
    [ -z "$hidden" ] || fail "promised by a header but hidden: $hidden"
    [ -z "$extra" ] || fail "visible but in no header: $extra"
    list=debian/lib${library}0.symbols
    sed -n "s/^ \(cla_[a-z0-9_]*\)@$version .*/\1/p" "$source/$list" | sort -u >"$prefix/released"
    vanished=$(comm -23 "$prefix/released" "$prefix/shown")
    [ -z "$vanished" ] || fail "in $list but no longer there: $vanished"
    [ -s "$prefix/released" ] || fail "$list names no symbol"
    count=$((${count:-0} + $(wc -l <"$prefix/promised")))
}

core_headers=$(find "$source/include/clattn" -name '*.h' ! -name model.h ! -name parameters.h)
# shellcheck disable=SC2086 # names are words
check_names clattn CLATTN_0 $core_headers
check_names clattn-models CLATTN_MODELS_0 "$source/include/clattn/model.h" \
    "$source/include/clattn/parameters.h"
# clattn.h is the whole of the core, but for OpenCL's own types.
for header in $core_headers; do
    name=$(basename "$header")
    grep -q "clattn/$name" "$source/include/clattn/clattn.h" || case $name in
    clattn.h | opencl.h) ;;
    *) fail "clattn.h lacks $name" ;;
    esac
done
# All other names belong to the two libraries, and to this version of them alone.
private=CLATTN_PRIVATE_$(pkg-config --modversion clattn)
[ "$(nm -D --defined-only "$libraries/libclattn.so" | grep -cvE "@(CLATTN_0|$private)\$| A CLATTN")" = 0 ] ||
    fail 'libclattn.so shows names without a version'
shows clattn "$private" | grep -qx cla_fail || fail "no cla_fail@$private"
foreign=$(shows clattn "$private" | grep -v '^cla_' || true)
[ -z "$foreign" ] || fail "symbols without prefix: $foreign"
[ -n "$(find "$prefix" -path '*share/clattn/golden/*.safetensors')" ] ||
    fail 'no golden cases installed'

# The loader's cache is made anew by root alone, for the system's folders alone, and an
# install does not fail with it.
mkdir "$prefix/fake"
printf '#!/bin/sh\ntouch "%s/cached"\nexit 1\n' "$prefix" >"$prefix/fake/ldconfig"
# shellcheck disable=SC2016 # the script expands it
printf '#!/bin/sh\necho "$USER_ID"\n' >"$prefix/fake/id"
chmod +x "$prefix/fake/ldconfig" "$prefix/fake/id"
# caches USER_ID PREFIX DESTDIR: ldconfig was called
caches() {
    rm -f "$prefix/cached"
    PATH="$prefix/fake:$PATH" USER_ID=$1 MESON_INSTALL_PREFIX=$2 DESTDIR=$3 \
        "$source/tools/ldconfig.sh" || fail 'an install fails with ldconfig'
    [ -e "$prefix/cached" ]
}
caches 0 /usr/local '' || fail 'the cache of the loader stays stale'
! caches 1000 /usr/local '' || fail 'a user calls ldconfig'
! caches 0 /usr/local /tmp/x || fail 'ldconfig for a DESTDIR'
! caches 0 /opt/clattn '' || fail 'ldconfig for another prefix'
grep -q ldconfig.sh "$build/meson-private/install.dat" || fail 'an install leaves ldconfig out'

# The installed program finds the configs and the data that come with it.
(cd "$prefix" && "$root/bin/clattn" train "$root/share/clattn/configs/tagger-demo.json" \
    --set steps=1 --quiet --out run) || fail 'the installed config does not train'
(cd "$prefix" && "$root/bin/clattn" demo --epochs 1 --out demo >demo.txt 2>&1) ||
    fail "demo: $(cat "$prefix/demo.txt")"
grep -q "$root/share/clattn/configs" "$prefix/demo.txt" || fail 'demo took other configs'
echo "$count functions, as promised"
