#!/bin/bash
# musl.sh - what stops a build with another C library: musl, which small systems use
# usage: tools/musl.sh [BUILD_FOLDER]
#
# Compiles every C file of the library, the program and the benchmarks with musl-gcc
# (Debian: musl-tools), and lists functions that neither musl nor these files have.
# Headers of other libraries are those of this system; nothing is linked. BUILD_FOLDER
# (build-test) has the generated files.
set -u
cd "$(dirname "$0")/.." || exit 2
build=${1:-build-test}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
command -v musl-gcc >/dev/null || {
    echo 'musl.sh: musl-gcc is not installed (Debian: musl-tools)' >&2
    exit 2
}
flags=(-std=gnu11 -D_GNU_SOURCE -DCLA_HAVE_CLBLAST -DCLA_HAVE_CLFFT -Iinclude -Isrc -I. -Ibench
    -Itests "-I$build" -idirafter /usr/include -idirafter "/usr/include/$(gcc -print-multiarch)"
    '-DCLA_VERSION="0"' '-DCLATTN_DATA_FOLDER="."' '-DCLATTN_SOURCE_FOLDER="."'
    -Wno-attributes -Werror=implicit-function-declaration)
failed=0 files=0
for file in $(git ls-files 'src/*.c' 'bench/*.c' 'tests/oracle/*.c' ':!*_windows.c') "$build"/{kernels,page,kinds,ways}.c; do
    files=$((files + 1))
    musl-gcc "${flags[@]}" -c "$file" -o "$work/$files.o" 2>"$work/err" || {
        failed=$((failed + 1))
        echo "$file does not compile:"
        sed 's/^/    /' "$work/err"
    }
done

nm --defined-only "$work"/*.o "/usr/lib/$(uname -m)-linux-musl/libc.a" 2>/dev/null |
    awk 'NF == 3 { print $3 }' | sort -u >"$work/there"
# Other libraries' names; the file in C++ is not compiled here; __cpu_* is of the compiler.
others='^(cl[A-Z]|CLBlast|clfft|json|XXH|utf8proc|pcre2|inflate|crc32|yaml_|MHD_|cblas_|MPI|ompi|__cpu_|_GLOBAL_OFFSET|cla_sentencepiece)'
missing=$(nm -u "$work"/*.o | awk 'NF == 2 { print $2 }' | sort -u | comm -23 - "$work/there" | grep -vE "$others")
for symbol in $missing; do
    echo "musl has no $symbol"
    failed=$((failed + 1))
done
echo "musl.sh: $files files, $failed findings"
[ $failed -eq 0 ]
