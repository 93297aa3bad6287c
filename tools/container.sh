#!/bin/bash
# container.sh - follows packaging/container/Containerfile without a container engine, and asks
# the service that comes out of it
# usage: tools/container.sh MODEL
#
# MODEL is the folder of a translator. Each stage is a bare Debian 12 in a folder; RUN, COPY,
# ENV, USER, ENTRYPOINT and CMD do what an engine does with them, as far as this file needs it.
# Needs root, mmdebstrap and the network, and most of an hour. What an engine adds, its layers,
# namespaces and networks, stays untested.
cd "$(dirname "$0")/.." || exit 2
# shellcheck source=tools/root.sh
. tools/root.sh
model=$(realpath "$1") || exit 2
place=$(mktemp -d -p "${TMPDIR:-/var/tmp}")
service='' stages=0
trap 'exec 3<&-; [ -z "$service" ] || kill "$service" 2>/dev/null; rm -rf --one-file-system "$place"' EXIT
declare -A named
root='' folder=/ user=0 entry=() variables=()

stop() {
    echo "container.sh: $*"
    exit 1
}

# list JSON: its strings, a line each.
list() { python3 -c 'import json, sys; print(*json.loads(sys.argv[1]), sep="\n")' "$1"; }

# inside COMMAND...: in the root, as its user, with its variables.
inside() {
    inside_root "$root" "$folder" setpriv --reuid="$user" --regid="$user" --clear-groups \
        env "${variables[@]}" "$@"
}

copy() {
    local to=${*: -1} from=("${@:1:$#-1}")
    case $to in /*) ;; *) to=$folder/$to ;; esac
    mkdir -p "$root/$to"
    case ${from[0]} in
    --from=*)
        # shellcheck disable=SC2086 # a pattern of names
        cp ${named[${from[0]#--from=}]}/${from[1]#/} "$root/$to"
        ;;
    .) git ls-files -z | tar --null --files-from=- --create | tar --extract --directory "$root/$to" ;;
    *) stop "COPY ${from[*]}" ;;
    esac
}

# follow WORD REST: one instruction.
follow() {
    local words
    read -ra words <<<"$2"
    echo "-- $1 $2"
    case $1 in
    FROM)
        root=$place/$((++stages)) folder=/ user=0 variables=()
        [ "${words[0]}" = docker.io/library/debian:12-slim ] || stop "FROM $2"
        bare_root "$root" || stop 'no bare Debian'
        [ -z "${words[2]-}" ] || named[${words[2]}]=$root
        ;;
    WORKDIR) folder=$2 && mkdir -p "$root/$2" ;;
    COPY) copy "${words[@]}" || stop "COPY $2" ;;
    RUN) inside sh -c "$2" >"$place/said" 2>&1 || { tail -n 20 "$place/said" && stop "RUN $2"; } ;;
    ENV) variables+=("${words[@]}") ;;
    USER) user=$2 ;;
    EXPOSE) ;;
    ENTRYPOINT | CMD) mapfile -t -O ${#entry[@]} entry < <(list "$2") ;;
    *) stop "unknown instruction $1" ;;
    esac
}

while read -r word rest <&3; do
    case $word in '' | '#'*) continue ;; esac
    follow "$word" "$rest"
done 3< <(sed -e ':a' -e '/\\$/N; s/\\\n *//; ta' packaging/container/Containerfile)

cp -r "$model" "$root/models" && chmod -R a+rX "$root/models"
inside "${entry[@]}" --port 0 >"$place/address" 2>"$place/said" &
service=$!
for _ in $(seq 120); do
    [ ! -s "$place/address" ] || break
    kill -0 "$service" 2>/dev/null || break
    sleep 1
done
port=$(sed -n 's/.*:\([0-9]*\)$/\1/p' "$place/address")
[ -n "$port" ] || { cat "$place/said" && stop 'the service does not start'; }
said=$(curl -sS "http://127.0.0.1:$port/translate" -d '{"q": "the red dog runs."}') || stop 'no answer'
echo "$said"
[[ $said == '{"translatedText":'* ]] || stop 'no translation'
echo 'the container serves'
