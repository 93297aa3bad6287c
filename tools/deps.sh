#!/bin/bash
# deps.sh - builds the libraries that clattn needs for another system
# usage: tools/deps.sh windows|musl|macos FOLDER
#
# Fetches Debian's source archives of Jansson, xxHash, utf8proc, PCRE2, zlib and libyaml
# into FOLDER/sources, and puts static libraries, headers and files for pkg-config into
# FOLDER/lib and FOLDER/include. OpenCL is an import library for Windows, made from the
# Khronos headers of this system, and the null device of the fuzz targets elsewhere. What
# is there is not made again. CC and AR name the compiler for macOS.
set -eu
source=$(cd "$(dirname "$0")/.." && pwd)
system=$1
mkdir -p "$2"
out=$(cd "$2" && pwd)
case $system in
windows) target=x86_64-w64-mingw32 cc=x86_64-w64-mingw32-gcc ar=x86_64-w64-mingw32-ar ;;
musl) target='' cc=musl-gcc ar=ar ;;
macos) target='' cc=$CC ar=$AR ;;
*)
    echo "deps.sh: no system '$system'" >&2
    exit 2
    ;;
esac
packages='jansson xxhash utf8proc pcre2 zlib libyaml'
[ ! -f "$out/done" ] || exit 0
mkdir -p "$out"/{sources,apt/lists/partial,include,lib/pkgconfig,objects}

# Sources of this Debian, listed beside its own lists, without root.
fetch() {
    local from
    for from in /etc/apt/sources.list /etc/apt/sources.list.d/*.list; do
        [ ! -f "$from" ] || sed -n 's/^deb /deb-src /p' "$from" >>"$out/apt/all.list"
    done
    for from in /etc/apt/sources.list.d/*.sources; do
        [ ! -f "$from" ] || sed 's/^Types:.*/Types: deb-src/' "$from" >"$out/apt/$(basename "$from")"
    done
    local apt=(apt-get -qq -o Dir::Etc::SourceList=/dev/null -o "Dir::Etc::SourceParts=$out/apt"
        -o "Dir::State::Lists=$out/apt/lists" -o APT::Sandbox::User=root)
    "${apt[@]}" update
    # shellcheck disable=SC2086 # words
    (cd "$out/sources" && "${apt[@]}" source --tar-only $packages)
}

# unpack NAME: prints the folder of its newest archive.
unpack() {
    local archive
    archive=$(find "$out/sources" -name "$1_*.orig.tar.*" | sort -V | tail -n 1)
    [ -n "$archive" ] || { echo "deps.sh: no source archive of $1" >&2 && return 1; }
    mkdir -p "$out/sources/$1"
    tar -C "$out/sources/$1" --strip-components=1 -xf "$archive"
    echo "$out/sources/$1"
}

# compile LIBRARY FLAG... -- FILE...: a static library of these files.
compile() {
    local library=$1 flags=() object objects=()
    shift
    while [ "$1" != -- ]; do
        flags+=("$1")
        shift
    done
    shift
    rm -rf "$out/objects/$library" "$out/lib/lib$library.a"
    mkdir "$out/objects/$library"
    for file; do
        object=$out/objects/$library/$(basename "$file" .c).o
        "$cc" -O2 -w -fPIC -I"$out/include" "${flags[@]}" -c "$file" -o "$object"
        objects+=("$object")
    done
    "$ar" rcs "$out/lib/lib$library.a" "${objects[@]}"
}

# describe NAME VERSION LIBRARIES [FLAGS]: a file for pkg-config.
describe() {
    printf 'Name: %s\nDescription: %s\nVersion: %s\nCflags: -I%s/include %s\nLibs: -L%s/lib %s\n' \
        "$1" "$1" "$2" "$out" "${4-}" "$out" "$3" >"$out/lib/pkgconfig/$1.pc"
}

# version NAME: of the archive.
version() {
    find "$out/sources" -name "$1_*.orig.tar.*" | sed 's/.*_\([0-9.]*[0-9]\).*/\1/' | sort -V | tail -n 1
}

jansson() {
    local s=$1/src
    sed -e 's/@json_inline@/inline/; s/@json_have_[a-z_]*@/1/' "$s/jansson_config.h.in" \
        >"$out/include/jansson_config.h"
    printf '#define HAVE_STDINT_H 1\n#define HAVE_LOCALE_H 1\n#define HAVE_LOCALECONV 1\n#define INITIAL_HASHTABLE_ORDER 3\n' \
        >"$s/jansson_private_config.h"
    cp "$s/jansson.h" "$out/include/"
    compile jansson -DHAVE_CONFIG_H -I"$s" -- \
        "$s"/{dump,error,hashtable,hashtable_seed,load,memory,pack_unpack,strbuffer,strconv,utf,value,version}.c
    describe jansson "$(version jansson)" -ljansson
}

pcre2() {
    local s=$1/src own=$out/objects/pcre2-own files
    mkdir -p "$own"
    cp "$s/pcre2.h.generic" "$out/include/pcre2.h"
    cp "$s/pcre2posix.h" "$out/include/"
    cp "$s/config.h.generic" "$own/config.h"
    cp "$s/pcre2_chartables.c.dist" "$own/pcre2_chartables.c"
    files=$(find "$s" -name 'pcre2_*.c' | grep -vE 'chartables|dftables|fuzz|jit_(match|misc|test)|printint|ucptables')
    # shellcheck disable=SC2086 # words
    compile pcre2-8 -DHAVE_CONFIG_H -DPCRE2_CODE_UNIT_WIDTH=8 -DPCRE2_STATIC -DSUPPORT_PCRE2_8 \
        -DSUPPORT_UNICODE -DHAVE_MEMMOVE -DHAVE_STRERROR -I"$own" -I"$s" -- \
        "$own/pcre2_chartables.c" $files "$s/pcre2posix.c"
    describe libpcre2-8 "$(version pcre2)" -lpcre2-8 -DPCRE2_STATIC
}

zlib() {
    cp "$1"/{zlib,zconf}.h "$out/include/"
    compile z -Dfdopen=fdopen -I"$1" -- "$1"/{adler32,crc32,deflate,inffast,inflate,inftrees,trees,zutil,compress,uncompr}.c
    describe zlib "$(version zlib)" -lz
}

yaml() {
    local number
    number=$(version libyaml)
    cp "$1/include/yaml.h" "$out/include/"
    compile yaml -DYAML_DECLARE_STATIC -DYAML_VERSION_MAJOR=0 -DYAML_VERSION_MINOR=2 \
        -DYAML_VERSION_PATCH=5 "-DYAML_VERSION_STRING=\"$number\"" -- \
        "$1"/src/{api,reader,scanner,parser,loader,writer,emitter,dumper}.c
    describe yaml-0.1 "$number" -lyaml -DYAML_DECLARE_STATIC
}

# The functions that the Khronos headers declare; every driver's loader has them.
opencl_windows() {
    {
        echo 'LIBRARY OpenCL.dll'
        echo EXPORTS
        "$cc" -E -DCL_TARGET_OPENCL_VERSION=300 -DCL_USE_DEPRECATED_OPENCL_1_1_APIS \
            -DCL_USE_DEPRECATED_OPENCL_1_2_APIS -I"$out/include" -x c "$out/include/CL/cl.h" |
            grep -oE '\bcl[A-Z][A-Za-z]+\(' | tr -d '(' | sort -u
    } >"$out/objects/OpenCL.def"
    "$target-dlltool" -d "$out/objects/OpenCL.def" -l "$out/lib/libOpenCL.a"
}

# A device that holds buffers and computes nothing: no driver is built here.
opencl_null() {
    compile OpenCL -D_GNU_SOURCE -Dfuzz_broken=null_broken -I"$source/include" -I"$source/src" \
        -I"$source/tests/fuzz" -- "$source"/tests/fuzz/{broken,null_device,null_kernels}.c "$source/tests/small/opencl.c"
}

fetch
cp -r /usr/include/CL /usr/include/Random123 "$out/include/" # headers without code
jansson "$(unpack jansson)"
hash=$(unpack xxhash)
cp "$hash/xxhash.h" "$hash/xxh3.h" "$out/include/"
compile xxhash -- "$hash/xxhash.c"
describe libxxhash "$(version xxhash)" -lxxhash
utf8=$(unpack utf8proc)
cp "$utf8/utf8proc.h" "$out/include/"
compile utf8proc -DUTF8PROC_STATIC -- "$utf8/utf8proc.c"
describe libutf8proc "$(version utf8proc)" -lutf8proc -DUTF8PROC_STATIC
pcre2 "$(unpack pcre2)"
zlib "$(unpack zlib)"
yaml "$(unpack libyaml)"
case $system in
windows) opencl_windows ;;
*) opencl_null ;;
esac
describe OpenCL 3.0 -lOpenCL
touch "$out/done"
