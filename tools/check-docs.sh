#!/bin/bash
# check-docs.sh - runs the commands of the pages and compares their output
# usage: tools/check-docs.sh [--all] SOURCE_ROOT CLATTN [PAGE...]
#
# Pages: README.md, docs/*.md, reproduction/README.md and reproduction/pages/*.md.
# A block marked `sh` holds commands. A block marked `console` holds commands after "$ " and
# what they print; a line "..." stands for any lines. Each page runs in a scratch folder with
# links to examples, tests and cl of the source and a folder build with the program.
# Comments of one line above a block say how it runs:
#   <!-- not run: needs A, B; NOTE --> it is skipped, by name; with --all, it runs if
#                                      the machine has all that it needs (needs_*, below)
#   <!-- first: COMMAND -->            runs before the block; may use tests/cli/toys.sh
#   <!-- exits with N -->              the last command does, the others with 0
#   <!-- output varies -->             what is printed is an example and is not compared
#   <!-- part of FILE -->              the page's blocks with this are the file, in order
# A block of another kind must not hold commands. tests/python runs docs/python.md.
# Every training is cut to ten steps of a small network.
every=
[ "${1-}" != --all ] || { every=yes && shift; }
# shellcheck source=tests/cli/lib.sh
. "$1/tests/cli/lib.sh"
source=$(realpath "$1") clattn=$(realpath "$2")
shift 2
cd "$source" || exit 2
[ $# -gt 0 ] || set -- README.md docs/*.md reproduction/README.md reproduction/pages/*.md
export SOURCE=$source
export MODELS=$work/models
mkdir -p "$MODELS"
# The copy rate is measured in an eighth of the memory: with less of it bench starts sooner.
export POCL_MEMORY_LIMIT=1 # GB
# Processes of MPI, as root and on few processors.
export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1
export OMPI_MCA_rmaps_base_oversubscribe=1
ran=0 compared=0 skipped=0

# The program with trainings made short: small networks, few steps.
cat >"$work/short" <<SHORT
#!/bin/bash
[ "\${1-}" = train ] || exec '$clattn' "\$@"
case "\$*" in
*tagger-*) short='layers=2 heads=2 word_dim=24 char_dim=8' ;;
*nmt*) short='dev=dev test=test dim=16 heads=2 inner=32 layers=1 merges=40 tokens=100 warmup=2' ;;
*reader-*) short='word_dim=12 trait_dim=4 hidden=12 min_count=1 batch=8' ;;
*poem-*) short='hidden=32 depth=2 word_count=2 word_ratio=1 vector_epochs=1 batch=24' ;;
*) short= ;;
esac
options=(--set steps=10 --set eval_every=2 --set log_every=1)
for pair in \$short; do options+=(--set "\$pair"); done
exec '$clattn' "\$@" "\${options[@]}" --quiet
SHORT
chmod +x "$work/short"

# ---- what a block needs ----
#
# needs_NAME [WORD...]: succeeds if the machine has what a page calls NAME; else $lack says
# what it lacks. The names are the pages' own; any other name is a fault of the page.

has() { command -v "$1" >/dev/null || { lack="$1 is not installed" && return 1; }; }
needs_minutes() { :; }
needs_Oclgrind() { has oclgrind; }
needs_MPI() { has mpirun; }
needs_Homebrew() { has brew; }
needs_conda-build() { has conda-build; }

needs_PyTorch() {
    python3 -c 'import torch' 2>/dev/null || { lack='python3 has no module torch' && return 1; }
}

# Asked once: pip tells whether an index of packages can be reached.
needs_network() {
    lack='pip reaches no index'
    [ -e "$work/network" ] || python3 -m pip download --quiet --no-deps --no-cache-dir \
        --dest "$work/network" meson >"$work/said" 2>&1 || mkdir -p "$work/network"
    [ -n "$(ls "$work/network")" ]
}

needs_GPU() {
    "$clattn" devices --json 2>/dev/null | grep -q '"type":"gpu"' ||
        { lack='OpenCL has no GPU here' && return 1; }
}

# Packages and files of the system change: only where that was allowed.
needs_root() {
    lack='only as root, with CLATTN_MAY_CHANGE=yes where a machine may be changed'
    [ "$(id -u)" -eq 0 ] && [ "${CLATTN_MAY_CHANGE-}" = yes ]
}

# data NAME: a folder that is not shipped.
needs_data() {
    lack="there is no data/$1"
    [ -d "$source/data/$1" ]
}

# An answer of a service that was started before, by hand.
needs_service() {
    lack='no service answers at 127.0.0.1:5000'
    curl -sf http://127.0.0.1:5000/health >/dev/null
}

# What only a reader can do: a program that does not end, a command of one's own.
needs_you() { lack='only a reader can' && return 1; }

# lacks NEEDS: prints what the machine lacks of "needs A, B; NOTE", nothing if it has all.
lacks() {
    local need words text=${1%%;*} lack
    [[ $text == 'needs '* ]] || { echo "no list 'needs A, B': $1" && return; }
    IFS=, read -ra need <<<"${text#needs }"
    for text in "${need[@]}"; do
        read -ra words <<<"$text"
        lack="there is no check of '${words[*]}'"
        declare -F "needs_${words[0]}" >/dev/null || { echo "$lack" && continue; }
        [ -n "$every" ] || continue
        "needs_${words[0]}" "${words[@]:1}" || echo "$lack"
    done
}

# What a scratch folder has of the source. Blocks that run with --all alone need more.
entries() {
    echo examples tests cl docs reproduction README.md
    [ ! -d "$source/data" ] || [ -z "$every" ] || echo data
    [ -z "$every" ] || (cd "$source" && ls -d bench include meson* packaging pyproject.toml \
        python src tools)
}

# scratch FOLDER: where the commands of a page run.
scratch() {
    local entry
    mkdir -p "$1/build"
    for entry in $(entries); do ln -s "$source/$entry" "$1/$entry"; done
    for entry in "$(dirname "$clattn")"/*; do
        [ "$entry" = "$clattn" ] || ln -s "$entry" "$1/build/"
    done
    cp "$work/short" "$1/build/clattn"
}

# fail LINE TEXT: names the page and the line.
fail() {
    echo "FAILED  $page:$1: $2"
    echo "$page:$1" >>"$work/failed"
}

# execute COMMAND: in the page's folder; what it prints is in $work/said.
execute() {
    (cd "$folder" && PATH=$folder/build:$PATH bash -c "$1" </dev/null >"$work/said" 2>&1)
}

# matches FILE EXPECTED: the file has these lines, but for those that "..." stands for.
matches() {
    local actual line pattern=
    actual=$'\n'$(cat "$1")
    while IFS= read -r line; do
        if [ "$line" = ... ]; then
            pattern+='*'
        else
            pattern+=$'\n'$line
        fi
    done < <(printf '%s\n' "$2" | sed 's/[][\\*?()!+@|]/\\&/g')
    # shellcheck disable=SC2053 # a pattern on purpose
    [[ $actual == $pattern ]]
}

# try LINE COMMAND STATUS EXPECTED: one command of a page.
try() {
    execute "$2"
    local got=$?
    ran=$((ran + 1))
    if [ $got -ne "$3" ]; then
        fail "$1" "exits with $got, not $3: $2"
        tail -n 5 "$work/said" | sed 's/^/    | /'
    elif [ -n "$4" ] && [ -z "$varies" ]; then
        compared=$((compared + 1))
        if ! matches "$work/said" "$4"; then
            fail "$1" "prints something else: $2"
            diff <(echo "$4") "$work/said" | head -n 12 | sed 's/^/    | /'
        fi
    fi
}

# run_block: the commands that were gathered in command[], at[] and output[].
run_block() {
    local i last=$((${#command[@]} - 1)) status lack
    lack=$([ -z "$reason" ] || lacks "$reason")
    [[ $lack != *'there is no check'* && $lack != 'no list'* ]] || fail "${at[0]}" "$lack"
    if [ -n "$reason" ] && { [ -z "$every" ] || [ -n "$lack" ]; }; then
        [ -z "$lack" ] || reason+=": ${lack//$'\n'/; }"
        for i in "${!command[@]}"; do
            echo "not run: $page:${at[i]}: ${command[i]} ($reason)"
            skipped=$((skipped + 1))
        done
        return
    fi
    for i in "${!first[@]}"; do
        execute ". '$source/tests/cli/toys.sh' && ${first[i]}" ||
            fail "${at[0]}" "what comes before it: ${first[i]}"
    done
    for i in "${!command[@]}"; do
        status=0
        [ "$i" -ne $last ] || status=$wanted
        try "${at[i]}" "${command[i]}" "$status" "${output[i]}"
    done
}

# A line of a block of commands. The last command may go on in this line.
take_line() {
    local text=$1
    local -i last=${#command[@]}-1
    if [ -n "$continues" ]; then
        command[last]="${command[last]%\\} ${text##+( )}"
    elif [ "$kind" = sh ] || [[ $text == '$ '* ]]; then
        [ -n "$text" ] || return
        command+=("${text#\$ }") at+=("$number") output+=('')
    else
        output[last]+="${output[last]:+$'\n'}$text"
        return
    fi
    continues=
    [[ $text != *\\ ]] || continues=yes
}

# What a comment above a block asks for.
take_comment() {
    local text=${1#<!-- }
    text=${text% -->}
    case $text in
    'not run: '*) reason=${text#not run: } ;;
    'first: '*) first+=("${text#first: }") ;;
    'exits with '*) wanted=${text#exits with } ;;
    'output varies') varies=yes ;;
    'part of '*) part=${text#part of } ;;
    esac
}

forget() {
    reason='' first=() wanted=0 varies='' command=() at=() output=() continues='' part=''
}

# compare_program FILE: the page's parts of it, in "$folder.program", are all of it.
compare_program() {
    compared=$((compared + 1))
    diff <(grep . "$folder.program") <(grep . "$source/$1") >"$work/said" && return
    fail $number "does not show $1, whole and in order:"
    head -n 12 "$work/said" | sed 's/^/    | /'
}

# check_page PAGE: all its blocks, in order.
check_page() {
    local line kind='' number=0 inside='' program=''
    page=$1 folder=$work/scratch/${1%.md}
    scratch "$folder"
    forget
    while IFS= read -r line; do
        number=$((number + 1))
        case $inside$line in
        '```'*) inside=+ kind=${line#\`\`\`} ;;
        '+```')
            [ ${#command[@]} -eq 0 ] || run_block
            inside=
            forget
            ;;
        +*)
            if [ -n "$part" ]; then
                program=$part
                printf '%s\n' "$line" >>"$folder.program"
            elif [ "$kind" = sh ] || [ "$kind" = console ]; then
                take_line "$line"
            elif [[ $line == '$ '* || $line == 'clattn '* ]]; then
                fail $number "is a command in a block that is neither sh nor console: $line"
            fi
            ;;
        '<!-- '*) take_comment "$line" ;;
        ?*) forget ;; # text: the comments above it belong to no block
        esac
    done <"$page"
    [ -z "$program" ] || compare_program "$program"
}

shopt -s extglob
for page; do check_page "$page"; done
echo "$ran commands run, $compared outputs compared, $skipped not run"
passed && [ "$ran" -gt 0 ]
