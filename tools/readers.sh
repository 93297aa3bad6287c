#!/bin/sh
# readers.sh - fail when a reader of text is not in src/base/readers.h, or goes past the front
# usage: tools/readers.sh SOURCE_ROOT
cd "$1" || exit 2

# calls PATTERN: the files outside of the front that call one of these functions
calls() {
    grep -rlE "\\<($1)\\(" src bench --include='*.c' |
        grep -vE '^src/base/(file|input|json)\.c$' | sort
}

# listed MACRO: the files that a table of readers.h names
listed() {
    awk -v table="#define $1(R)" '
        index($0, table) { inside = 1 }
        inside { print }
        inside && !/\\$/ { exit }' src/base/readers.h |
        grep -oE '"(src|bench)/[^" ]*\.c"' | tr -d '"' | sort -u
}

# differ WHAT CALLING LISTED
differ() {
    [ "$2" = "$3" ] && return
    echo "$1:"
    printf '%s\n%s\n' "$2" "$3" | sort | uniq -u
    status=1
}

status=0
text='cla_text_read|cla_scan_file|cla_lines_read|cla_lines_open|cla_lines_each|cla_lines_filled'
text="$text|cla_json_file|cla_json_text|cla_line_check"
bytes='cla_file_read|cla_file_watch|cla_input_read|cla_stdin_read'
front=$(calls "$text")
raw=$(calls "$bytes")
readers=$(listed CLA_READERS)
own='src/runtime/tuning.c' # the core has no Jansson
differ 'readers of text and CLA_READERS of src/base/readers.h differ in' \
    "$(printf '%s\n%s\n' "$front" "$own" | sort -u)" "$readers"
differ 'readers of bytes and CLA_BYTE_READERS of src/base/readers.h differ in' \
    "$raw" "$(listed CLA_BYTE_READERS)"

# No other way to read.
if grep -nE '\<(getline|getdelim|fgets|fgetc|getc|getchar|fread|fscanf|scanf|json_load[a-z]*)\(' \
    -r src bench --include='*.c' | grep -vE '^src/base/json\.c:|^bench/startup\.c:'; then
    echo 'read through base/input.h or base/json.h'
    status=1
fi
if grep -nE '\<fopen\([^;]*"r' -r src bench --include='*.c'; then
    echo 'read through base/input.h or base/json.h'
    status=1
fi
exit $status
