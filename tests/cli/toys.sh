# toys.sh - small data sets for tests of the command line; read with `.`
# shellcheck shell=bash

# treebank SOURCE_ROOT FOLDER: a small one, the first sentences of the real one.
treebank() {
    mkdir "$2"
    for split in train dev test; do
        awk -v RS= -v ORS='\n\n' 'NR <= 60' \
            "$1/examples/data/fr_spoken/$split.conllu" >"$2/$split.conllu"
    done
}

# toy_text FOLDER: four pairs of lines in two languages, the same for each split.
toy_text() {
    mkdir "$1"
    printf '%s\n' 'the red dog runs.' 'the red cat sleeps.' 'a blue dog sleeps.' \
        'a blue cat runs.' >"$1/train.en"
    printf '%s\n' 'der rote Hund rennt.' 'die rote Katze schläft.' \
        'ein blauer Hund schläft.' 'eine blaue Katze rennt.' >"$1/train.de"
    for split in dev test; do
        cp "$1/train.en" "$1/$split.en"
        cp "$1/train.de" "$1/$split.de"
    done
}

# toy_poems FOLDER: five quatrains for each split. Each stands there twice, so that its
# pairs of characters are words.
toy_poems() {
    local split again
    mkdir "$1"
    for split in train val test; do
        for again in 1 2; do
            printf 'tang\tpoet\ttitle %s\t%s\n' \
                $again '春眠不覺曉|處處聞啼鳥|夜來風雨聲|花落知多少' \
                $again '床前明月光|疑是地上霜|舉頭望明月|低頭思故鄉' \
                $again '白日依山盡|黃河入海流|欲窮千里目|更上一層樓' \
                $again '朝辭白帝彩雲間|千里江陵一日還|兩岸猿聲啼不住|輕舟已過萬重山' \
                $again '月落烏啼霜滿天|江楓漁火對愁眠|姑蘇城外寒山寺|夜半鐘聲到客船'
        done >"$1/$split.tsv"
    done
}

# Sixteen passages with two questions each; the names are two letters of two bytes.
squad_json() {
    local sep='' i who what names=(Än Öd Üm Éa) foods=('red figs' 'ripe plums' 'green peas' rye)
    printf '{"data": [{"title": "t", "paragraphs": ['
    for i in {0..15}; do
        who=${names[i % 4]} what=${foods[(i / 4 + i) % 4]}
        printf '%s{"context": "%s sold %s on day %d.", "qas": [' "$sep" "$who" "$what" "$i"
        printf '{"id": "a%d", "question": "What did %s sell?", ' "$i" "$who"
        printf '"answers": [{"answer_start": 8, "text": "%s"}]}, ' "$what"
        printf '{"id": "b%d", "question": "Who sold %s?", ' "$i" "$what"
        printf '"answers": [{"answer_start": 0, "text": "%s"}]}]}' "$who"
        sep=,
    done
    printf ']}]}\n'
}

# toy_squad FOLDER: these passages as training and development data.
toy_squad() {
    mkdir "$1"
    squad_json >"$1/train.json"
    cp "$1/train.json" "$1/dev.json"
}

# toy_model KIND FOLDER: a model that was trained for some steps. Wants a program `clattn` that
# makes trainings short, examples where it is called and a folder $MODELS for what it has made.
toy_model() {
    local name data=$MODELS/$1.data config
    case $1 in
    tagger) name=tagger-conv2d data=$PWD/examples/data/fr_spoken ;;
    translator) name=nmt-plain ;;
    reader) name=reader-match_lstm ;;
    poet) name=poem-ppg ;;
    *) return 1 ;;
    esac
    if [ ! -d "$MODELS/$1" ]; then
        case $1 in
        translator) toy_text "$data" ;;
        reader) toy_squad "$data" ;;
        poet) toy_poems "$data" ;;
        esac
        config=examples/configs/$name.json
        clattn train "$config" --set "data=$data" --set keep=2 --out "$MODELS/$1" || return 1
    fi
    mkdir -p "$(dirname "$2")"
    cp -r "$MODELS/$1" "$2"
}

# clear_padding FOLDER: zeros for the embedding of <pad> in a copy of tests/data/marian: 64
# bytes, the last of that table.
clear_padding() {
    local weights=$1/model.safetensors header end
    header=$(od -An -tu8 -N 8 "$weights")
    end=$(head -c "$((header + 8))" "$weights" | tail -c +9 |
        sed 's/.*"model.shared.weight":{[^}]*"data_offsets":\[[0-9]*,\([0-9]*\)\].*/\1/')
    dd if=/dev/zero of="$weights" bs=1 seek=$((header + 8 + end - 64)) count=64 conv=notrunc \
        status=none
}
