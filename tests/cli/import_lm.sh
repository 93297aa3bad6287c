#!/bin/bash
# import_lm.sh - language models of transformers: imported, used, trained further, exported;
# and folders that are refused by name
# usage: tests/cli/import_lm.sh SOURCE_ROOT CLATTN
# shellcheck source=tests/cli/lib.sh
. "${BASH_SOURCE%/*}/lib.sh"
source=$1 clattn=$2
data=$source/tests/data
config=$source/examples/configs/lm-small.json

for family in gpt2 llama; do
    check "imports $family" "$clattn" import "$data/$family" --out "$work/$family"
    check 'writes hashes that hold' "$clattn" check "$work/$family"
done
check 'names the end of documents' grep -q '"end_token": "</s>"' "$work/llama/config.json"
check 'an imported model writes' sh -c \
    "'$clattn' generate --model '$work/llama' --greedy --pieces 5 --json 'A beam' | grep -q '\"prompt\":\"A beam\"'"
check 'and scores lines' sh -c "echo 'A beam of four' | '$clattn' score lm --model '$work/gpt2' | grep -q ."

# ---- further training: the tokenizer is that of the run -----------------------------------

mkdir "$work/text"
for i in 1 2 3 4; do echo 'The encoder reads all tokens; the decoder writes one.'; done >"$work/text/train.txt"
cp "$work/text/train.txt" "$work/text/dev.txt"
cp "$work/text/train.txt" "$work/text/test.txt"
further=(--set "data=$work/text" --set train=train.txt --set hold_out=0 --set preset=gpt2 --set pieces=tokenizer
    --set "tokenizer=$data/gpt2/tokenizer.json" --set 'end_token="<|endoftext|>"' --set dim=36 --set heads=3
    --set layers=2 --set inner=50 --set context=160 --set norm_epsilon=1e-5 --set feed_forward=gelu_tanh
    --set batch=2 --set lr=0.001 --set warmup=1 --set eval_every=4 --set patience=0 --quiet)
learns() {
    "$clattn" train "$config" "${further[@]}" --set steps=8 --set "warm_start=$work/gpt2" --out "$work/more" &&
        "$clattn" eval --model "$work/gpt2" --data "$work/text" --json >"$work/before" &&
        "$clattn" eval --model "$work/more" --json >"$work/after" &&
        python3 - "$work/before" "$work/after" <<'PYTHON'
import json, sys
before, after = (json.load(open(p)) for p in sys.argv[1:])
assert before["pieces"] == after["pieces"], (before, after)
assert after["nll"] < before["nll"] - 0.5, (before, after)
PYTHON
}
check 'is trained further' learns
check 'keeps its tokenizer' cmp "$data/gpt2/tokenizer.json" "$work/more/tokenizer.json"
check 'goes on where it was' "$clattn" train "$config" "${further[@]}" --set steps=12 --set "warm_start=$work/gpt2" --resume --out "$work/more"
check 'and its own way back' "$clattn" export --model "$work/more" --format huggingface --out "$work/more-hf"

# ---- own models, exported and imported again: the same text and scores ----------------------

# back NAME SETTING...: trains some steps, exports, imports, compares
back() {
    local name=$1
    "$clattn" train "$config" --set "data=$work/text" --set train=train.txt --set hold_out=0 --set dim=32 \
        --set heads=4 --set layers=1 --set context=32 --set batch=4 --set warmup=1 --set eval_every=5 \
        --set patience=0 --quiet --set steps=5 "${@:2}" --out "$work/$name" &&
        "$clattn" export --model "$work/$name" --format huggingface --out "$work/$name-hf" &&
        "$clattn" import "$work/$name-hf" --out "$work/$name-2" &&
        echo 'The encoder writes.' | "$clattn" score lm --model "$work/$name" >"$work/a" &&
        echo 'The encoder writes.' | "$clattn" score lm --model "$work/$name-2" >"$work/b" &&
        cmp "$work/a" "$work/b"
}
check 'a Llama of characters comes back' back characters --set kv_heads=2
check 'a GPT-2 of bytes comes back' back bytes --set preset=gpt2 --set pieces=bytes
check 'a Mistral comes back' back window --set attention=csan1d --set window=7
check 'its window is that of Mistral' grep -q '"sliding_window": 4' "$work/window-hf/config.json"
check 'documents come back' back documents --set pieces=bytes --set documents=true

# ---- what no family has ----------------------------------------------------------------------

# unlike LABEL PART SETTING...: such a model is not exported, and the message has the part
unlike() {
    "$clattn" train "$config" --set "data=$work/text" --set train=train.txt --set hold_out=0 --set dim=32 \
        --set heads=4 --set layers=2 --set context=32 --set batch=4 --set warmup=1 --set eval_every=2 --set steps=2 \
        --set patience=0 --quiet "${@:3}" --out "$work/unlike" 2>"$work/said" || cat "$work/said"
    check "does not export $1" says_alone 3 "$2" \
        "$clattn" export --model "$work/unlike" --format huggingface --out "$work/no"
    rm -rf "$work/unlike"
}
unlike 'models without positions' "position is \"none\", which the models 'gpt2' of transformers do not have" \
    --set position=none
unlike 'part of rotary positions' 'rope_part is 0.5, which' --set rope_part=0.5
unlike 'a window in some layers' 'attention_layers is "1-1", which' --set attention=csan1d --set attention_layers=1-1
unlike 'byte pairs' "pieces is 'bpe', which a tokenizer.json cannot express" --set pieces=bpe --set merges=20
check 'nor to CTranslate2' says_alone 3 'its format of another program is huggingface' \
    "$clattn" export --model "$work/gpt2" --format ctranslate2 --out "$work/no"

# ---- several ends -------------------------------------------------------------------------------

# The text of greedy search ends at the first of the pieces, whichever file names them.
several() {
    rm -rf "$work/ends" "$work/ends-hf"
    cp -r "$data/llama" "$work/ends-hf"
    "$clattn" generate --model "$work/llama" --greedy --pieces 30 --json 'A beam' >"$work/long"
    python3 - "$work/ends-hf" "$data/llama/greedy.json" "$1" <<'PYTHON' || return 1
import json, sys
folder, greedy, name = sys.argv[1:]
ends = [2, json.load(open(greedy))[1][7]]  # the eighth piece behind 'A beam of four'
config = json.load(open(f"{folder}/config.json"))
if name == "config.json":
    config["eos_token_id"] = ends
else:
    json.dump({"eos_token_id": ends}, open(f"{folder}/{name}", "w"))
json.dump(config, open(f"{folder}/config.json", "w"))
PYTHON
    "$clattn" import "$work/ends-hf" --out "$work/ends" && grep -q '"end_token": \[' "$work/ends/config.json" &&
        "$clattn" generate --model "$work/ends" --greedy --pieces 100 --json 'A beam of four' >"$work/short" &&
        "$clattn" generate --model "$work/llama" --greedy --pieces 100 --json 'A beam of four' >"$work/long" &&
        python3 - "$work/short" "$work/long" <<'PYTHON'
import json, sys
short, long = (json.load(open(p))["text"] for p in sys.argv[1:])
assert 0 < len(short) < len(long) / 3 and long.startswith(short[:-1]), (short, long)
PYTHON
}
check 'a text ends at any of several pieces' several config.json
check 'those of generation_config.json go first' several generation_config.json
check 'a run with several ends is trained further' "$clattn" train "$config" --set "data=$work/text" \
    --set train=train.txt --set hold_out=0 --set pieces=tokenizer --set "tokenizer=$data/llama/tokenizer.json" \
    --set 'end_token=["</s>", "<s>"]' --set dim=32 --set heads=4 --set layers=1 --set context=32 --set batch=2 \
    --set warmup=1 --set steps=2 --set patience=0 --quiet --out "$work/ends-run"
check 'an end that is no piece is named' says 3 "has no piece '<stop>', the end_token" "$clattn" train "$config" \
    --set "data=$work/text" --set train=train.txt --set hold_out=0 --set pieces=tokenizer \
    --set "tokenizer=$data/llama/tokenizer.json" --set 'end_token=["</s>", "<stop>"]' --quiet --out "$work/no"

# An end that texts may hold stays a plain piece: transformers cuts at a piece that is named.
plain_end() {
    rm -rf "$work/ends" "$work/ends-hf" "$work/ends-out"
    cp -r "$data/llama" "$work/ends-hf"
    python3 - "$work/ends-hf" <<'PYTHON' || return 1
import json, sys
path = sys.argv[1] + "/config.json"
config, tokenizer = (json.load(open(p)) for p in (path, sys.argv[1] + "/tokenizer.json"))
special = {t["id"] for t in tokenizer["added_tokens"] if t["special"]}
config["eos_token_id"] = next(i for i in range(300, 400) if i not in special)
json.dump(config, open(path, "w"))
PYTHON
    "$clattn" import "$work/ends-hf" --out "$work/ends" &&
        "$clattn" export --model "$work/ends" --format huggingface --out "$work/ends-out" &&
        python3 - "$work/ends-hf" "$work/ends-out" <<'PYTHON'
import json, sys
hf, out = (json.load(open(f + "/config.json"))["eos_token_id"] for f in sys.argv[1:])
named = json.load(open(sys.argv[2] + "/tokenizer_config.json"))
assert hf == out and "eos_token" not in named, (hf, out, named)
PYTHON
}
check 'a plain piece that ends texts stays plain' plain_end

# ---- a tokenizer.model alone ------------------------------------------------------------------------

model_run() {
    "$clattn" train "$config" --set "data=$work/text" --set train=train.txt --set hold_out=0 \
        --set pieces=tokenizer --set "tokenizer=$data/llama/tokenizer.model" --set dim=32 --set heads=4 \
        --set layers=1 --set context=32 --set batch=2 --set warmup=1 --set steps=2 --set patience=0 --quiet \
        --out "$work/alone-run"
}
alone() {
    cp -r "$data/llama" "$work/alone-hf" && rm "$work/alone-hf/tokenizer.json" &&
        "$clattn" import "$work/alone-hf" --out "$work/alone" && [ ! -e "$work/alone/tokenizer.model" ] &&
        "$clattn" generate --model "$work/alone" --greedy --pieces 5 'A beam' >"$work/out" &&
        cmp "$work/alone-run/tokenizer.json" "$work/alone/tokenizer.json"
}
if model_run 2>"$work/said"; then
    check 'a SentencePiece model is a tokenizer' alone
else
    check 'says that SentencePiece is not built in' grep -q 'built without' "$work/said"
fi

# ---- folders that are not taken ----------------------------------------------------------------

hf=$work/hf
# refused FAMILY LABEL PART COMMAND...: a folder changed by the command is refused with the part
refused() {
    rm -rf "$hf"
    cp -r "$data/$1" "$hf"
    (cd "$hf" && "${@:4}")
    refuses() { says_alone 3 "$part" "$clattn" import "$hf" --out "$work/no" && [ ! -e "$work/no" ]; }
    local part=$3
    check "refuses $2" refuses
}
# setting KEY VALUE [FILE]: sets a key of config.json
setting() {
    python3 - "${3-config.json}" "$1" "$2" <<'PYTHON'
import json, sys
path, key, value = sys.argv[1:]
made = json.load(open(path))
made[key] = json.loads(value)
json.dump(made, open(path, "w"))
PYTHON
}
refused gpt2 'no tokenizer' 'has no tokenizer.json' rm tokenizer.json
refused gpt2 'no weights' 'has no model.safetensors' rm model.safetensors
refused gpt2 'another scale of scores' 'scale_attn_weights is false: such models are not read' \
    setting scale_attn_weights false
refused gpt2 'attention to a memory' 'add_cross_attention is true' setting add_cross_attention true
refused gpt2 'fewer rows than pieces' 'pieces, vocabulary is 300' setting vocab_size 300
refused gpt2 'another width' "tensor 'transformer.wte.weight' is [331,36], config.json makes it [331,33]" \
    setting n_embd 33
refused gpt2 'a layer too few' "is left over" setting n_layer 1
refused gpt2 'an activation' "activation_function" setting activation_function '"mish"'
refused llama 'biases of attention alone' 'attention_bias is true and mlp_bias is false: they must be the same' \
    setting attention_bias true
refused llama 'rotary positions that depend on the length' \
    "rope_parameters has the type 'longrope', must be default, linear, llama3 or yarn" \
    setting rope_parameters '{"rope_type": "longrope", "factor": 2.0, "rope_theta": 500.0}'
refused llama 'those of an old file' "rope_scaling has the type 'dynamic'" \
    setting rope_scaling '{"type": "dynamic", "factor": 2.0}'
refused llama 'a scaling without its factor' 'rope_scaling has no factor' setting rope_scaling '{"type": "linear"}'
refused llama 'a factor below 1' 'rope_scaling.factor is 0.5' setting rope_scaling '{"type": "linear", "factor": 0.5}'
refused llama 'a part of rotary positions' 'rope_parameters has a partial_rotary_factor' \
    setting rope_parameters '{"rope_type": "default", "partial_rotary_factor": 0.5}'
refused llama 'a ramp that is not rounded' 'rope_scaling has truncate false' \
    setting rope_scaling '{"rope_type": "yarn", "factor": 2.0, "truncate": false}'
refused llama 'too many ends' 'eos_token_id must be a number of a piece, or 1 to 16 of them' \
    setting eos_token_id '[1,2,3,4,5,6,7,8,9,10,11,12,13,14,15,16,17]'
refused llama 'no number of an end' 'eos_token_id must be a number' setting eos_token_id '"</s>"'
refused llama 'heads of another width' 'head_dim is 16, must be 48 / 6' setting head_dim 16
refused llama 'a function without a gate' "hidden_act is 'relu', which has no gate here" setting hidden_act '"relu"'
refused llama 'a tokenizer of another kind' "model is 'Unigram', which is not read" \
    setting model '{"type": "Unigram"}' tokenizer.json
passed
