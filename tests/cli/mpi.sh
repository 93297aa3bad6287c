#!/bin/bash
# mpi.sh - data-parallel training: two processes do what one does
# usage: tests/cli/mpi.sh SOURCE_ROOT CLATTN
# shellcheck source=tests/cli/lib.sh
. "${BASH_SOURCE%/*}/lib.sh"
source=$1 clattn=$2
command -v mpirun >/dev/null || { echo 'not run: no mpirun here'; exit 77; }

export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1
treebank "$source" "$work/data"
config=$source/examples/configs/tagger-conv2d.json
small=(--set "data=$work/data" --set word_dim=24 --set char_dim=8 --set layers=2 --set heads=2
    --set batch=8 --set patience=0 --set log_every=1 --set save_every=3 --quiet)

train() { "$clattn" train "$config" "${small[@]}" "$@" 2>"$work/err"; }
train2() { mpirun --oversubscribe -n 2 "$clattn" train "$config" "${small[@]}" "$@" 2>"$work/err"; }

train2 --set epochs=0 --out "$work/none" || {
    grep -q 'built without MPI' "$work/err" && echo 'not run: built without MPI' && exit 77
}

# 8 batches an epoch, the last one of 4 sentences; dropout is on; three parts a batch leave
# a process parts without a sentence.
follows() { # follows FOLDER SETTING...: losses within 1e-4 for 50 steps
    folder=$1
    shift
    train --out "$work/$folder.1" --set epochs=7 "$@" || return 1
    CLATTN_LOG=info train2 --out "$work/$folder.2" --set epochs=7 "$@" || return 1
    for n in 1 2; do
        sed -n 's/.*"step":\([0-9]*\),.*"loss":\([^,]*\),.*/\1 \2/p' \
            "$work/$folder.$n/log.jsonl" >"$work/$folder.$n.loss"
    done
    paste -d ' ' "$work/$folder.1.loss" "$work/$folder.2.loss" | awk '
        { d = ($2 - $4) / $2; d = d < 0 ? -d : d; worst = d > worst ? d : worst }
        $1 != $3 || !($2 > 0) { bad = 1 }
        $1 <= 50 && !(d <= 1e-4) { bad = 1 }
        END { printf "        %d steps, losses differ by at most %.1e\n", NR, worst
              exit bad || NR != 56 }'
}
check 'two processes follow the losses of one' follows plain
same_weights() {
    [ "$(grep -c 'weights [0-9a-f]\{16\} after step 56' "$work/err")" -eq 2 ] &&
        [ "$(grep -o 'weights [0-9a-f]*' "$work/err" | sort -u | wc -l)" -eq 1 ]
}
check 'both end with the same weights' same_weights
overlaps() { # some parts of the gradient, in both processes
    [ "$(grep -c ' [1-9] of [0-9]* parts of the gradient complete early' "$work/err")" -eq 2 ]
}
check 'sums begin before the backward pass ends' overlaps
check 'one process writes' diff <(ls "$work/plain.1") <(ls "$work/plain.2")
check 'with accumulation too' follows parts --set accumulate=3

# begin FOLDER SETTING...: two processes in the background, their ids in FOLDER.0 and FOLDER.1;
# returns after the third step.
begin() {
    folder=$work/$1
    shift
    # shellcheck disable=SC2016 # the inner shell expands
    mpirun --oversubscribe -n 2 bash -c \
        'echo $$ >"$0.$OMPI_COMM_WORLD_RANK"; exec "$@"' "$folder" \
        "$clattn" train "$config" "${small[@]}" --out "$folder" "$@" 2>"$work/err" &
    until [ "$(grep -c '"loss"' "$folder/log.jsonl" 2>/dev/null || true)" -ge 3 ] 2>/dev/null; do
        kill -0 $! 2>/dev/null || return 1
        sleep 0.02
    done
}

# One process is killed: mpirun ends the other, and the run goes on where it was saved.
killed() {
    begin killed --set epochs=7 || return 1
    kill -KILL "$(cat "$work/killed.1")"
    wait $! && return 1
    train2 --out "$work/killed" --set epochs=7 --resume &&
        cmp "$work/plain.2/last.ckpt.safetensors" "$work/killed/last.ckpt.safetensors"
}
check 'kill -9 of one process and resume end in the same bits' killed

# A signal to one process stops both after the same step.
stopped() {
    begin stopped --set epochs=1000 || return 1
    kill -TERM "$(cat "$work/stopped.1")"
    wait $!
    steps=$(grep -c '"loss"' "$work/stopped/log.jsonl")
    [ "$(head -c 8000 "$work/stopped/last.ckpt.safetensors" |
        grep -ao '"step":"[0-9]*"')" = "\"step\":\"$steps\"" ]
}
check 'a signal to one process stops both, saved' stopped

check 'a refusal ends all' bash -c "! mpirun --oversubscribe -n 2 '$clattn' train '$config' \
    --out '$work/plain.2' --quiet 2>'$work/err' && grep -q 'holds a run' '$work/err'"

# A norm that is not finite is the same in all processes, so one of them says so.
one_message() {
    mkdir "$work/wrong"
    cp "$source"/cl/* "$work/wrong"
    sed -i 's/left\[1\] = sum;/left[1] = NAN;/' "$work/wrong/clip.cl"
    CLATTN_KERNEL_PATH=$work/wrong train2 --set epochs=1 --set clip=1 --out "$work/norm" &&
        return 1
    [ "$(grep -c "the gradient's norm is" "$work/err")" -eq 1 ] && ! grep -q ABORT "$work/err"
}
check 'a norm that is not finite is told once' one_message

# A language model whose text is kept as numbers, by whichever process comes first.
language() {
    mkdir "$work/text"
    for i in $(seq 40); do seq -f "$i one two three %g" 1500; done >"$work/text/train.txt"
    head -50 "$work/text/train.txt" >"$work/text/dev.txt"
    config=$source/examples/configs/lm-small.json
    small=(--set "data=$work/text" --set train=train.txt --set hold_out=0 --set pieces=bpe --set merges=50
        --set dim=32 --set heads=2 --set layers=1 --set context=16 --set batch=8 --set warmup=1
        --set steps=12 --set patience=0 --set log_every=1 --set dropout=0.1 --quiet)
    train2 --out "$work/lm.2" && [ "$(find "$work/text" -name '*.prepared' | wc -l)" -eq 1 ] &&
        [ "$(find "$work/text" -type f | wc -l)" -eq 3 ] && train --out "$work/lm.1" || return 1
    for n in 1 2; do
        sed -n 's/.*"step":\([0-9]*\),.*"loss":\([^,]*\),.*/\1 \2/p' "$work/lm.$n/log.jsonl" >"$work/lm.$n.loss"
    done
    paste -d ' ' "$work/lm.1.loss" "$work/lm.2.loss" | awk '
        { d = ($2 - $4) / $2; d = d < 0 ? -d : d }
        $1 != $3 || !($2 > 0) || !(d <= 1e-4) { bad = 1 }
        END { exit bad || NR != 12 }'
}
check 'a language model, its text as numbers' language

passed
