#!/bin/bash
# gpu-parts.sh - what a card can tell, in parts of at most nine minutes: run.sh of a bundle
# usage: run.sh PART...
#
# tools/gpu-bundle.sh packs it with all that it needs but bash, the C library and the
# vendor's driver; docs/gpu.md has the parts. Each part ends by itself or is cut, and leaves
# OUT/PART.tar.gz (OUT is the current folder by default), below 16 MiB. In it steps.jsonl
# names driver, device and commit, then has a line a step; each step has its output in a
# file. What fails does not stop the rest; the exit status is 1 then. `run.sh --list` prints
# the parts.
#
# GPU_DRIVER is the driver's library where none is registered and none is found;
# CLATTN_DEVICE picks a device. GPU_CASES is an extended regular expression: parts B, C and G
# run the folders and tests whose names match, D and F such benchmarks. GPU_JOBS is how many
# cases run at once, GPU_LIMIT a part's seconds, GPU_STEPS the steps of a profile, GPU_TUNE
# the seconds of `clattn tune`, GPU_TRAIN those of a training.
# shellcheck disable=SC2317 # parts and steps are called by name
self=$(realpath "${BASH_SOURCE[0]}")
here=$(dirname "$self")

list() {
    cat <<'END'
A  the device, its driver, its peaks, the first kernels
B  golden cases under the schedule group
C  tests of the operators
D  benchmarks, each result checked
E  profiles of training a translator, a tagger, a reader
F  tuning, and the benchmarks with it
G  golden cases under the schedule tile
H  a tagger trained for five minutes, and its score
I  a translator trained for five minutes, and its score
END
}

refuse() {
    echo "run.sh: $1" >&2
    exit 2
}

# number NAME VALUE LEAST MOST
number() {
    if ! [[ $2 =~ ^[0-9]{1,4}$ ]] || [ "$2" -lt "$3" ] || [ "$2" -gt "$4" ]; then
        refuse "$1 is '$2', not a whole number from $3 to $4"
    fi
}

# end VARIABLE VALUE: all processes that were started with it, until none is left. Those of
# tests leave their group and session, where `timeout` does not find them.
end() {
    local file found='yes' tries
    for tries in {1..20}; do
        [ -n "$found" ] || return 0
        [ "$tries" -eq 1 ] || sleep 0.1
        found=
        while read -r file; do
            found=${file%/environ}
            kill -KILL "${found##*/}" 2>/dev/null
        done < <(grep -lszxF "$1=$2" /proc/[0-9]*/environ)
    done
}

# record STEP STATUS SECONDS FAILURES
record() {
    printf '{"part":"%s","step":"%s","status":"%s","seconds":%d,"failures":%d}\n' \
        "$GPU_PART" "$@" >>"$result/steps.jsonl"
}

# step NAME SECONDS COMMAND...: a function or program, in a process that ends in time.
step() {
    local name=$1 seconds=$2 status=0 failures=0 begin=$SECONDS left
    shift 2
    left=$((deadline - $(date +%s)))
    [ "$left" -gt "$seconds" ] || seconds=$left
    if [ "$seconds" -le 0 ]; then
        record "$name" 'not begun' 0 1
        return
    fi
    env GPU_STEP="$GPU_MARK-$name" timeout -k 5 "$seconds" "$self" --do "$@" \
        >"$result/$name.txt" 2>"$result/$name.err" || status=$?
    if [ "$status" -eq 124 ] || [ "$status" -eq 137 ]; then
        end GPU_STEP "$GPU_MARK-$name"
        status='cut'
    fi
    failures=$(grep -cE '"ok":false|"verified":false|^not ok' "$result/$name.txt")
    [ "$status" = 0 ] || [ "$failures" -gt 0 ] || failures=1
    [ -s "$result/$name.err" ] || rm -f "$result/$name.err"
    record "$name" "$status" $((SECONDS - begin)) "$failures"
}

# each SECONDS FUNCTION NAME...: a step a name, several at once: most of a case is compiling.
each() {
    local seconds=$1 function=$2 name running=0
    shift 2
    for name; do
        if [ "$running" -ge "$jobs" ]; then
            wait -n
            running=$((running - 1))
        fi
        step "$name" "$seconds" "$function" "$name" &
        running=$((running + 1))
    done
    wait
}

# chosen: names of standard input that GPU_CASES allows; those of the arguments first.
chosen() {
    local all name
    all=$(grep -E -- "${GPU_CASES:-.}")
    for name; do
        grep -xF -- "$name" <<<"$all"
    done
    grep -vxF -f <(printf '%s\n' '' "$@") <<<"$all"
}

clattn() { "$here/bin/clattn" "$@"; }
golden() { clattn verify --json "golden/$1"; }
# Recurrent networks have not passed on every card; they come first.
cases() { find golden -mindepth 1 -type d -printf '%f\n' | sort | chosen gru lstm sru; }
op_test() { CRITERION_JOBS=1 CLATTN_TEST_KERNELS=$here/cl "tests/test-ops-$1" --tap=-; }
# The first ones compile most.
op_tests() {
    find tests -name 'test-ops-*' -printf '%f\n' | sed 's/^test-ops-//' | sort |
        chosen not_finite matmul_product conv_attention_1d attention ham relative_attention
}
bench() { clattn bench --quick ${GPU_CASES:+--filter "$GPU_CASES"} "$@"; }

# What the vendor's own programs say, and programs that are not ours, where they are there.
vendor() {
    local program
    for program in nvidia-smi rocm-smi xpu-smi clinfo; do
        ! command -v "$program" >/dev/null || "$program" || true
    done
}
peaks() {
    ! command -v clpeak >/dev/null || clpeak --compute-sp --global-bandwidth --kernel-latency
    clattn bench --quick --verify --filter '^matmul fwd'
}
# The second time its program comes from a cache.
first_kernels() {
    time golden add
    time golden add
}
# What kind of text the driver gives as a binary, such as a version of PTX.
binaries() {
    find cache -type f -size +0 -exec grep -aohE '^\.(version|target|address_size) .*' {} + |
        sort | uniq -c
}

part_A() {
    step devices 60 clattn devices --verbose
    step vendor 60 vendor
    step first_kernels 60 first_kernels
    step peaks 180 peaks
    step startup 120 clattn bench --quick --suite startup
    step binaries 20 binaries
}

part_B() {
    export CLATTN_SCHEDULE=group
    mapfile -t names < <(cases)
    each 300 golden "${names[@]}"
}

part_C() {
    mapfile -t names < <(op_tests)
    each 500 op_test "${names[@]}"
}

part_D() { step bench 510 bench --verify --json "$result/bench.json"; }

# Parallel text and questions without anybody's licence: words of the shipped sentences, the
# same in reverse order, and which word stands behind three others.
texts() {
    local split source
    mkdir -p "$1"
    for split in train dev test; do
        source=$1/$split
        sed -n 's/^# text = //p' "examples/data/fr_spoken/$split.conllu" |
            awk 'NF > 1 && NF <= 30' >"$source.fr"
        awk '{ for (i = NF; i > 1; i--) printf "%s ", $i; print $1 }' "$source.fr" >"$source.rf"
        LC_ALL=C grep -v '[^ -~]\|["\\]' "$source.fr" | LC_ALL=C awk '
            BEGIN { printf "{\"data\": [{\"title\": \"t\", \"paragraphs\": [" }
            NF > 5 {
                at = length($1 $2 $3) + 3
                gsub(/  +/, " ")
                printf "%s{\"context\": \"%s\", \"qas\": [{\"id\": \"%d\", ", n++ ? ", " : "", $0, n
                printf "\"question\": \"%s %s %s ?\", \"answers\": ", $1, $2, $3
                printf "[{\"text\": \"%s\", \"answer_start\": %d}]}]}", $4, at
            }
            END { print "]}]}" }' >"$source.json"
    done
}

# profile CONFIG ARGUMENT...: device time by kernel of some steps of training.
profile() {
    clattn train "examples/configs/$1.json" --set steps="$GPU_STEPS" --profile \
        --out "work/$GPU_PART/$1" "${@:2}" 2>&1
}

pairs=(--set data="$here/work/texts" --set source=fr --set target=rf --set dev=dev --set test=test
    --set merges=2000)

part_E() {
    step texts 20 texts work/texts
    step nmt 180 profile nmt-plain "${pairs[@]}" --set eval_every=100000
    step tagger 120 profile tagger-conv2d
    step reader 180 profile reader-bidaf --set data="$here/work/texts" \
        --set eval_every=100000
}

part_F() {
    export CLATTN_TUNING=$result/tuning.json
    step tune $((GPU_TUNE + 60)) clattn tune --seconds "$GPU_TUNE"
    step bench 500 bench --json "$result/bench_tuned.json"
    [ ! -s result-D/bench.json ] ||
        step compare 20 clattn bench compare result-D/bench.json "$result/bench_tuned.json"
}

part_G() {
    export CLATTN_SCHEDULE=tile
    mapfile -t names < <(cases)
    each 300 golden "${names[@]}"
}

# trained NAME ARGUMENT...: a training that its time ends keeps its state, and has succeeded.
trained() {
    local status=0
    timeout --signal=INT "$GPU_TRAIN" "$here/bin/clattn" train "examples/configs/$1.json" \
        --out "work/$GPU_PART/$1" "${@:2}" || status=$?
    cp "work/$GPU_PART/$1"/*.jsonl "work/$GPU_PART/$1/config.json" "$result/"
    case $status in 0 | 124 | 130) ;; *) return 1 ;; esac
}

part_H() {
    step train $((GPU_TRAIN + 60)) trained tagger-conv2d --set epochs=1000 --set patience=0
    step eval 180 clattn eval --model work/H/tagger-conv2d --split test
}

part_I() {
    step texts 20 texts work/texts
    step train $((GPU_TRAIN + 60)) trained nmt-csan2d "${pairs[@]}" --set steps=100000 \
        --set epochs=100000
    step eval 180 clattn eval --model work/I/nmt-csan2d --split test
}

# The driver's libraries: those of cards or, where there is none, of processors.
drivers() {
    local machine names name folder
    if [ -n "${GPU_DRIVER-}" ]; then
        echo "$GPU_DRIVER"
        return
    fi
    machine=$(uname -m)
    for names in 'libnvidia-opencl.so.1 libamdocl64.so libigdrcl.so' 'libintelocl.so libpocl.so.2'; do
        for name in $names; do
            for folder in "/usr/lib/$machine-linux-gnu" /usr/lib64 /usr/lib /usr/local/lib \
                /usr/local/nvidia/lib64 /usr/local/nvidia/lib /usr/lib/wsl/lib /opt/rocm/lib \
                "/opt/amdgpu-pro/lib/$machine-linux-gnu" "/usr/lib/$machine-linux-gnu/intel-opencl"; do
                [ ! -e "$folder/$name" ] || {
                    echo "$folder/$name"
                    break
                }
            done
        done | grep . && return
    done
    timeout 60 find / -xdev \( -name 'libnvidia-opencl.so.*' -o -name 'libamdocl64.so*' \
        -o -name 'libigdrcl.so' -o -name 'libpocl.so.*' \) -print -quit 2>/dev/null
}

# A driver that is registered on the machine is left to the loader.
find_driver() {
    local library
    [ -n "${GPU_DRIVER-}" ] || ! clattn devices --json 2>/dev/null | grep -q '"default":true' || return
    rm -rf vendors
    mkdir vendors
    while read -r library; do
        echo "$library" >"vendors/$(basename "$library").icd"
        LD_LIBRARY_PATH=$LD_LIBRARY_PATH:$(dirname "$library")
    done < <(drivers)
    export OCL_ICD_VENDORS=$here/vendors
}

# Libraries of the bundle, but the C++ compiler's where the machine has newer ones: its
# driver may need them.
libraries() {
    local own theirs
    own=$(cat lib/gcc/version 2>/dev/null)
    theirs=$(basename "$(readlink -f "/usr/lib/$(uname -m)-linux-gnu/libstdc++.so.6")")
    [ -e "/usr/lib/$(uname -m)-linux-gnu/libstdc++.so.6" ] ||
        theirs=$(basename "$(readlink -f /usr/lib64/libstdc++.so.6)")
    LD_LIBRARY_PATH=$here/lib
    [ "$(printf '%s\n' "$own" "$theirs" | sort -V | tail -n 1)" = "$theirs" ] ||
        LD_LIBRARY_PATH=$here/lib/gcc:$LD_LIBRARY_PATH
    export LD_LIBRARY_PATH
}

environment() {
    libraries
    mkdir -p -m 700 cache work
    export HOME=${HOME:-$here} CLATTN_LOG=${CLATTN_LOG:-info}
    export CLATTN_CACHE_DIR=$here/cache CUDA_CACHE_PATH=$here/cache/cuda
    export POCL_CACHE_DIR=${POCL_CACHE_DIR:-$here/cache/pocl} CUDA_CACHE_MAXSIZE=4294967296
    mkdir -p "$POCL_CACHE_DIR"
    find_driver
}

# The first line of steps.jsonl.
describe() {
    local line device driver
    line=$(clattn devices --json 2>/dev/null | grep '"default":true')
    device=$(sed -n 's/.*"name":"\([^"]*\)".*/\1/p' <<<"$line")
    driver=$(sed -n 's/.*"driver":"\([^"]*\)".*/\1/p' <<<"$line")
    printf '{"part":"%s","device":"%s","driver":"%s","library":"%s","commit":"%s",' "$GPU_PART" \
        "${device:-none}" "$driver" "$(cat vendors/*.icd 2>/dev/null | paste -sd ' ')" "$(cat commit)"
    printf '"cores":%d,"glibc":"%s","limit_s":%d,"cases":"%s"}\n' "$(nproc)" \
        "$(getconf GNU_LIBC_VERSION | cut -d ' ' -f 2)" "$limit" "${GPU_CASES//[\"\\]/}"
}

# pack: all results but weights; a file that makes the archive too large keeps its end.
pack() {
    local archive=$out/$GPU_PART.tar.gz large
    find "$result" \( -name '*.ckpt*' -o -name '*.safetensors' \) -delete
    while :; do
        tar -czf "$archive" "$(basename "$result")" || return
        [ "$(stat -c %s "$archive")" -ge 15000000 ] || break
        large=$(find "$result" -type f -printf '%s %p\n' | sort -rn | head -n 1 | cut -d ' ' -f 2-)
        tail -c 100000 "$large" >"$large.end"
        rm "$large"
    done
}

# run PART: with a limit that holds, and an archive in any case.
run() {
    local file name status=0 slack=$((limit / 12)) begin=$SECONDS
    export GPU_PART=$1 result=$here/result-$1 jobs
    export GPU_MARK=$$-$1
    export deadline=$(($(date +%s) + limit - slack))
    rm -rf "$result" "work/$1" # a run of training continues no other
    mkdir -p "$result" "work/$1"
    describe >"$result/steps.jsonl"
    timeout -k 3 $((limit - slack * 2 / 3)) "$self" --do "part_$1" || status=$?
    end GPU_MARK "$GPU_MARK"
    for file in "$result"/*.txt; do # a step that began and did not end
        name=$(basename "$file" .txt)
        [ ! -e "$file" ] || grep -q "\"step\":\"$name\"" "$result/steps.jsonl" ||
            record "$name" cut $((SECONDS - begin)) 1
    done
    record total "$status" $((SECONDS - begin)) 0
    pack
    cat "$result/steps.jsonl"
    ! grep -q '"failures":[1-9]' "$result/steps.jsonl"
}

if [ "${1-}" = --do ]; then
    cd "$here" && "${@:2}"
    exit
fi
if [ "${1-}" = --list ]; then
    list
    exit
fi
[ $# -gt 0 ] || refuse 'usage: run.sh PART..., parts A to I; run.sh --list names them'
for part; do
    list | cut -c 1 | grep -qxF -- "$part" || refuse "no part '$part'; run.sh --list names them"
done
limit=${GPU_LIMIT:-540} jobs=${GPU_JOBS:-$(nproc)}
number GPU_LIMIT "$limit" 1 540
number GPU_JOBS "$jobs" 1 1024
export GPU_STEPS=${GPU_STEPS:-60} GPU_TUNE=${GPU_TUNE:-120} GPU_TRAIN=${GPU_TRAIN:-300}
number GPU_STEPS "$GPU_STEPS" 1 9999
number GPU_TUNE "$GPU_TUNE" 1 400
number GPU_TRAIN "$GPU_TRAIN" 1 400
[ -z "${GPU_DRIVER-}" ] || [ -e "$GPU_DRIVER" ] || refuse "GPU_DRIVER: no file '$GPU_DRIVER'"
[ -d "${OUT:-.}" ] || refuse "OUT: no folder '${OUT-}'"
out=$(realpath "${OUT:-.}")
cd "$here" || exit 6
environment
failed=0
for part; do
    run "$part" || failed=1
done
exit "$failed"
