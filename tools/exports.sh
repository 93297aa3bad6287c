#!/bin/sh
# exports.sh - writes the list of what a library of Windows or macOS exports
# usage: tools/exports.sh OUTPUT NM [ARCHIVE] HEADER...
#
# OUTPUT ends in .def (Windows) or .exp (macOS, where C names begin with an underscore).
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
    inner=$("$nm" --defined-only "$archive" | sed -n 's/^[0-9a-f]* [TDBRS] _\{0,1\}\(cla_[a-z0-9_]*\)$/\1/p' | sort -u)
    for name in $declared; do
        echo "$inner" | grep -qx "$name" || {
            echo "exports.sh: $name is declared, but $archive does not have it" >&2
            exit 1
        }
    done
fi
names=$(printf '%s\n' "$declared" "$inner" | grep . | sort -u)
case $output in
*.def) echo "$names" | sed '1i EXPORTS
s/^/    /' >"$output" ;;
*) echo "$names" | sed 's/^/_/' >"$output" ;;
esac
