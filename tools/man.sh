#!/bin/sh
# man.sh - manual pages of the program and of each of its verbs, from their --help
# usage: tools/man.sh CLATTN FOLDER
set -eu
clattn=$(realpath "$1") folder=$2
mkdir -p "$folder"

# page NAME DESCRIPTION COMMAND
page() {
    help2man --no-info --no-discard-stderr --section=1 --source=clattn --manual='User commands' \
        --version-string="$("$clattn" --version)" --name="$2" --output="$folder/$1.1" "$3"
}

page clattn 'train and run attention networks on any OpenCL device' "$clattn"
"$clattn" --help | sed -n '/^Commands:/,$s/^  \([a-z]*\)  *\(.*\)/\1 \2/p' |
    while read -r verb what; do
        printf '#!/bin/sh\nexec "%s" %s "$@"\n' "$clattn" "$verb" >"$folder/run"
        chmod +x "$folder/run"
        page "clattn-$verb" "$what" "$folder/run"
    done
rm -f "$folder/run"
