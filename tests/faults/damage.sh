#!/bin/bash
# damage.sh - one bit flipped in a file of a model folder, or the file cut: nothing is silent
# usage: tests/faults/damage.sh SOURCE_ROOT CLATTN [DAMAGES] [LOG]
#
# DAMAGES damages (default 140), in turn of the files of a run and of an exported model, for
# all five kinds of model; each is followed by a command that reads the file. The command has
# to refuse it with status 3 or 6 and one line. Only a damaged log or config may pass, with
# the results of an undamaged one. CLATTN_SEED chooses the bits. LOG gets a line of JSON a
# damage; those that it holds count. JOBS damages are tried at once (default 2).
# shellcheck source=tests/faults/lib.sh
. "${BASH_SOURCE%/*}/lib.sh"
damages=${3:-140} log=${4:-$work/log}
RANDOM=${CLATTN_SEED:-42}

# read_by COMMAND KIND FOLDER OUT: a command that reads the folder; what it writes goes to OUT.
read_by() {
    case $1 in
    use) use "$2" "$3" ;;
    resume) train "$2" "$3" --resume ;;
    export) run export --model "$3" --out "$4" ;;
    average) run average --model "$3" --out "$4" ;;
    esac
}

# plan: "SUBJECT COMMAND KIND FILE" for each file and each command that reads it.
plan() {
    local kind file
    for kind in "${kinds[@]}"; do
        for file in $(cd "$work/run-$kind" && find . -type f -size +0 -printf '%P\n' | sort); do
            case $file in
            best.*) commands='use export' ;;
            last.* | log.jsonl) commands=resume ;;
            kept-*) commands=average ;;
            *) commands='use resume export average' ;;
            esac
            for command in $commands; do
                echo "run $command $kind $file"
            done
        done
        for file in $(cd "$work/exported-$kind" && find . -type f -size +0 -printf '%P\n' | sort); do
            echo "exported use $kind $file"
        done
    done
}

random() { echo $(((RANDOM * 32768 + RANDOM) % $1)); }

# flip FILE BIT
flip() {
    local at=$(($2 / 8)) byte
    byte=$(od -An -tu1 -j $at -N 1 "$1")
    # shellcheck disable=SC2059 # the format is the byte
    printf "\\$(printf %03o $((byte ^ (1 << ($2 % 8)))))" |
        dd of="$1" bs=1 seek=$at conv=notrunc status=none
}

# passes SUBJECT COMMAND KIND FILE FOLDER: whether the results are those without damage.
passes() {
    local whole=$work/after-$1-$2-$3
    case $4 in
    log.jsonl | config.json) ;;
    *) return 1 ;;
    esac
    diff "$whole.out" "$5/out" && diff -r -x lock -x "$4" "$whole/model" "$5/model" &&
        { [ ! -e "$whole/new" ] || diff -r -x lock "$whole/new" "$5/new"; }
}

# one SUBJECT COMMAND KIND FILE TURN: a damage, a command, a line of the log.
one() {
    local folder=$work/case-$BASHPID what status size said wrong=
    rm -rf "$folder"
    mkdir "$folder"
    cp -r "$work/$1-$3" "$folder/model"
    size=$(stat -c %s "$folder/model/$4")
    if [ $(($5 % 4)) -eq 0 ]; then
        what="cut $(random "$size")"
        truncate -s "${what#* }" "$folder/model/$4"
    else
        what="bit $(random $((size * 8)))"
        flip "$folder/model/$4" "${what#* }"
    fi
    limit=60 read_by "$2" "$3" "$folder/model" "$folder/new" >"$folder/out" 2>"$folder/err"
    status=$?
    said=$(grep -av '^clattn: \(warning\|info\): ' "$folder/err" | grep -ac '^clattn: ')
    case $status in
    3 | 6) [ "$said" -eq 1 ] || wrong="$said lines of error" ;;
    0) passes "$1" "$2" "$3" "$4" "$folder" >"$folder/diff" 2>&1 || wrong=silent ;;
    2) # a setting that differs from those that the run is resumed with
        [ "$2 $4" = 'resume config.json' ] && [ "$said" -eq 1 ] || wrong="exit $status"
        ;;
    *) wrong="exit $status" ;;
    esac
    printf '{"subject":"%s","command":"%s","kind":"%s","file":"%s","damage":"%s","exit":%d,"wrong":"%s"}\n' \
        "$1" "$2" "$3" "$4" "$what" $status "$wrong" >>"$log"
    [ -z "$wrong" ] || echo "FAILED  $3 $1/$4, $what, $2: $wrong $(head -n 1 "$folder/err")"
    rm -rf "$folder"
}

worker() { # worker K: each JOBS-th damage that the log does not hold
    local turn=$(($(wc -l <"$work/known") + $1)) rows
    mapfile -t rows <"$work/plan"
    RANDOM=$((${CLATTN_SEED:-42} + turn))
    for (( ; turn < damages; turn += jobs)); do
        # shellcheck disable=SC2086 # four words
        one ${rows[turn % ${#rows[@]}]} $((turn + turn / ${#rows[@]}))
    done
}

for kind in "${kinds[@]}"; do
    "make_$kind"
    train "$kind" "$work/run-$kind" &&
        run export --model "$work/run-$kind" --out "$work/exported-$kind" 2>/dev/null || exit 1
done
plan | shuf --random-source=<(yes "${CLATTN_SEED:-42}") >"$work/plan"
while read -r subject command kind _; do
    whole=$work/after-$subject-$command-$kind
    [ ! -e "$whole" ] || continue
    mkdir "$whole"
    cp -r "$work/$subject-$kind" "$whole/model"
    read_by "$command" "$kind" "$whole/model" "$whole/new" >"$whole.out" 2>/dev/null || exit 1
done <"$work/plan"

touch "$log"
cp "$log" "$work/known"
jobs=${JOBS:-2}
for ((job = 0; job < jobs; job++)); do
    worker $job &
done
wait
wrong=$(grep -c '"wrong":"[^"]' "$log")
echo "$(wc -l <"$log") damages, $(grep -c '"exit":[36],' "$log") refused, $wrong wrong," \
    "CLATTN_SEED=${CLATTN_SEED:-42}"
[ "$wrong" -eq 0 ] && [ "$(wc -l <"$log")" -ge "$damages" ]
