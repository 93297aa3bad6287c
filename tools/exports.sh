#!/bin/sh
# exports.sh - writes the list of what a DLL exports, from its public headers
# usage: tools/exports.sh OUTPUT NM [ARCHIVE] HEADER...
#
# What the headers declare with CLA_API is exported. Of an archive all other names that
# begin with cla_ are exported, too, for the other library of clattn; a declared name that
# the archive does not define is an error.
set -eu
output=$1 nm=$2 archive=
shift 2
case $1 in
*.a)
    archive=$1
    shift
    ;;
esac
declared=$(cat "$@" | sed -n 's/^CLA_API .*[ *]\(cla_[a-z0-9_]*\)(.*/\1/p' | sort -u)
inner=
if [ -n "$archive" ]; then
    inner=$("$nm" --defined-only "$archive" | sed -n 's/^[0-9a-f]* [TDBR] \(cla_[a-z0-9_]*\)$/\1/p' | sort -u)
    for name in $declared; do
        echo "$inner" | grep -qx "$name" || {
            echo "exports.sh: $name is declared, but $archive does not have it" >&2
            exit 1
        }
    done
fi
{
    echo EXPORTS
    printf '%s\n' "$declared" "$inner" | grep . | sort -u | sed 's/^/    /'
} >"$output"
