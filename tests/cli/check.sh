#!/bin/bash
# check.sh - a script that reads lib.sh fails when one of its checks does
# usage: tests/cli/check.sh
lib=$(dirname "$0")/lib.sh
status=0

# ends STATUS TEXT: how a script of lib.sh and TEXT ends.
ends() {
    local got=0
    bash -c ". '$lib'; $2; passed" >/dev/null || got=$?
    [ $got -eq "$1" ] || {
        echo "FAILED  exit $got, must be $1: $2"
        status=1
    }
}
ends 0 'check good true'
ends 1 'check bad false'
ends 1 'check bad false; check good true'
ends 1 'echo text | check bad false'
ends 1 '(check bad false)'
ends 1 'check bad false & wait'
exit $status
