#!/bin/sh
# hardening.sh - the built program and library carry the protections that meson.build asks for
# usage: tests/hardening.sh FORTIFIED FILE... (FORTIFIED: yes when the build optimises)
set -eu
fortified=$1
shift
command -v readelf >/dev/null || exit 77
case $(uname -s) in Linux) ;; *) exit 77 ;; esac
failures=0

# must WHAT FILE COMMAND...: counts a failure when the command fails.
must() {
    what=$1 file=$2
    shift 2
    if "$@" >/dev/null; then
        echo "ok      $file: $what"
    else
        echo "FAILED  $file: $what"
        failures=$((failures + 1))
    fi
}

has_segment() { readelf -lW "$1" | grep -q "$2"; }
has_dynamic() { readelf -dW "$1" | grep -Eq "$2"; }
imports() { readelf -W --dyn-syms "$1" | grep -Eq "UND $2(@|\$)"; }
has_plain_stack() { readelf -lW "$1" | grep 'GNU_STACK' | grep -q ' RW  '; }
is_position_independent() { readelf -hW "$1" | grep -q 'Type:.*DYN'; }

for file; do
    must 'position independent' "$file" is_position_independent "$file"
    must 'relocations are read-only' "$file" has_segment "$file" 'GNU_RELRO'
    must 'symbols are bound at start' "$file" has_dynamic "$file" 'BIND_NOW|FLAGS_1.*NOW'
    must 'the stack holds no code' "$file" has_plain_stack "$file"
    must 'the stack has canaries' "$file" imports "$file" '__stack_chk_fail'
    [ "$fortified" != yes ] ||
        must 'calls of the C library are fortified' "$file" imports "$file" '__v?snprintf_chk'
done
[ $failures -eq 0 ]
