#!/bin/bash
# marian.sh - a folder as Marian writes it: imported, compared with the same model from
# Hugging Face's layout, and refused where it is damaged
# usage: tests/cli/marian.sh SOURCE_ROOT CLATTN
# shellcheck source=tests/cli/lib.sh
. "${BASH_SOURCE%/*}/lib.sh"
source=$1 clattn=$2
given=$source/tests/data/marian
release() { python3 "$source/tools/marian_release.py" "$given" "$@"; }
import() { "$clattn" import "$1" --out "$2" 2>"$work/err"; }
translate() { "$clattn" translate --model "$1" --scores "${@:2}" <"$given/lines.txt"; }

release "$work/given" stored
if ! import "$work/given" "$work/m"; then
    check 'says what is not built in' grep -q 'built without' "$work/err"
    passed
    exit
fi
check 'imports it' "$clattn" check "$work/m"

# The same model in the other layout, with what Marian has: zeros for <pad>, which has no share
# of the probability, positions of tensor2tensor, a small epsilon.
cp -r "$given" "$work/hf"
clear_padding "$work/hf"
sed -i 's/"max_length": 24/"max_length": 512, "renormalize_logits": true/' \
    "$work/hf/generation_config.json"
check 'imports the other layout' import "$work/hf" "$work/other"
unsealed "$work/other"
sed -i 's/"position": "marian"/"position": "sine"/
    s/"norm_epsilon": [0-9.e-]*/"norm_epsilon": 1e-6/' "$work/other/config.json"
for beam in 1 4; do
    CLATTN_LOG=error translate "$work/other" --beam $beam >"$work/want.$beam"
    translate "$work/m" --beam $beam >"$work/got"
    check "says the same with a beam of $beam" diff "$work/got" "$work/want.$beam"
done
translate "$work/m" >"$work/got"
check 'has the beam of decoder.yml' diff "$work/got" "$work/want.4"

release "$work/packed" deflated
check 'imports a deflated archive' import "$work/packed" "$work/m2"
check 'to the same files' diff -r "$work/m" "$work/m2"
release "$work/apart" deflated separate
check 'imports tables of their own' import "$work/apart" "$work/m3"
translate "$work/m3" >"$work/got"
check 'which say the same' diff "$work/got" "$work/want.4"

# A SentencePiece model as the vocabulary of both languages.
release "$work/yml" stored joint
release "$work/spm" stored spm
check 'imports a vocabulary of its own' import "$work/yml" "$work/m4"
check 'imports it as a SentencePiece model' import "$work/spm" "$work/m5"
check 'to the same files' diff -r "$work/m4" "$work/m5"

# ---- folders that are not taken -----------------------------------------------------

# refused LABEL PART COMMAND...: a fresh copy, changed by the command in it, gives one line
# with the part, status 3, and leaves nothing.
refused() {
    rm -rf "$work/bad" "$work/no"
    cp -r "${from:-$work/given}" "$work/bad"
    (cd "$work/bad" && "${@:3}")
    check "refuses $1" refuses "$2"
}
refuses() {
    says_alone 3 "$1" "$clattn" import "$work/bad" --out "$work/no" && [ ! -e "$work/no" ]
}
edit() { sed -i "$1" "$2" && ! cmp -s "$2" "$work/given/$2"; }
# setting KEY VALUE: another value of the same length in the settings of the weights
python=$(
    cat <<'END'
import sys, zipfile
key, new = sys.argv[1:3]
old = zipfile.ZipFile("model.npz")
files = [(i.filename, old.read(i)) for i in old.infolist()]
with zipfile.ZipFile("model.npz", "w") as out:
    for name, data in files:
        if name.startswith("special") and key.encode() + b":" in data:
            at = data.index(key.encode() + b":") + len(key) + 1
            end = data.index(b"\n", at)
            data = data[:at] + (" " + new).encode().ljust(end - at) + data[end:]
        elif name == key + ".npy":
            name, data = (new + ".npy", data) if new else (name, data[:-4])
        out.writestr(name, data)
END
)
change() { python3 -c "$python" "$@" && ! cmp -s model.npz "$work/given/model.npz"; }

refused 'no weights' 'has no model.npz' rm model.npz
refused 'no vocabulary' 'has no vocab.yml' rm vocab.yml
refused 'no pieces' 'has no source.spm' rm source.spm
refused 'cut weights' 'is no ZIP archive, or cut off' truncate -s 60000 model.npz
refused 'empty weights' 'is no ZIP archive, or cut off' truncate -s 0 model.npz
refused 'a path out of the folder' "is no name of a file of this folder" \
    edit 's|- model.npz|- ../given/model.npz|' decoder.yml
refused 'an absolute path' "is no name of a file of this folder" \
    edit 's|- vocab.yml|- /etc/passwd|' decoder.yml
refused 'a link out of the folder' 'link to a file outside' ln -sf /etc/passwd vocab.yml
refused 'two models' 'models must name one file' edit 's/^models:/&\n  - a.npz/' decoder.yml
refused 'a word penalty' 'word-penalty is set' edit 's/word-penalty: 0/word-penalty: 1/' decoder.yml
refused 'a large beam' 'beam-size is out of range' edit 's/beam-size: 4/beam-size: 4000/' decoder.yml
refused 'bad YAML' 'decoder.yml:' edit 's/^models:/&[/' decoder.yml
refused 'a vocabulary that is no SentencePiece model' 'no SentencePiece model' \
    sh -c 'mv vocab.yml vocab.spm && sed -i s/vocab.yml/vocab.spm/ decoder.yml'
refused 'an id twice' 'have one id, 4' edit 's/: 5$/: 4/' vocab.yml
refused 'a negative id' 'its id must be a number from 0 to 447' edit 's/: 5$/: -5/' vocab.yml
refused 'a token that is missing' 'its id must be a number from 0 to 446' edit '/: 5$/d' vocab.yml
refused 'a piece too many' 'has another type or shape' sh -c 'echo "zz: 448" >>vocab.yml'
refused 'no end' "must have '</s>'" edit 's|^</s>|</t>|' vocab.yml
refused 'an array that is missing' "array 'encoder_l2_ffn_W1' is missing" \
    change encoder_l2_ffn_W1 encoder_l9_ffn_W1
refused 'one that is left over' "array 'encoder_l2_" change enc-depth 1
refused 'one that is cut' 'not that of its numbers' change encoder_l2_ffn_W1 ''
refused 'other sizes' "has another type or shape than the settings make it" \
    change transformer-dim-ffn 25
refused 'no sizes' 'dim-emb is missing or out of range' change dim-emb x
refused 'no width' 'dim-emb is missing or out of range' change dim-emb 0
refused 'norms in front' 'transformer-preprocess is set' change transformer-preprocess n
refused 'another decoder' 'transformer-decoder-autoreg is set' \
    change transformer-decoder-autoreg rnn
refused 'gelu, which is another there' 'is neither relu nor swish' \
    change transformer-ffn-activation gelu
from=$work/packed
refused 'damage in a deflated array' 'is damaged' sh -c \
    'printf x | dd of=model.npz bs=1 seek=1000 conv=notrunc status=none'

passed
