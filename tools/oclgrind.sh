#!/bin/sh
# oclgrind.sh - runs a program under Oclgrind; fails when Oclgrind found anything
# usage: tools/oclgrind.sh PROGRAM ARGUMENT...
#
# Oclgrind exits with status 0 even when it has found faults, so its output decides. Kernels
# are not optimised: its check for uninitialised values does not know the `freeze` that the
# optimiser puts before divisions. Nor are helpers inlined: Oclgrind does not know the marks
# that the compiler leaves where a function had `restrict` arguments or returned a struct.
set -u
log=$(mktemp)
trap 'rm -f "$log"' EXIT
oclgrind --data-races --uninitialized --check-api --build-options "-cl-opt-disable -DINLINE=static" \
    "$@" >"$log" 2>&1
status=$?
if grep -qE 'OCLGRIND|data race|Invalid|[Uu]ninitialized|runtime error' "$log"; then
    status=1
fi
[ "$status" -eq 0 ] || head -n 60 "$log"
exit "$status"
