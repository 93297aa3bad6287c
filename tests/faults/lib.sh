# lib.sh - the smallest models of all five kinds, which the tests of failures share
# shellcheck shell=bash disable=SC2034 # names are used by the readers
# shellcheck source=tests/cli/lib.sh
. "${BASH_SOURCE%/*}/../cli/lib.sh"
source=$1 clattn=$2
configs=$source/examples/configs
kinds=(tagger translator reader poet lm)

# Sizes are those of the other tests of the command line: one kernel cache serves all.
declare -A config=([tagger]=tagger-conv2d [translator]=nmt-plain
    [reader]=reader-match_lstm [poet]=poem-ppg [lm]=lm-small)
declare -A settings=(
    [tagger]='word_dim=24 char_dim=8 layers=2 heads=2 batch=4 epochs=2'
    [translator]='dev=dev test=test dim=16 heads=2 inner=32 layers=1 merges=40 tokens=40
        warmup=20 lr=0.4 dropout=0 steps=4'
    [reader]='word_dim=12 trait_dim=4 hidden=12 min_count=1 batch=4 epochs=2'
    [poet]='hidden=32 depth=2 word_count=2 word_ratio=1 vector_epochs=1 batch=24
        steps=4'
    [lm]='train=train.txt hold_out=0 dim=16 heads=2 layers=1 context=8 batch=4 warmup=1
        steps=4')

# run ARGUMENT...: the program, killed after $limit seconds (then its status is 137).
run() { timeout -s KILL "${limit:-3000}" "${program:-$clattn}" "$@"; }

# The smallest golden file.
golden=$(find "$source/tests/data/golden/masked_softmax" -name '*.safetensors' \
    -printf '%s %p\n' | sort -n | head -n 1 | cut -d ' ' -f 2)

# train KIND FOLDER OPTION...: four steps, two evaluations, a state after each step.
train() {
    local kind=$1 folder=$2 set=()
    shift 2
    for setting in ${settings[$kind]} patience=0 save_every=1 eval_every=2 keep=2 "data=$work/$kind"; do
        set+=(--set "$setting")
    done
    run train "$configs/${config[$kind]}.json" --quiet "${set[@]}" \
        --out "$folder" "$@"
}

# go_on KIND FOLDER: what a user does after a run that failed.
go_on() {
    if [ -e "$2/config.json" ]; then train "$1" "$2" --resume; else train "$1" "$2"; fi
}

# use KIND FOLDER: one request to a model; the answer on stdout.
use() {
    case $1 in
    tagger) echo 'il ne vient pas' | run tag --model "$2" ;;
    translator) echo 'the red dog runs.' | CLATTN_LOG=error run translate --model "$2" ;;
    reader)
        echo '{"passage": "Tom sold rye on day 3.", "question": "Who sold rye?"}' |
            run answer --model "$2" --json
        ;;
    poet) run compose --model "$2" --chars 5 --beam 2 '明月' ;;
    lm) run generate --model "$2" --pieces 8 'Tom' ;;
    esac
}

# timeless LOG: its lines without the speed and the time of day.
timeless() { sed 's/,"units_per_s":[^,}]*//; s/,"time":"[^"]*"//' "$1"; }

# same_run FOLDER FOLDER: equal files; of the log all but the times.
same_run() {
    diff -r -x log.jsonl -x lock "$1" "$2" &&
        diff <(timeless "$1/log.jsonl") <(timeless "$2/log.jsonl")
}

# one_line: text from stdin as a string of JSON.
one_line() { tr '\n' ' ' | sed 's/["\]//g; s/ *$//'; }

# no_scraps FOLDER: no temporary file of an interrupted write.
no_scraps() { [ -z "$(find "$1" -name '*.tmp')" ]; }

# ---- data ------------------------------------------------------------------------

make_tagger() {
    mkdir "$work/tagger"
    awk -v RS= -v ORS='\n\n' 'NR <= 8' "$source/examples/data/fr_spoken/train.conllu" \
        >"$work/tagger/train.conllu"
    for split in dev test; do
        cp "$work/tagger/train.conllu" "$work/tagger/$split.conllu"
    done
}

make_translator() { toy_text "$work/translator"; }

make_reader() {
    local day who names=(Tom Ann Kim Bob)
    mkdir "$work/reader"
    for day in 0 1 2 3; do
        who=${names[day]}
        printf '%s{"context": "%s sold rye on day %d.", "qas": [' "${comma-}" "$who" "$day"
        printf '{"id": "a%d", "question": "What did %s sell?", ' "$day" "$who"
        printf '"answers": [{"answer_start": 9, "text": "rye"}]}, '
        printf '{"id": "b%d", "question": "Who sold rye?", ' "$day"
        printf '"answers": [{"answer_start": 0, "text": "%s"}]}]}' "$who"
        local comma=,
    done | sed 's/^/{"data": [{"title": "t", "paragraphs": [/; s/$/]}]}/' \
        >"$work/reader/train.json"
    cp "$work/reader/train.json" "$work/reader/dev.json"
}

make_lm() {
    mkdir "$work/lm"
    for split in train dev test; do
        printf 'Tom sold rye.\nAnn sold rye.\nTom sold tea.\n' >"$work/lm/$split.txt"
    done
}

make_poet() {
    mkdir "$work/poet"
    for split in train val test; do
        for again in 1 2; do
            printf 'tang\tpoet\ttitle %s\t%s\n' \
                $again '春眠不覺曉|處處聞啼鳥|夜來風雨聲|花落知多少' \
                $again '床前明月光|疑是地上霜|舉頭望明月|低頭思故鄉' \
                $again '白日依山盡|黃河入海流|欲窮千里目|更上一層樓'
        done >"$work/poet/$split.tsv"
    done
}
