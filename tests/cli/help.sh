#!/bin/bash
# help.sh - help texts, manual pages and completions, all from the tables of options
# usage: tests/cli/help.sh SOURCE_ROOT CLATTN
set -u
source=$1 clattn=$2
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
failures=0

check() { # check WHAT COMMAND...
    local what=$1
    shift
    if "$@" >"$work/out" 2>&1; then
        echo "ok      $what"
    else
        echo "FAILED  $what"
        sed 's/^/    | /' "$work/out" | head -n 20
        failures=$((failures + 1))
    fi
}

# same COMMAND...: `clattn help COMMAND' and `clattn COMMAND --help' are one text.
same() { "$clattn" help "$@" >"$work/help" && "$clattn" "$@" --help | diff "$work/help" -; }

commands=$("$clattn" --help | sed -n '/^Commands:/,$s/^  \([a-z]*\) .*/\1/p')
check 'commands are listed' test "$(wc -w <<<"$commands")" -ge 18
for command in $commands; do
    check "help $command" same "$command"
    check "help of $command fits 80 columns" \
        awk 'length > 79 && !/^  clattn / { print; bad = 1 } END { exit bad }' <("$clattn" help "$command")
done
check 'help score bleu' same score bleu
check 'help of help' same help
refuses() { ! "$clattn" help trai 2>"$work/err" && grep -q "did you mean 'train'" "$work/err"; }
check 'help of an unknown command' refuses

# ---- manual pages
mkdir "$work/man"
check 'manual pages' "$clattn" help --man-pages "$work/man"
every_page() {
    local command
    for command in $commands; do
        [ -s "$work/man/clattn-$command.1" ] || return 1
    done
    [ -s "$work/man/clattn.1" ] && [ -s "$work/man/clattn-score-bleu.1" ]
}
check 'one for each command' every_page
if command -v mandoc >/dev/null; then
    python3 "$source/tools/config_manual.py" 0 >"$work/man/clattn-config.5"
    check 'mandoc finds no error' mandoc -Tlint -Werror "$work"/man/*
else
    echo 'skipped mandoc: not installed'
fi

# ---- completions
# bash_offers WORD...: what bash offers for the last word.
bash_offers() {
    "$clattn" help --completion bash >"$work/bash"
    # shellcheck disable=SC2016 # for the inner shell
    bash -c '. "$1"; shift; COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); _clattn
        printf "%s\n" "${COMPREPLY[@]}"' _ "$work/bash" "$@"
}
offers() { # offers SHELL WANTED WORD...
    local shell=$1 wanted=$2
    shift 2
    "${shell}_offers" "$@" | grep -qxE -- "$wanted"
}
check 'bash: a command' offers bash translate clattn tr
check 'bash: an option' offers bash --model clattn tag --mo
check 'bash: a device' offers bash nvidia clattn tag --device nv
check 'bash: a verb' offers bash apply clattn bpe ap
check 'bash: an option of a verb' offers bash --baseline clattn score bootstrap --ba
check 'bash: a choice' offers bash intl clattn score bleu --tokenize in

fish_offers() {
    "$clattn" help --completion fish >"$work/fish"
    HOME=$work fish --no-config -c "source $work/fish; complete -C '$*'" | cut -f 1
}
if command -v fish >/dev/null; then
    check 'fish: a command' offers fish translate clattn tr
    check 'fish: an option' offers fish --model clattn tag --mo
    check 'fish: a device' offers fish nvidia clattn tag --device nv
    check 'fish: a verb' offers fish apply clattn bpe ap
    check 'fish: an option of a verb' offers fish --baseline clattn score bootstrap --ba
else
    echo 'skipped fish: not installed'
fi

# zsh completes in a terminal only: its functions are replaced by what prints their arguments.
zsh_offers() {
    "$clattn" help --completion zsh >"$work/zsh"
    # shellcheck disable=SC2016 # for the inner shell
    zsh -f -c 'file=$1; shift; words=("$@"); CURRENT=$#
        _arguments() { print -l -- "$@" }
        _describe() { print -l -- ${(P)2} }
        run() { emulate -L zsh; source "$file" }
        run' _ "$work/zsh" "$@"
}
if command -v zsh >/dev/null; then
    check 'zsh: a command' offers zsh 'translate:.*' clattn tr
    check 'zsh: an option' offers zsh '\*--model=\[.*:DIR:_files -/' clattn tag --mo
    check 'zsh: a device' offers zsh '\*--device=\[.*:DEVICE:\(cpu gpu .*\)' clattn tag --device nv
    check 'zsh: a verb' offers zsh '1:command:\(learn apply undo\)' clattn bpe ap
    check 'zsh: an option of a verb' offers zsh '\*--baseline=.*' clattn score bootstrap --ba
else
    echo 'skipped zsh: not installed'
fi

echo "$failures failed"
[ "$failures" -eq 0 ]
