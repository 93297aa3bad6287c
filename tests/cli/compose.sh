#!/bin/bash
# compose.sh - a tiny poem generator from the command line: trained, scored, used
# usage: tests/cli/compose.sh SOURCE_ROOT CLATTN COMPOSE_EXAMPLE
# shellcheck source=tests/cli/lib.sh
. "${BASH_SOURCE%/*}/lib.sh"
source=$1 clattn=$2 example=$3
config=$source/examples/configs/poem-ppg.json
run=$work/run
toy_poems "$work/data"
printf 'tang\tpoet\tunequal\t春眠不覺曉|處處聞啼鳥兒|夜來風雨聲|花落知多少\n' >>"$work/data/train.tsv"

tiny=(--set "data=$work/data" --set hidden=32 --set depth=2 --set dropout=0
    --set word_count=2 --set word_ratio=1 --set vector_epochs=1 --set batch=24 --set lr=0.02
    --set steps=70 --set epochs=1000 --set eval_every=70 --quiet)
train() { "$clattn" train "$config" "${tiny[@]}" "$@"; }
compose() { "$clattn" compose --model "$run" "$@"; }

check 'trains, and says that a poem was skipped' \
    exits 0 'train.tsv: 1 poems skipped' 1 train --out "$run"
check 'clattn-config(5) names its keys' python3 "$source/tools/config_manual.py" keys "$run/config.json"
check 'writes what a model folder needs' test -s "$run/characters.txt" -a -s "$run/words.txt" \
    -a -s "$run/ranking.tsv" -a -s "$run/words.vec" -a -s "$run/best.ckpt.safetensors"

# score NAME: of the test poems.
score() { sed "s/.*\"$1\":\([^,}]*\).*/\1/" "$work/scores"; }
learnt() {
    "$clattn" eval --model "$run" --json >"$work/scores" 2>"$work/err" &&
        awk "BEGIN { p = $(score perplexity); p7 = $(score perplexity_7)
            exit !(p > 0 && p < 1.5 && p7 > 0 && p7 < 1.5 &&
            $(score bleu2_5) > 0.8 && $(score bleu2_7_line4) > 0.8) }"
}
check 'has learnt the poems by heart: perplexity and BLEU of lines 2 to 4' learnt

# The words of a command line are text as lines are: reader composed_words.
check 'a word that is not UTF-8' says 3 'argument:1: not UTF-8 (byte 1)' compose $'\xff'

# Keywords from titles: those that a title repeats are the lines' own, others are not.
entitle() { # FILE: the test poems, each with its lines' best-ranked words as the title
    python3 - "$run" "$work/data/test.tsv" >"$1" <<'PYTHON'
import sys
rank = {line.split("\t")[0]: n for n, line in enumerate(open(sys.argv[1] + "/ranking.tsv", encoding="utf-8"))}
words = set(open(sys.argv[1] + "/words.txt", encoding="utf-8").read().split())
def cut(text):
    while text:
        n = 2 if text[:2] in words else 1
        yield text[:n]
        text = text[n:]
for poem in open(sys.argv[2], encoding="utf-8"):
    dynasty, poet, _, text = poem.rstrip("\n").split("\t")
    best = [min((w for w in cut(line) if w in rank), key=rank.get, default=None) for line in text.split("|")]
    if None not in best and len(set(best)) == 4:
        print(dynasty, poet, " ".join(best), text, sep="\t")
PYTHON
}
planned() {
    entitle "$work/entitled.tsv" && sed 's/\t[^\t]*\t\([^\t]*\)$/\tx\t\1/' "$work/entitled.tsv" >"$work/untitled.tsv" &&
        test -s "$work/entitled.tsv" || return 1
    for file in entitled untitled; do
        "$clattn" eval --model "$run" --data "$work/$file.tsv" --json >"$work/$file.gold" &&
            "$clattn" eval --model "$run" --data "$work/$file.tsv" --planned --json >"$work/$file.planned" || return 1
    done
    cmp "$work/entitled.gold" "$work/entitled.planned" && ! cmp -s "$work/untitled.gold" "$work/untitled.planned"
}
check 'eval --planned takes keywords from titles' planned

# A poets' dictionary: 月 and 里 of the poems' words stand together; the run keeps what it needs.
themes() {
    printf '<begin>\t1\n1\t明月\t千里 nothing\n' >"$work/dictionary"
    train --set steps=1 --set themes="$work/dictionary" --out "$work/themes" && rm "$work/dictionary" &&
        grep -qx '明月 千里' "$work/themes/themes.txt" &&
        "$clattn" compose --model "$work/themes" --json '明月' | grep -q '"from_text":1,"from_themes":1,'
}
check 'keywords come from the themes of a dictionary' themes
added() {
    cp -r "$run" "$work/added" && cp "$work/themes/themes.txt" "$work/added" &&
        "$clattn" compose --model "$work/added" --json '明月' | grep -q '"from_text":1,"from_themes":1,'
}
check 'also of one that is put into the folder of a model' added
left() { # by a run that was killed before it wrote its settings
    mkdir "$work/left" && cp "$work/themes/themes.txt" "$work/left" &&
        train --set steps=1 --out "$work/left" && test ! -e "$work/left/themes.txt" &&
        ! grep -q themes.txt "$work/left/config.json" &&
        "$clattn" compose --model "$work/left" --json '明月' | grep -q '"from_themes":0,'
}
check 'a new run without one uses none that a killed run left' left
check 'and go on without it' train --set steps=2 --set themes="$work/dictionary" --out "$work/themes" --resume
echo nothing >"$work/dictionary"
check 'refuses a dictionary without words of the poems' exits 3 'dictionary: no line has two words of the poems' 2 \
    train --set themes="$work/dictionary" --out "$work/refused"

# quatrain N: standard input is four lines of N characters of the poems.
quatrain() {
    awk -v n="$1" 'NR == FNR { known[$0] = 1; next }
        { lines++
          if (length($0) != 3 * n) bad = 1
          for (i = 1; i < 3 * n; i += 3) if (!(substr($0, i, 3) in known)) bad = 1 }
        END { exit bad || lines != 4 }' "$run/characters.txt" -
}
for n in 5 7; do
    compose --chars $n '明月' >"$work/poem"
    check "writes four lines of $n characters" env LC_ALL=C bash -c \
        "$(declare -f quatrain); run=$run; quatrain $n <'$work/poem'"
    check "writes the same again" diff "$work/poem" <(compose --chars $n '明月' --greedy)
done
check 'writes a poem for each line, empty ones too' \
    test "$(printf 'a\n\n明月\n' | compose --json | wc -l)" = 3
check 'takes several texts' test "$(compose '明月' '千里' | wc -l)" = 9
check 'finds the words of a text' \
    prints '"from_text":2' compose --json --beam 3 '千里明月'
other_seed() { test "$(compose --json x --seed 1)" != "$(compose --json x --seed 2)"; }
check 'draws words by the seed where a text has none' other_seed
check 'writes nothing for nothing' nothing compose


# The C API, in a program of its own.
application() {
    "$example" "$run" 5 '明月' '' >"$work/out" && test "$(wc -l <"$work/out")" = 8 &&
        diff <(head -n 4 "$work/out" | sed 's/ (.*//') <(compose --chars 5 '明月') &&
        head -n 4 "$work/out" | grep -q ' (明月)$' &&
        diff <(tail -n 4 "$work/out" | sed 's/ (.*//') <(echo | compose --chars 5)
}
check 'an application writes the same poems' application
check 'an application is told what is no text' \
    exits 1 'compose: text is not UTF-8 (byte 1)' 0 "$example" "$run" 5 $'a\xff'
check 'an application is told what a line may have' \
    exits 1 'compose: characters is 6, must be 5 or 7' 0 "$example" "$run" 6 a

check 'refuses text that is none' \
    says 3 'standard input:2: not UTF-8' sh -c "printf 'a\nb\344\270' | '$clattn' compose --model '$run'"
check 'refuses six characters' says 2 '--chars is 6, must be 5 or 7' compose --chars 6 x
check 'refuses no model' says 2 'compose needs --model DIR' "$clattn" compose x
printf 'no poem\n' >"$work/data/broken.tsv"
check 'names a line that is no poem' says 3 'broken.tsv:1: 1 columns, must be 4' \
    "$clattn" eval --model "$run" --split broken
printf 'a\tb\tc\t春眠|處處\n' >"$work/data/short.tsv"
check 'refuses a file without a quatrain' says 3 'short.tsv: holds no poem' \
    "$clattn" eval --model "$run" --split short
check 'goes on with what the folder holds' \
    exits 0 'train.tsv: 1 poems skipped' 1 train --out "$run" --resume
cp -r "$run" "$work/damaged" && sed -i '1 s/$/0/' "$work/damaged/ranking.tsv"
check 'goes on with no damaged ranking' exits 3 'ranking.tsv: damaged or changed' 2 \
    train --out "$work/damaged" --resume
printf 'a\tb\tc\t空山不見人|但聞人語響|返景入深林|復照青苔上\n' >>"$work/data/train.tsv"
check 'refuses to go on with other poems' \
    exits 3 'characters.txt: the poems give others; are they those of the run?' 2 \
    train --out "$run" --resume
cp -r "$run" "$work/infinite" && infinite "$work/infinite"
check 'refuses weights that are not finite' says 7 'holds numbers that are not finite' \
    env CLATTN_LOG=error "$clattn" compose --model "$work/infinite" 明月 </dev/null
rm "$run/ranking.tsv"
check 'refuses a folder that lacks its ranking' says 6 'ranking.tsv' compose x

passed
