# windows-checks.sh - more checks of tools/windows.sh, which reads it with `.`
# shellcheck shell=bash disable=SC2154 # $work is that of windows.sh

config=examples/configs/tagger-demo.json

# refused WORDS COMMAND...: a refusal of one line that has the words.
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

# Runs that are killed at any time and go on end with the state of one that was not. Every
# second kill waits until the run has saved a state; the others come as they may.
kill_and_resume() {
    local root=$work/runs/kill steps=600 met=0 i pid resume saved=$work/runs/kill/cut/last.ckpt.safetensors
    rm -rf "$root"
    train "$root/whole" $steps || return 1
    for i in $(seq 20); do
        resume=()
        [ ! -f "$root/cut/config.json" ] || resume=(--resume)
        touch "$root/begin"
        wine64 "$work/build/clattn.exe" train "$config" --out "$root/cut" --set steps=$steps \
            --set save_every=1 "${resume[@]}" >"$work/train.log" 2>&1 &
        pid=$!
        while [ $((i % 2)) -eq 1 ] && kill -0 $pid 2>/dev/null && ! [ "$saved" -nt "$root/begin" ]; do
            sleep 0.1
        done
        sleep "$((i % 3)).$((i * 7 % 10))"
        kill -KILL $pid 2>/dev/null && [ -f "$saved" ] && met=$((met + 1))
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

# Two processes fill one empty cache; both end well, and a third one adds nothing to it.
shared_cache() {
    local root=$work/runs/cache first second before
    rm -rf "$root"
    mkdir -p "$root"
    CLATTN_CACHE_DIR=$root/cache wine64 "$work/build/clattn.exe" train "$config" --out "$root/a" \
        --set steps=5 >"$root/a.log" 2>&1 &
    first=$!
    CLATTN_CACHE_DIR=$root/cache wine64 "$work/build/clattn.exe" train "$config" --out "$root/b" \
        --set steps=5 >"$root/b.log" 2>&1 &
    second=$!
    if ! wait $first || ! wait $second; then
        tail -n 3 "$root"/?.log
        return 1
    fi
    before=$(find "$root/cache" -type f -exec sha256sum {} + | sort)
    CLATTN_CACHE_DIR=$root/cache train "$root/c" 5 || return 1
    echo "$(wc -l <<<"$before") files in the cache"
    [ -n "$before" ] && [ "$before" = "$(find "$root/cache" -type f -exec sha256sum {} + | sort)" ] &&
        [ "$(state "$root/a")" = "$(state "$root/b")" ] && [ "$(state "$root/a")" = "$(state "$root/c")" ]
}

# A tagger's state has the bits of the one that Linux trains with the same version of the
# driver.
same_state() {
    local root=$work/runs/state packages
    rm -rf "$root"
    [ -f "$work/driver/packages" ] || {
        echo 'without the driver for Windows there is nothing to compare'
        return 1
    }
    mapfile -t packages <"$work/driver/packages"
    fetch_driver "$work/linux-driver" manylinux_2_28_x86_64 '*/lib/*' "${packages[@]}" || return 1
    echo "${packages[*]}"
    mkdir -p "$work/linux-driver/vendors"
    echo "$work/linux-driver/libintelocl.so" >"$work/linux-driver/vendors/intel.icd"
    compile "$work/linux" clattn --buildtype=release -Dtests=false -Dmpi=disabled -Dserve=disabled \
        -Dclblast=disabled -Dclfft=disabled -Dsentencepiece=disabled -Dicu=disabled -Dmarkup=disabled -Ddetect=disabled || return 1
    OCL_ICD_VENDORS=$work/linux-driver/vendors LD_LIBRARY_PATH=$work/linux-driver CLATTN_CACHE_DIR=$work/cache-linux \
        "$work/linux/clattn" train "$config" --out "$root/linux" --set steps=100 >"$work/train.log" 2>&1 || {
        tail -n 3 "$work/train.log"
        return 1
    }
    train "$root/windows" 100 || return 1
    state "$root/linux"
    state "$root/windows"
    [ "$(state "$root/linux")" = "$(state "$root/windows")" ]
}

# suite NAME: its tests, each in a process of its own (tests/small).
suite() {
    local program log good=0 skipped_here=0 bad=0
    for program in "$work/build/tests/test-$1"-*.exe; do
        log=$work/suite.log
        (cd "$work/build" && timeout 900 wine64 "$program") >"$log" 2>&1 || {
            echo "$(basename "$program"):"
            grep -vE '^ok - ' "$log" | tail -n 20
            bad=$((bad + 1))
        }
        good=$((good + $(grep -cE '^ok - [^#]*$' "$log")))
        skipped_here=$((skipped_here + $(grep -c '^ok - .* # SKIP$' "$log")))
    done
    echo "$good tests of $1 passed, $skipped_here skipped, programs that fail: $bad"
    [ $good -gt 0 ] && [ $bad -eq 0 ]
}

# What the tests of these suites read.
suites='base expr text metrics exchange train cli'
build_suites() {
    local pattern=${suites// /|} targets
    mkdir -p "$work/build/tests"
    [ ! -f "$work/build/OpenCL.dll" ] || cp "$work/build/OpenCL.dll" "$work/build/tests/"
    mapfile -t targets < <(ninja -C "$work/build" -t targets all |
        grep -oE "^tests/test-($pattern)-[a-z0-9_]+\.exe" | sort -u)
    build "${targets[@]}" tests/kernels.stamp >"$work/build.log" 2>&1 || {
        grep -E 'error|undefined' "$work/build.log"
        return 1
    }
}
export CLATTN_TEST_KERNELS=$work/build/tests/cl CLATTN_TEST_DATA=$PWD/tests/data
export CLATTN_TEST_MODELS=$PWD/tests/fuzz/fixtures CLATTN_TEST_TREEBANK=$PWD/examples/data/fr_spoken
export CLATTN_TEST_ATTENTION=$PWD/docs/attention.md CLATTN_TEST_TRAINING=$PWD/docs/training.md

# clang's target of Windows, with the libraries of mingw-w64.
by_clang() {
    [ -f "$work/clang/build.ninja" ] ||
        PKG_CONFIG_LIBDIR="$work/deps/lib/pkgconfig" \
            meson setup "$work/clang" --cross-file tools/cross/windows-clang.ini --buildtype=release \
            -Dwerror=true -Dtests=false -Dclblast=disabled -Dclfft=disabled -Dicu=disabled -Dmarkup=disabled -Ddetect=disabled \
            -Dsentencepiece=disabled -Dmarian=enabled -Dc_args=-isystem"$work/deps/include" \
            >"$work/build.log" 2>&1 || {
        tail -n 3 "$work/build.log"
        return 1
    }
    ninja -C "$work/clang" --quiet >"$work/build.log" 2>&1 || {
        grep error "$work/build.log"
        return 1
    }
    [ ! -f "$work/build/OpenCL.dll" ] || cp "$work/build/OpenCL.dll" "$work/clang/"
    wine64 "$work/clang/clattn.exe" verify --json tests/data/golden/attention >"$work/clang.jsonl" &&
        echo "$(grep -c '"ok":true' "$work/clang.jsonl") golden runs are right"
}

step 'tests that need no POSIX'
run 'tests are built' build_suites
for name_of_suite in $suites; do
    run "tests of $name_of_suite" suite "$name_of_suite"
done

step 'what Windows lacks, and what it refuses'
run 'serve' refused libmicrohttpd serve --model x
run 'a name of a device' refused 'aux' train "$config" --out "$work/runs/aux"

step 'training'
run 'ten awkward names' awkward_names
run 'killed and resumed twenty times' kill_and_resume

run 'one cache, two processes' shared_cache
run 'a state beside that of Linux' same_state

step 'the DLL in a program'
run 'embed' embedded

step 'by clang'
run 'clang' by_clang
