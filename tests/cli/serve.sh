#!/bin/bash
# serve.sh - trained models as a service over HTTP; serve_client.py has the clients
# usage: tests/cli/serve.sh SOURCE_ROOT CLATTN [hostile|load]
#
# hostile: its requests alone, CLATTN_HOSTILE of them, as tools/nightly.sh has it; load: 64
# clients for CLATTN_LOAD seconds.
# shellcheck source=tests/cli/lib.sh
. "${BASH_SOURCE%/*}/lib.sh"
source=$1 clattn=$2 only=${3-}
if "$clattn" serve --model "$work/none" 2>&1 | grep -q 'built without libmicrohttpd'; then
    check 'says that it was built without the library' \
        says_alone 2 'built without libmicrohttpd' "$clattn" serve --model "$work/none"
    passed || exit 1
    echo 'skipped serve: built without libmicrohttpd'
    exit 77
fi
toy_text "$work/text"
toy_squad "$work/squad"
treebank "$source" "$work/trees"

# train CONFIG FOLDER SETTINGS...: some steps of a small model.
train() {
    "$clattn" train "$source/examples/configs/$1.json" "${@:3}" --set patience=0 --quiet \
        --out "$work/$2" 2>"$work/err"
}
check 'trains a translator' train nmt-plain translator --set "data=$work/text" --set dim=16 \
    --set heads=2 --set inner=32 --set layers=2 --set merges=40 --set tokens=40 --set warmup=20 \
    --set lr=0.4 --set dev=dev --set test=test --set steps=60 --set eval_every=20 --set warm_start=
if [ -n "$only" ]; then
    check "client: $only" python3 "$source/tests/cli/serve_client.py" "$only" "$clattn" "$work"
    passed
    exit
fi
check 'trains a tagger' train tagger-r tagger --set "data=$work/trees" --set word_dim=24 \
    --set char_dim=8 --set layers=1 --set heads=2 --set steps=20 --set batch=8
check 'trains a reader' train reader-match_lstm reader --set "data=$work/squad" --set hidden=8 \
    --set word_dim=8 --set steps=1 --set batch=4
toy_poems "$work/poems"
check 'trains a poet' train poem-ppg poet --set "data=$work/poems" --set hidden=8 --set depth=1 \
    --set vector_epochs=1 --set word_count=2 --set word_ratio=1 --set steps=1 --set batch=8

check 'trains the other way' train nmt-plain other --set "data=$work/text" --set source=de --set target=en \
    --set dim=16 --set heads=2 --set inner=32 --set layers=1 --set merges=40 --set tokens=40 --set warmup=20 \
    --set lr=0.4 --set dev=dev --set test=test --set steps=20 --set eval_every=20 --set warm_start=
for name in train dev test; do cp "$work/text/$name.en" "$work/text/$name.xx"; done
check 'trains a third' train nmt-plain third --set "data=$work/text" --set source=de --set target=xx \
    --set dim=16 --set heads=2 --set inner=32 --set layers=1 --set merges=40 --set tokens=40 --set warmup=20 \
    --set lr=0.4 --set dev=dev --set test=test --set steps=30 --set eval_every=30 --set warm_start=
check 'refuses a translator beside a tagger' says 2 "several models have to be translators: $work/tagger" \
    "$clattn" serve --model "$work/translator" --model "$work/tagger" --port 0
check 'refuses a tagger beside a translator' says 2 "several models have to be translators: $work/tagger" \
    "$clattn" serve --model "$work/tagger" --model "$work/translator" --port 0
check 'refuses a poet' says 2 'serve needs a translator, a tagger, a reader or a language model: this is a poet' \
    "$clattn" serve --model "$work/poet" --port 0
check 'refuses a host by name' says 2 "--host is 'nowhere.invalid'" \
    "$clattn" serve --model "$work/tagger" --port 0 --host nowhere.invalid
check 'refuses a port out of range' says 2 "--port is '65536'" \
    "$clattn" serve --model "$work/tagger" --port 65536

units=$(compute_units "$clattn")
if "$clattn" import "$source/tests/data/marian" --out "$work/languages" >"$work/out" 2>&1; then
    python3 "$source/tests/cli/import_variants.py" "$source/tests/data/marian" "$work/hf" \
        no_languages && "$clattn" import "$work/hf" --out "$work/no_languages" >"$work/out" 2>&1
fi
no_markup=$("$clattn" translate --model "$work/translator" --format html </dev/null 2>&1 | grep 'built without')
for part in translator tagger reader errors forms json_forms several memory memory_faults reload pivot detect languages alternatives paragraphs markup pages_of_others page batches workers answers full leaves load hostile busy drain; do
    if [ $part = workers ] && [ "$units" -lt 2 ]; then continue; fi
    if [ $part = languages ] && [ ! -d "$work/languages" ]; then
        echo 'skipped serve languages: built without SentencePiece'
        continue
    fi
    if [ $part = markup ] && [ -n "$no_markup" ]; then
        echo 'skipped serve markup: built without Gumbo and MD4C'
        continue
    fi
    if [ $part = page ] && ! command -v curl >/dev/null; then
        echo 'skipped serve page: there is no curl'
        continue
    fi
    check "client: $part" timeout 300 python3 "$source/tests/cli/serve_client.py" "$part" \
        "$clattn" "$work"
done

passed
