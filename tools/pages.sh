#!/bin/sh
# pages.sh - after quickstart.sh, every command of docs/import.md, serve.md and python.md
# usage: tools/pages.sh
#
# `tools/fresh.sh tools/quickstart.sh tools/pages.sh` does it on a bare Debian 12: what the
# pages show must be there. Each command ends with 0, and none says "built without".
cd "$(dirname "$0")/.." || exit 2
. tools/common.sh

said=$(mktemp)

# page COMMAND...: what it prints is shown, and may not say that a part is missing.
page() {
    "$@" >"$said" 2>&1 || {
        cat "$said"
        exit 1
    }
    cat "$said"
    if grep 'built without\|skipped' "$said"; then
        exit 1
    fi
}

step 'packages'
# shellcheck disable=SC2086 # a list of words
install $python_packages curl

step 'docs/import.md'
page bash tools/check-docs.sh . build/clattn docs/import.md

step 'docs/serve.md: a service, and its requests by curl'
page tests/cli/serve.sh . build/clattn page

step 'docs/serve.md: under load'
model=runs/pages
rm -rf "$model"
build/clattn import tests/data/marian --out "$model"
# The page's own command, but for the model and the seconds.
load=$(sed -n 's|^\$ \(bench/serve.py .*\)|\1|p' docs/serve.md |
    sed "s|runs/m |$model |; s|test.en|tests/data/marian/lines.txt|; s|--seconds 540|--seconds 18|")
[ -n "$load" ]
# shellcheck disable=SC2086 # words
PATH="$PWD/build:$PATH" page $load

step 'docs/python.md'
tools/wheel.sh
command=$(sed -n 's/^\$ \(python -c .*\)/\1/p' docs/python.md)
[ -n "$command" ]
PATH="$PWD/build-empty/bin:$PATH" page sh -c "$command"
rm -rf "$model"
PATH="$PWD/build-empty/bin:$PATH" page clattn import tests/data/marian --out "$model"
rm -rf "$said" "$model"
