#!/bin/sh
# map.sh - writes the symbol map of a library from its public headers
# usage: tools/map.sh OUTPUT VERSION PRIVATE HEADER...
#
# What the headers declare with CLA_API belongs to VERSION. All other names that begin
# with cla_ belong to the version PRIVATE, or are hidden where PRIVATE is empty.
set -eu
output=$1 version=$2 private=$3
shift 3
{
    echo "$version {"
    echo '    global:'
    cat "$@" | sed -n 's/^CLA_API .*[ *]\(cla_[a-z0-9_]*\)(.*/        \1;/p' | sort -u
    echo '    local: *;'
    echo '};'
    [ -z "$private" ] || printf '%s {\n    global: cla_*;\n};\n' "$private"
} >"$output"
