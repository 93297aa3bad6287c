# windows-checks.sh - more checks of tools/windows.sh, which reads it with `.`
# shellcheck shell=bash disable=SC2154 # $work is that of windows.sh

config=examples/configs/tagger-demo.json

# same_line WORDS COMMAND...: a refusal of one line that has the words.
refused() {
    local words=$1 said
    shift
    if said=$(clattn "$@" 2>&1); then return 1; fi
    [ "$(wc -l <<<"$said")" -eq 1 ] && grep -q "$words" <<<"$said" && return
    echo "$said"
    return 1
}

# train FOLDER STEPS [OPTION...]: a small tagger.
train() {
    local folder=$1 steps=$2
    shift 2
    clattn train "$config" --out "$folder" --set steps="$steps" "$@" >"$work/train.log" 2>&1 || {
        tail -n 3 "$work/train.log"
        return 1
    }
}

state() { sha256sum <"$1/last.ckpt.safetensors"; }

# Names that Windows or a careless program takes apart.
awkward_names() {
    local name root=$work/runs/awkward
    rm -rf "$root"
    for name in 'a blank' 'Äpfel und Ölé' '日本語' "it's" 'per%cent' 'a;b' 'com10' 'dots.in.a.name' '#hash&and' "$(printf 'long%.0s' {1..50})/$(printf 'path%.0s' {1..50})"; do
        if ! train "$root/$name" 2 || ! clattn check "$root/$name" >/dev/null; then
            echo "in a folder of the name $name"
            return 1
        fi
        [ "$(state "$root/$name")" = "$(state "$root/a blank")" ] || return 1
    done
}

# Runs that are killed at any time and go on end with the state of one that was not. Ten
# of the twenty kills at least must meet a run that has begun and has not ended.
kill_and_resume() {
    local root=$work/runs/kill steps=600 met=0 i pid resume
    rm -rf "$root"
    train "$root/whole" $steps || return 1
    for i in $(seq 20); do
        resume=()
        [ ! -f "$root/cut/config.json" ] || resume=(--resume)
        wine64 "$work/build/clattn.exe" train "$config" --out "$root/cut" --set steps=$steps \
            --set save_every=1 "${resume[@]}" >"$work/train.log" 2>&1 &
        pid=$!
        sleep "$((2 + i % 4)).$((i * 7 % 10))"
        kill -KILL $pid 2>/dev/null && [ -f "$root/cut/config.json" ] && met=$((met + 1))
        wait $pid 2>/dev/null
    done
    train "$root/cut" $steps --resume || return 1
    echo "$met of 20 kills met a run"
    [ $met -ge 10 ] || return 1
    clattn check "$root/cut" >/dev/null && [ "$(state "$root/cut")" = "$(state "$root/whole")" ]
}

# A program with the DLL gives the digits that the same program gives on Linux.
embedded() {
    x86_64-w64-mingw32-gcc -std=c11 -O2 -Iinclude -I"$work/deps/include" examples/embed.c \
        -o "$work/build/embed.exe" "$work/build/libclattn.dll.a" -lm &&
        wine64 "$work/build/embed.exe" | tee "$work/embed.txt" &&
        grep -q '= *0.273672 *0.533799 *0.746244' "$work/embed.txt"
}

step 'what Windows lacks, and what it refuses'
run 'serve' refused libmicrohttpd serve --model x
run 'a name of a device' refused 'aux' train "$config" --out "$work/runs/aux"

step 'training'
run 'ten awkward names' awkward_names
run 'killed and resumed twenty times' kill_and_resume

step 'the DLL in a program'
run 'embed' embedded
