#!/bin/bash
# mpi.sh - one of two processes is killed, stops for a while, computes NaN or fails
# usage: tests/faults/mpi.sh SOURCE_ROOT CLATTN CLATTN_FAULTS [ROUNDS] [LOG]
#
# Each of ROUNDS rounds (default 1) does all four once, to a process and at a moment that
# CLATTN_SEED chooses. Both processes have to end, the failure has one line, and the run goes
# on to the bits of one that was left alone. LOG gets a line of JSON a fault; the rounds that
# it holds are not run again.
# shellcheck source=tests/faults/lib.sh
. "${BASH_SOURCE%/*}/lib.sh"
faulty=$3 rounds=${4:-1} log=${5:-$work/log}
command -v mpirun >/dev/null || { echo 'not run: no mpirun here'; exit 77; }
export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1
settings[tagger]+=' epochs=10'

# run ARGUMENT...: two processes, their ids in $ids.0 and $ids.1, $fault in that of rank $rank.
run() {
    # shellcheck disable=SC2016 # the inner shell expands
    timeout -s KILL "${limit:-60}" mpirun --oversubscribe -n 2 bash -c \
        'echo $$ >"$0.$OMPI_COMM_WORLD_RANK"
         [ "$OMPI_COMM_WORLD_RANK" != "$1" ] || export CLATTN_FAULT=$2
         shift 2; exec "$@"' \
        "$ids" "${rank:-0}" "${fault:-}" "${program:-$clattn}" "$@"
}

ended() { # ended: no process of the run is left
    local end=$((SECONDS + 20)) process
    for process in $(<"$ids.0") $(<"$ids.1"); do
        while kill -0 "$process" 2>/dev/null; do
            [ $SECONDS -lt $end ] || { kill -KILL "$process"; return 1; }
            sleep 0.05
        done
    done
}

random() { echo $(((RANDOM * 32768 + RANDOM) % $1)); }

# wait_for_step MILLISECONDS: until the run has begun and so long more (three digits); fails
# where it ended before.
wait_for_step() {
    until [ -s "$ids.0" ] && [ -s "$ids.1" ] && [ -e "$folder/log.jsonl" ]; do
        kill -0 "$mpirun" 2>/dev/null || return 1
        sleep 0.01
    done
    sleep "0.$1"
}

# What happens to a run in $folder: sets status.
disturb() { # disturb KIND
    case $1 in
    nan)
        fault=nan_read:$((1 + $(random "$reads"))) program=$faulty \
            train tagger "$folder" 2>"$folder.err"
        status=$?
        return
        ;;
    fails)
        fault=cl:$((1 + $(random "$calls"))) program=$faulty \
            train tagger "$folder" 2>"$folder.err"
        status=$?
        return
        ;;
    esac
    local moment # drawn in any case: what is drawn later does not depend on time
    moment=$(printf %03d "$(random 300)")
    train tagger "$folder" 2>"$folder.err" &
    mpirun=$!
    if wait_for_step "$moment"; then
        if [ "$1" = killed ]; then
            kill -KILL "$(cat "$ids.$rank")"
        else
            kill -STOP "$(cat "$ids.$rank")" && sleep 2
            kill -CONT "$(cat "$ids.$rank")"
        fi
    else
        wrong='ended before it was disturbed;'
    fi 2>/dev/null
    wait $mpirun
    status=$?
}

# one ROUND KIND: a fault; a line of the log.
one() {
    local folder=$work/run-$1-$2 ids=$work/ids-$1-$2 rank status said wrong=
    local since=$SECONDS
    rank=$(random 2)
    [ "$2" != nan ] || rank=1 # the leader's reads are also those of its files
    disturb "$2"
    said=$(grep -av '^clattn: \(warning\|info\): ' "$folder.err" | grep -ac '^clattn: ')
    [ $((SECONDS - since)) -lt "${limit:-60}" ] || wrong='hangs;'
    case $2-$status in
    slow-0 | nan-7 | fails-4 | fails-5) ;;
    fails-0) # a device that one of several lists lacked, and a warning says it
        grep -aq '^clattn: warning: .* is not used' "$folder.err" ||
            wrong="$wrong exit 0;"
        ;;
    killed-*) [ "$status" -ne 0 ] || wrong="$wrong ended well;" ;;
    *) wrong="$wrong exit $status;" ;;
    esac
    ended || wrong="$wrong a process is left;"
    case $2 in
    slow) [ "$said" -eq 0 ] ;;
    nan | fails) [ "$said" -eq $((status != 0)) ] ;;
    killed) [ "$said" -le 1 ] ;;
    esac || wrong="$wrong $said lines of error;"
    if ! go_on tagger "$folder" 2>"$folder.after"; then
        wrong="$wrong afterwards: $(grep -am 1 '^clattn: ' "$folder.after");"
    elif ! same_run "$work/whole" "$folder" >"$folder.diff" 2>&1; then
        wrong="$wrong afterwards differs: $(head -n 1 "$folder.diff");"
    fi
    printf '{"round":%d,"fault":"%s","rank":%d,"exit":%d,"wrong":"%s"}\n' \
        "$1" "$2" "$rank" "$status" "$(one_line <<<"$wrong")" >>"$log"
    [ -z "$wrong" ] && return
    echo "FAILED  round $1, rank $rank is $2: $wrong"
    sed 's/^/    | /' "$folder.err"
}

make_tagger
ids=$work/ids
train tagger "$work/whole" 2>"$work/err" || {
    grep -q 'built without MPI' "$work/err" && echo 'not run: built without MPI' && exit 77
    cat "$work/err"
    exit 1
}
touch "$log"
reads=40 calls=8000 # fewer than a process makes
for ((round = $(wc -l <"$log") / 4 + 1; round <= rounds; round++)); do
    RANDOM=$((${CLATTN_SEED:-42} + round))
    for kind in killed slow nan fails; do
        one $round $kind
        rm -rf "$work/run-$round-$kind"*
    done
done
wrong=$(grep -c '"wrong":"[^"]' "$log")
echo "$(wc -l <"$log") faults, $wrong with a finding, CLATTN_SEED=${CLATTN_SEED:-42}"
[ "$wrong" -eq 0 ]
