#!/bin/bash
# ctranslate2.sh - folders of CTranslate2 and packages of Argos: imported, compared with what
# CTranslate2 translates, there and back, and refused where they are damaged
# usage: tests/cli/ctranslate2.sh SOURCE_ROOT CLATTN
# shellcheck source=tests/cli/lib.sh
. "${BASH_SOURCE%/*}/lib.sh"
source=$1 clattn=$2
given=$source/tests/data/argos
import() { "$clattn" import "$1" --out "$2" 2>"$work/err"; }
translate() { "$clattn" translate --no-split --model "$1" --scores "${@:2}" <"$given/lines.txt" 2>"$work/err"; }

if ! import "$given" "$work/m"; then
    check 'says that SentencePiece is not built in' grep -q 'built without' "$work/err"
    passed
    exit
fi
check 'imports the folder of a package' "$clattn" check "$work/m"
check 'with its languages' grep -q '"source": "en"' "$work/m/config.json"
same_texts() { diff <(cut -f 3 "$1") <(cut -f 2 "$2"); }
same_scores() {
    paste <(cut -f 2 "$1") <(cut -f 1 "$2") |
        awk '{ d = ($1 - $2) / (1 + ($2 < 0 ? -$2 : $2))
               if (!(d <= 1e-5 && d >= -1e-5)) { print NR ": " $0; bad = 1 } } END { exit bad }'
}
translate "$work/m" --beam 1 >"$work/greedy"
check 'gives the texts of CTranslate2, greedy' same_texts "$work/greedy" "$given/beam1.txt"
translate "$work/m" >"$work/beam"
check "with Argos' own beam" same_texts "$work/beam" "$given/beam4.txt"
check 'and its scores' same_scores "$work/beam" "$given/beam4.txt"

# pack FOLDER FILE [PREFIX]: an archive as Argos publishes it, with folders of its own
pack() {
    python3 - "$1" "$2" "${3-en_de/}" <<'END'
import os, sys, zipfile
folder, path, prefix = sys.argv[1:]
with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as out:
    if prefix:
        out.writestr(zipfile.ZipInfo(prefix), b"")
    out.writestr(zipfile.ZipInfo(prefix + "stanza/"), b"")
    out.writestr(prefix + "stanza/resources.json", b"{}")
    for at, _, names in sorted(os.walk(folder)):
        for name in sorted(names):
            whole = os.path.join(at, name)
            out.write(whole, prefix + os.path.relpath(whole, folder).replace(os.sep, "/"))
END
}
pack "$given" "$work/en_de.argosmodel"
if import "$work/en_de.argosmodel" "$work/zip"; then
    check 'imports the package itself, to the same bits' diff -r "$work/m" "$work/zip"
    pack "$given" "$work/flat.argosmodel" ''
    check 'refuses an archive of another form' says_alone 3 'is no package of Argos' \
        "$clattn" import "$work/flat.argosmodel" --out "$work/no"
    cp "$given/lines.txt" "$work/lines.argosmodel"
    check 'refuses what is no archive' says_alone 3 'is no ZIP archive, or cut off' \
        "$clattn" import "$work/lines.argosmodel" --out "$work/no"
    pack "$given" "$work/out.argosmodel" 'en_de/../'
    check 'refuses paths out of the archive' says_alone 3 'has a path or no name' \
        "$clattn" import "$work/out.argosmodel" --out "$work/no"
else
    check 'says that zlib is not built in' grep -q 'built without zlib' "$work/err"
fi

refuses() {
    says_alone 3 "$1" "$clattn" import "$work/bad" --out "$work/no" && [ ! -e "$work/no" ]
}
# same_halves NAME: the model in 16 bits is the same by way of CTranslate2 and of transformers.
same_halves() {
    for format in ctranslate2 huggingface; do
        "$clattn" export --format $format --half --model "$work/$1" --out "$work/$1.$format" &&
            import "$work/$1.$format" "$work/$1.half-$format" || return
    done
    cmp "$work/$1".half-*/best.ckpt.safetensors
}

# ---- there and back -------------------------------------------------------------------

# back MODEL NAME: exports a model, imports it again and compares the weights and the pieces.
back() {
    "$clattn" export --format ctranslate2 --model "$1" --out "$work/$2.ct" 2>"$work/err" &&
        import "$work/$2.ct" "$work/$2.back" &&
        for file in best.ckpt.safetensors source.txt target.txt codes.txt target_codes.txt; do
            cmp "$1/$file" "$work/$2.back/$file" || return
        done
}
check 'has the same bits after export and import' back "$work/m" m
for family in m2m100 nllb mbart; do
    import "$source/tests/data/$family" "$work/$family"
    check "and so has $family" back "$work/$family" "$family"
    check 'which starts with the end' grep -q '"decoder_start_token": "</s>"' "$work/$family.ct/config.json"
    check 'and has the languages' diff <("$clattn" languages --model "$work/$family") \
        <("$clattn" languages --model "$work/$family.back")
done
cp -r "$source/tests/data/marian" "$work/marian"
clear_padding "$work/marian"
sed -i 's/"max_length": 24/"max_length": 24, "renormalize_logits": true/' \
    "$work/marian/generation_config.json"
import "$work/marian" "$work/zero"
check 'and so has a model of Marian' back "$work/zero" zero

# T5 and MADLAD: the network is the same, and the search that of CTranslate2.
keys() { grep -vE '"(beam|early_stopping|length_penalty|max_length|decoding|source|target|integrity|xxh3)"' "$1/config.json"; }
for family in t5 madlad; do
    import "$source/tests/data/$family" "$work/$family"
    check "and so has $family" back "$work/$family" "$family"
    check 'with the same keys' diff <(keys "$work/$family") <(keys "$work/$family.back")
    check 'and its pieces as transformers has them' cmp "$source/tests/data/$family/spiece.model" \
        "$work/$family.ct/spiece.model"
    check 'and the halves of transformers' same_halves "$family"
done
check 'MADLAD pads with <s>' grep -q '"bos_token": "<s>"' "$work/madlad.ct/config.json"
check 'and starts with <unk>' grep -q '"decoder_start_token": "<unk>"' "$work/madlad.ct/config.json"

# damaged LABEL PART COMMAND...: T5's folder, changed, is refused.
damaged() {
    rm -rf "$work/bad" "$work/no"
    cp -r "$work/t5.ct" "$work/bad"
    (cd "$work/bad" && "${@:3}")
    check "refuses $1" refuses "$2"
}
# named FROM TO: another name of the same length among the variables
named() { LC_ALL=C sed -i "s|$1|$2|" model.bin; }
damaged 'tables of buckets that differ' 'is missing or not that of the first layer' \
    named decoder/layer_1/self_attention/relative_attention_bias decoder/layer_1/self_attention/relative_attention_bios
damaged 'no distance' "relative_attention_max_distance' is missing or no distance" \
    named encoder/layer_0/self_attention/relative_attention_max_distance encoder/layer_0/self_attention/relative_attention_max_distonce
damaged 'scaled queries' "queries_scale' is missing or not 1" \
    named decoder/layer_0/attention/queries_scale decoder/layer_0/attention/queries_scole
damaged 'a norm that is missing' "layer_norm/gamma' is missing" \
    named encoder/layer_norm/gamma encoder/layer_norm/gumma
damaged 'no padding' "bos_token is '<none>', which the vocabulary lacks" \
    sed -i 's/"bos_token": "<pad>"/"bos_token": "<none>"/' config.json
damaged 'another start' "decoder_start_token is" \
    sed -i 's/"decoder_start_token": "<pad>"/"decoder_start_token": "▁"/' config.json
damaged 'two vocabularies' 'two vocabularies have one table' \
    sh -c 'cp shared_vocabulary.json source_vocabulary.json; mv shared_vocabulary.json target_vocabulary.json'
# The converter calls rows without a token as it calls the sentinels.
sentinels() {
    rm -rf "$work/twice"
    cp -r "$work/t5.ct" "$work/twice" &&
        sed -i 's/<unused0>/<extra_id_0>/' "$work/twice/shared_vocabulary.json" &&
        [ "$(grep -c '<extra_id_0>' "$work/twice/shared_vocabulary.json")" -eq 2 ] &&
        import "$work/twice" "$work/twice.back" &&
        cmp "$work/t5/best.ckpt.safetensors" "$work/twice.back/best.ckpt.safetensors"
}
check 'takes a sentinel twice' sentinels

# ---- folders that are not taken -------------------------------------------------------

# refused LABEL PART COMMAND...: a fresh copy, changed by the command in it, gives one line
# with the part, status 3, and leaves nothing.
refused() {
    rm -rf "$work/bad" "$work/no"
    cp -r "$given" "$work/bad"
    (cd "$work/bad" && "${@:3}")
    check "refuses $1" refuses "$2"
}
edit() { sed -i "$1" "$2" && ! cmp -s "$2" "$given/$2"; }
# rename FROM TO: another name of the same length among the variables
rename() { LC_ALL=C edit "s|$1|$2|" model/model.bin; }
byte() { printf '%b' "$2" | dd of=model/model.bin bs=1 seek="$1" conv=notrunc status=none; }

# resize: another number of rows in the first table
resize() {
    local at
    at=$(LC_ALL=C grep -abo -m 1 decoder/embeddings/weight model/model.bin | head -n 1 | cut -d: -f 1)
    byte $((at + 27)) '\0377'
}

refused 'no settings' 'has no model/config.json' rm model/config.json
refused 'no vocabulary' 'has no model/shared_vocabulary.txt' rm model/shared_vocabulary.json
refused 'no pieces' 'has no SentencePiece model' rm sentencepiece.model
refused 'a link out of the folder' 'link to a file outside' ln -sf /etc/passwd metadata.json
refused 'another version' 'is no model of binary version 6 (it says 7)' byte 0 '\0007'
refused 'another network' 'holds a WransformerSpec' byte 6 W
refused 'a newer network' 'of revision 9' byte 22 '\0011'
refused 'a cut file' 'has a type or a size that does not fit' truncate -s 19000 model/model.bin
refused 'an empty file' 'is cut off or damaged at byte 0' truncate -s 0 model/model.bin
refused 'a file that is cut in its head' 'is cut off or damaged' truncate -s 25 model/model.bin
refused 'bytes behind the end' 'is cut off or damaged' sh -c 'echo x >>model/model.bin'
refused 'a size that does not fit' "variable 'decoder/embeddings/weight' has a type or a size" \
    resize
refused 'a variable that is missing' "variable 'decoder/layer_0/ffn/linear_0/weight' is missing" \
    rename decoder/layer_0/ffn/linear_0/weight decoder/layer_0/ffn/linear_9/weight
refused 'one that is left over' "variable 'decoder/alignment_layex' is left over" \
    rename decoder/alignment_layer decoder/alignment_layex
refused 'whole numbers without scales' 'holds whole numbers without their scales' \
    rename decoder/projection/weight_scale decoder/projection/weight_scald
refused 'two vocabularies of one table' "has no model/source_vocabulary.txt" \
    mv model/shared_vocabulary.json model/target_vocabulary.json
refused 'a vocabulary that is no list' 'is no list of tokens' \
    sh -c 'echo "{}" >model/shared_vocabulary.json'
refused 'a token twice' "has token '<unk>' twice" edit 's/<blank>/<unk>/' model/shared_vocabulary.json
refused 'a token that is no text' 'token 1 is no text' edit 's/"<blank>"/1/' model/shared_vocabulary.json
refused 'another number of tokens' 'has another shape than' \
    edit 's/"<blank>",//' model/shared_vocabulary.json
refused 'another end' "eos_token is '<end>', must be '</s>'" edit 's|</s>|<end>|' model/config.json
refused 'an unknown start' "decoder_start_token is '<no>', which a vocabulary lacks" \
    edit 's/"decoder_start_token": "<s>"/"decoder_start_token": "<no>"/' model/config.json
refused 'a source with a start' 'add_source_bos is true' \
    edit 's/"add_source_bos": false/"add_source_bos": true/' model/config.json
refused 'a prefix of translations' "target_prefix is '__de__'" \
    edit 's/{/{"target_prefix": "__de__", /' metadata.json
refused 'metadata that is no object' 'must be an object' sh -c 'echo "[]" >metadata.json'

# A vocabulary of the older form, a token a line.
older() {
    cp -r "$given" "$work/older"
    (cd "$work/older/model" &&
        python3 -c 'import json; print("\n".join(json.load(open("shared_vocabulary.json"))))' \
            >shared_vocabulary.txt && rm shared_vocabulary.json) &&
        import "$work/older" "$work/old" && diff -r "$work/m" "$work/old"
}
check 'reads a vocabulary of lines' older

passed
