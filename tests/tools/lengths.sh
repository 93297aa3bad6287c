#!/bin/bash
# lengths.sh - the lint of lengths finds a line, a file and a function that are too long, and
# no others
# usage: tests/tools/lengths.sh SOURCE_ROOT
set -u
source=$1
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
bad=0
mkdir -p "$work"/{src,include,cl,bench,tests,examples,tools}

# told FILE WORDS: the lint says nothing but WORDS of the file on its input; nothing at all if
# there are no words.
told() {
    local said status=0 wanted=1
    cat >"$work/$1"
    said=$("$source/tools/lint.sh" lengths "$work" "$work") || status=$?
    [ -n "$2" ] || wanted=0
    if [ "$status" -ne "$wanted" ] || [ "$said" != "$2" ]; then
        echo "FAILED: '$said', exit $status, not '$2'"
        bad=1
    fi
    rm "$work/$1"
}
# body LINES: a function with so many lines between its braces.
body() {
    printf 'kernel void f(int n)\n{\n'
    printf '    g(n);\n%.0s' $(seq "$1")
    printf '}\n'
}
told cl/a.cl '' < <(body 60)
told cl/a.cl 'cl/a.cl:2: a function of 61 lines' < <(body 61)
told src/a.c 'src/a.c:2: a function of 61 lines' < <(body 61)
told cl/a.clh '' < <({ body 50; printf 'int x;\n'; body 50; })
told cl/a.cl '' < <(printf '%088d\n' 0)
told cl/a.cl 'cl/a.cl:1: 89 columns' < <(printf '%089d\n' 0)
told cl/a.cl '' < <(printf '\n%.0s' $(seq 400))
told cl/a.cl 'cl/a.cl: more than 400 lines' < <(printf '\n%.0s' $(seq 401))
exit "$bad"
