#!/bin/sh
# lint.sh - one static check over the whole tree; exit 77 where its program is missing
# usage: tools/lint.sh format|tidy|cppcheck|lengths|spelling|shell SOURCE_ROOT BUILD_ROOT
check=$1 build=$3
cd "$2" || exit 2

# have PROGRAM: else the check is skipped.
have() {
    command -v "$1" >/dev/null || {
        echo "no $1 here"
        exit 77
    }
}

# sources DIRECTORY...: all C, header and kernel files below.
sources() {
    find "$@" -name '*.c' -o -name '*.h' -o -name '*.cl' -o -name '*.clh' | sort
}

case $check in
format)
    have clang-format
    # shellcheck disable=SC2046 # file names without spaces
    clang-format --dry-run -Werror \
        $(sources src include cl bench tests examples tools)
    ;;
tidy)
    have clang-tidy
    # shellcheck disable=SC2046 # file names without spaces
    find src -name '*.c' -print0 |
        xargs -0 -n 1 -P "$(nproc)" clang-tidy -p "$build" --quiet 2>/dev/null
    ;;
cppcheck)
    have cppcheck
    cppcheck -q -j "$(nproc)" --enable=warning,style,performance,portability --std=c11 \
        --inline-suppr --suppress=missingIncludeSystem --suppress=unusedStructMember --error-exitcode=1 \
        -Iinclude -Isrc src bench
    ;;
lengths)
    # Files of at most 400 lines of at most 88 columns.
    # shellcheck disable=SC2046 # file names without spaces
    awk '
        length($0) > 88 { printf "%s:%d: %d columns\n", FILENAME, FNR, length($0); bad = 1 }
        FNR == 401 { printf "%s: more than 400 lines\n", FILENAME; bad = 1 }
        END { exit bad }' $(sources src include cl bench tests examples tools)
    ;;
spelling)
    have codespell
    codespell --quiet-level 3 --skip '*.conllu,*.safetensors,*.json,./tests/data/oracles,./build*,./.git' \
        --ignore-words-list 'fo,te,ot,nd,ans,verfy,rouge,ist' .
    ;;
shell)
    have shellcheck
    # shellcheck disable=SC2046 # file names without spaces
    shellcheck -x .ci/run $(find tools tests bench -name '*.sh')
    ;;
*)
    echo "lint.sh: unknown check '$check'" >&2
    exit 2
    ;;
esac
