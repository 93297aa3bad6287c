# prefix.sh - for tests of what is installed, which read it: a prefix of their own, and
# programs linked as pkg-config says. They have set $build; $prefix is removed at the end.
# shellcheck shell=sh disable=SC2034,SC2154
prefix=$(mktemp -d)
trap 'rm -rf "$prefix"' EXIT

fail() {
    echo "$(basename "$0" .sh): $*" >&2
    exit 1
}

meson install -C "$build" --no-rebuild --quiet --destdir "$prefix"
pc=$(find "$prefix" -name clattn.pc)
[ -n "$pc" ] || fail 'no clattn.pc installed'
PKG_CONFIG_PATH=$(dirname "$pc")
libraries=$(dirname "$PKG_CONFIG_PATH")
export PKG_CONFIG_PATH
root=$(find "$prefix" -path '*/include/clattn') # the file itself says where it will be
root=${root%/include/clattn}

# package LIBRARY OPTION...: what pkg-config says of it
package() {
    pkg-config --define-variable=prefix="$root" "$@"
}

# compile LIBRARY EXAMPLE OPTION...: $prefix/EXAMPLE from examples/EXAMPLE.c, with the
# libraries that its own compile line names
compile() {
    library=$1 example=$2
    shift 2
    line=$(grep -m 1 "^ \*   cc $example\.c " "$source/examples/$example.c") ||
        fail "$example.c does not say how it is compiled"
    more=$(echo "$line" | sed -n "s/.*pkg-config --cflags --libs $library)\(.*\) -o $example.*/\1/p")
    # shellcheck disable=SC2046,SC2086 # flags are words
    ${CC:-cc} -std=c11 -Wall -Wextra -Werror "$source/examples/$example.c" \
        $(package "$@" --cflags --libs "$library") $more -o "$prefix/$example" ||
        fail "$example cannot be linked with $library"
}

# by_cmake FOLDER VERSION: what tests/installed/CMakeLists.txt builds, in $prefix/FOLDER
by_cmake() {
    mkdir -p "$prefix/$1"
    for user in tests/installed/user.cc examples/embed.c examples/classifier.c examples/tag.c; do
        cp "$source/$user" "$prefix/$1"
    done
    sed "s/@VERSION@/$2/" "$source/tests/installed/CMakeLists.txt" >"$prefix/$1/CMakeLists.txt"
    cmake -S "$prefix/$1" -B "$prefix/$1/build" -DCMAKE_PREFIX_PATH="$root" \
        >"$prefix/cmake.txt" 2>&1 &&
        cmake --build "$prefix/$1/build" >"$prefix/cmake.txt" 2>&1
}
