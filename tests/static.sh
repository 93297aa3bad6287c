#!/bin/sh
# static.sh - the libraries as archives, without program and tests, as users link them
# usage: tests/static.sh SOURCE_ROOT BUILD_ROOT
#
# BUILD_ROOT is a build with -Ddefault_library=static -Dprogram=false -Dtests=false. It is
# installed into a temporary prefix; examples are linked by pkg-config and by CMake.
set -eu
source=$1 build=$2
. "$source/tests/installed/prefix.sh"

other=$(find "$prefix" -type f ! -path '*/include/clattn/*' ! -path '*/cmake/clattn/*' \
    ! -name clattn.pc ! -name clattn-models.pc ! -name libclattn.a ! -name libclattn-models.a)
[ -z "$other" ] || fail "also installs $other"

compile clattn embed --static
"$prefix/embed"
compile clattn-models tag --static
for program in embed tag; do
    if ldd "$prefix/$program" | grep libclattn; then
        fail "$program needs a shared library"
    fi
done
if ldd "$prefix/embed" | grep -E 'jansson|xxhash|utf8proc|pcre2|sentencepiece|libz|yaml'; then
    fail 'the core needs what the models need'
fi

if command -v cmake >/dev/null && command -v c++ >/dev/null; then
    by_cmake users "$(pkg-config --modversion clattn)" || fail "cmake: $(cat "$prefix/cmake.txt")"
    "$prefix/users/build/user" || fail 'user.cc fails'
fi
