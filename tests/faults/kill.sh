#!/bin/bash
# kill.sh - kill -9 at random moments: the same command then ends in the same bits
# usage: tests/faults/kill.sh SOURCE_ROOT CLATTN [KILLS] [LOG]
#
# At least KILLS (default 20) kills, in turn of a training of each of the five kinds of
# model, an export, an average, a tuning and the filling of a kernel cache. A killed command
# is begun again, and may be killed again, until it ends; then its files are compared with
# those of a command left alone. After a quarter of the kills a file is left half written, as
# by a writer that was killed later. CLATTN_SEED chooses the moments. LOG gets a line of JSON
# a command; the kills that it holds already count. JOBS commands run at once (default 2).
# shellcheck source=tests/faults/lib.sh
. "${BASH_SOURCE%/*}/lib.sh"
kills=${3:-20} log=${4:-$work/log}
targets=("${kinds[@]}" export average tune cache)
RANDOM=${CLATTN_SEED:-42}

# begin TARGET FOLDER: one process of the target, from where the last one left off.
begin() {
    case $1 in
    export) run export --model "$work/whole-tagger/run" --out "$2/run" ;;
    average) run average --model "$work/whole-tagger/run" --out "$2/run" ;;
    tune) CLATTN_TUNING=$2/tuning.json run tune --seconds 0.001 ;;
    cache) CLATTN_CACHE_BINARIES=1 CLATTN_CACHE_DIR=$2/cache run verify "$golden" ;;
    *) go_on "$1" "$2/run" ;;
    esac
}

# A process may be killed after its last rename: nothing is left to do then.
complete() { # complete TARGET FOLDER
    case $1 in
    export | average) [ -e "$2/run/config.json" ] ;;
    *) false ;;
    esac
}

# same TARGET FOLDER: whether a command that has ended left what it must.
same() {
    local whole=$work/whole-$1
    case $1 in
    export | average) diff -r -x lock "$whole/run" "$2/run" ;;
    tune)
        # a torn file stays: the folder is not clattn's alone
        find "$2" -type f ! -name '*.tmp' -printf '%P\n' | diff <(echo tuning.json) - &&
            CLATTN_TUNING=$2/tuning.json quiet verify "$golden"
        ;;
    cache) CLATTN_CACHE_BINARIES=1 CLATTN_CACHE_DIR=$2/cache quiet verify "$golden" ;;
    *) same_run "$whole/run" "$2/run" ;;
    esac
}

# quiet ARGUMENT...: the program succeeds and has no message.
quiet() { run "$@" >/dev/null 2>"$work/quiet.$BASHPID" && ! grep '^clattn: ' "$work/quiet.$BASHPID"; }

# A killed process may need a moment to give its lock back.
unlocked() { [ ! -e "$1/run/lock" ] || flock -w 60 "$1/run/lock" true; }

# tear FOLDER: the newest file once more, cut, under the name that a writer gives it first.
tear() {
    local file size
    file=$(find "$1" -type f -size +0 -printf '%T@ %p\n' | sort -n | tail -n 1 | cut -d ' ' -f 2)
    [ -n "$file" ] || return 1
    file=${file%.[0-9]*-[0-9]*.tmp}
    [ -e "$file" ] || return 1
    size=$(stat -c %s "$file")
    head -c $(((RANDOM * 32768 + RANDOM) % size)) "$file" >"$file.$BASHPID-$RANDOM.tmp"
}

# command_with_kills TARGET FOLDER TOOK: processes until one ends; TOOK is microseconds. Sets kills_now,
# torn_now and wrong.
command_with_kills() {
    local moment status
    kills_now=0 torn_now=0 wrong=
    mkdir "$2"
    until complete "$1" "$2"; do
        # later and later, so that a command ends on a machine that has become busy too
        moment=$((1 + (RANDOM * 32768 + RANDOM) % ($3 + $3 * kills_now / 4)))
        limit=$(printf '%d.%06d' $((moment / 1000000)) $((moment % 1000000))) \
            begin "$1" "$2" >"$2.out" 2>"$2.err"
        status=$?
        [ $status -eq 137 ] || break
        kills_now=$((kills_now + 1))
        unlocked "$2"
        [ $((kills_now % 4)) -eq $((RANDOM % 4)) ] && ! complete "$1" "$2" && tear "$2" &&
            torn_now=$((torn_now + 1))
    done
    if [ "${status:-137}" -ne 137 ] && [ "$status" -ne 0 ]; then
        wrong="exit $status: $(grep -am 1 '^clattn: ' "$2.err")"
    elif ! same "$1" "$2" >"$2.diff" 2>&1; then
        wrong="differs: $(head -n 1 "$2.diff")"
    fi
}

# sum KEY: over all lines of the log.
sum() { sed -n "s/.*\"$1\":\([0-9]*\).*/\1/p" "$log" | awk '{ n += $1 } END { print n + 0 }'; }

worker() { # worker K: each JOBS-th target in turn
    local turn=$1 target folder
    RANDOM=$((${CLATTN_SEED:-42} + $1 + $(wc -l <"$log")))
    while [ "$(sum kills)" -lt "$kills" ]; do
        target=${targets[turn % ${#targets[@]}]}
        folder=$work/command-$turn
        command_with_kills "$target" "$folder" "${took[$target]}"
        printf '{"target":"%s","kills":%d,"torn":%d,"wrong":"%s"}\n' \
            "$target" $kills_now $torn_now "$(one_line <<<"$wrong")" >>"$log"
        [ -z "$wrong" ] || echo "FAILED  $target after $kills_now kills: $wrong"
        rm -rf "$folder" "$folder".*
        turn=$((turn + jobs))
    done
}

declare -A took=()
for kind in "${kinds[@]}"; do
    "make_$kind"
done
for target in "${targets[@]}"; do
    [ "$target" = cache ] || mkdir "$work/warm-$target"
    [ "$target" = cache ] || begin "$target" "$work/warm-$target" >/dev/null 2>&1
    mkdir "$work/whole-$target"
    since=$(date +%s%N)
    begin "$target" "$work/whole-$target" >/dev/null 2>&1 || exit 1
    took[$target]=$((($(date +%s%N) - since) / 1000))
done

touch "$log"
jobs=${JOBS:-2}
for ((job = 0; job < jobs; job++)); do
    worker $job &
done
wait
wrong=$(grep -c '"wrong":"[^"]' "$log")
echo "$(sum kills) kills, $(sum torn) with a torn file, $(wc -l <"$log") commands, $wrong wrong," \
    "CLATTN_SEED=${CLATTN_SEED:-42}"
[ "$wrong" -eq 0 ] && [ "$(sum kills)" -ge "$kills" ]
