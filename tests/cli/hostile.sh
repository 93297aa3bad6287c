#!/bin/bash
# hostile.sh - wrong and hostile command lines: exit status and the line on stderr
# usage: tests/cli/hostile.sh SOURCE_ROOT CLATTN [--write]
#
# A row of hostile.table is STATUS | MESSAGE | COMMAND. The command runs in a folder with the
# files made below, without standard input; "-" is no message, and one that ends in "..." is a
# beginning. With --write the rows are printed with what the program says now: read them all.
# shellcheck source=tests/cli/lib.sh
. "${BASH_SOURCE%/*}/lib.sh"
table=$(realpath "$1")/tests/cli/hostile.table
program=$(realpath "$2")
mode=${3-}
export LC_ALL=C
unset CLATTN_DEVICE CLATTN_LOG CLATTN_SCHEDULE
clattn() { timeout 60 "$program" "$@"; }

cd "$work" || exit 1
mkdir folder broken unknown pipe data
: >empty
: >locked
chmod 000 locked
printf 'a b c\nx y z\n' >text
printf 'a b c\n' >text2
printf 'a b c\n\xe9\n' >latin1
printf 'a\0b\n' >nul
printf '#version: 0.2\na b\n' >codes
printf '#version: 0.2\na b\nc\n' >torn
printf '[1, 2]\n' >list.json
printf '{}\n' >object.json
printf '{"lr": 1,\n"lr": 2}\n' >twice.json
printf '{\n  "model": "tagger",\n  "data": "data"\n}\n' >config.json
printf '{\n  "model": "tagger",\n  "data": "data",\n  "dropuot": 0.1\n}\n' >typo.json
printf '{\n  "model": "tagger",\n  "data": "data",\n  "dropout":\n  1.5\n}\n' >range.json
printf '{"model": "tagger"' >broken/config.json
printf '{"model": "painter"}' >unknown/config.json
mkfifo fifo pipe/config.json
for split in train dev test; do
    printf '1\ta\t_\tX\t_\t_\t_\t_\t_\t_\n\n' >data/$split.conllu
done
# shellcheck disable=SC2034 # in the table
long=$(head -c 5000 /dev/zero | tr '\0' x)

# The one line that the program says, without its name; "?" stands for a byte that is not ASCII.
said() {
    local text
    text=$(LC_ALL=C tr '\200-\377' '?' <err)
    text=${text#clattn: }
    printf '%s' "${text:--}"
}

matches() { # matches SAID MESSAGE
    case $2 in
    *...) [[ $1 == "${2%...}"* && $1 != *$'\n'* ]] ;;
    *) [ "$1" = "$2" ] ;;
    esac
}

rows=0 failures=0
while IFS= read -r row; do
    case $row in
    '' | '#'*)
        [ "$mode" != --write ] || printf '%s\n' "$row"
        continue
        ;;
    *' locked'*) [ "$(id -u)" -ne 0 ] || continue ;; # root reads every file
    esac
    want=${row%% | *} rest=${row#* | }
    message=${rest%% | *} command=${rest#* | }
    rm -rf run
    (eval "$command") >out 2>err </dev/null
    got=$?
    text=$(said)
    rows=$((rows + 1))
    if [ "$mode" = --write ]; then
        printf '%s | %s | %s\n' "$got" "$text" "$command"
    elif [ "$got" -ne "$want" ] || ! matches "$text" "$message"; then
        printf 'FAILED  %s\n    exit %s, must be %s\n    says: %s\n    must: %s\n' \
            "$command" "$got" "$want" "$text" "$message"
        failures=$((failures + 1))
    fi
done <"$table"
[ "$mode" = --write ] || echo "$rows command lines, $failures not as they must be"
[ "$rows" -ge 100 ] && [ "$failures" -eq 0 ]
