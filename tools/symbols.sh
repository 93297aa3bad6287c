#!/bin/sh
# symbols.sh - fail when an archive shows a name that could be a user's, too
# usage: tools/symbols.sh ARCHIVE...
#
# What is linked statically shares its names with the program that it is linked into, so
# each begins with cla_. Names that begin with _ are the compiler's, DW. those of C++.
status=0
for archive; do
    names=$(nm --defined-only --extern-only "$archive" 2>/dev/null) || {
        echo "symbols.sh: $archive cannot be read" >&2
        exit 2
    }
    found=$(echo "$names" | awk 'NF == 3 { print $3 }' | grep -cE '^cla_') || true
    other=$(echo "$names" | awk 'NF == 3 { print $3 }' | grep -vE '^(cla_|_|DW\.)') || true
    if [ "$found" -eq 0 ]; then
        echo "$archive has no name that begins with cla_" >&2
        status=1
    fi
    for name in $other; do
        echo "$archive: $name does not begin with cla_" >&2
        status=1
    done
done
exit $status
