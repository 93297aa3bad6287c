#!/bin/bash
# verify.sh - the program's verbs and options, devices and verify, from outside
# usage: tests/cli/verify.sh SOURCE_ROOT CLATTN
set -u
source=$1 clattn=$2
golden=$source/tests/data/golden/masked_softmax
good=$golden/masked_softmax_20.safetensors

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
unset CLATTN_SCHEDULE CLATTN_GEMM CLATTN_LOG CLATTN_KERNEL_PATH
bad=0

complain() {
    echo "FAILED: $*"
    sed 's/^/    | /' "$work/out" "$work/err"
    bad=1
}

# expect CODE OUT ERR COMMAND...: the exit status, and patterns for stdout and stderr; an
# empty pattern wants nothing there.
expect() {
    local code=$1 out=$2 err=$3 status
    shift 3
    "$@" >"$work/out" 2>"$work/err"
    status=$?
    [ "$status" -eq "$code" ] || complain "exit $status, not $code: $*"
    matches "$work/out" "$out" || complain "stdout is not '$out': $*"
    matches "$work/err" "$err" || complain "stderr is not '$err': $*"
}

matches() {
    if [ -z "$2" ]; then
        [ ! -s "$1" ]
    else
        grep -qE -- "$2" "$1"
    fi
}

# lines N: how many lines the last command put on stdout.
lines() {
    [ "$(wc -l <"$work/out")" -eq "$1" ] || complain "not $1 lines on stdout"
}

# json KEY...: each line is one object with exactly these keys, in this order.
json() {
    python3 - "$work/out" "$@" <<'PY' || complain "not JSON lines with $*"
import json, sys
for line in open(sys.argv[1], encoding="utf-8"):
    keys = list(json.loads(line, parse_constant=lambda c: sys.exit(c)))
    assert keys == sys.argv[2:], keys
PY
}

# ---- verbs and options
expect 2 '' 'verify' "$clattn"
expect 2 '' "^clattn: 'verif' is no command; did you mean 'verify'\?" "$clattn" verif
expect 2 '' "^clattn: 'xyzzy' is no command \(see" "$clattn" xyzzy
expect 2 '' "^clattn: unknown option '--jsn'; did you mean '--json'\?" \
    "$clattn" devices --jsn
expect 2 '' "^clattn: unknown option '--versoin'; did you mean '--version'\?" \
    "$clattn" --versoin
expect 2 '' "^clattn: option '--device' needs a value" "$clattn" verify --device
expect 2 '' "^clattn: option '--json=1' takes no value" "$clattn" verify --json=1
expect 2 '' "^clattn: --device is empty" "$clattn" verify --device=
expect 2 '' "^clattn: unexpected 'x'" "$clattn" devices x
expect 0 '^clattn [0-9]+\.[0-9]+\.[0-9]+$' '' "$clattn" --version
expect 0 '^clattn [0-9]' '' "$clattn" verify -V
expect 0 '^Usage: clattn .*COMMAND' '' "$clattn" --help
grep -q '^  verify ' "$work/out" || complain 'help lists no verbs'
expect 0 '^Usage: clattn devices' '' "$clattn" devices --usage
for verb in devices verify bench tune; do
    expect 0 "^Usage: clattn $verb" '' "$clattn" "$verb" --help
done
expect 6 '' '^clattn: standard output: ' bash -c "'$clattn' --help >/dev/full"
expect 6 '' '^clattn: standard output: ' bash -c "'$clattn' devices >/dev/full"
expect 6 '' "$work/none" bash -c "'$clattn' verify '$work/none' >/dev/full"
[ "$(wc -l <"$work/err")" -eq 1 ] || complain 'a failure has two lines where stdout is full'

# ---- devices
expect 0 '^\* +0 ' '' env -u CLATTN_DEVICE "$clattn" devices
expect 0 '^     gemm ' '' "$clattn" devices -v
expect 0 '"index":0,' '' "$clattn" devices --json
json index id name vendor platform type driver version memory_bytes max_buffer_bytes \
    local_bytes compute_units clock_mhz vector_width fp16 subgroups gemm unit uuid default
expect 2 '^   0 ' "^clattn: no device matches 'nonesuch' \(0 " \
    env CLATTN_DEVICE=nonesuch "$clattn" devices
expect 2 '^   0 ' "^clattn: device '!': '!' must be followed by a device$" \
    env CLATTN_DEVICE='!' "$clattn" devices
name=$("$clattn" devices | sed -nE 's/^. +0  .* GiB +[0-9]+ +[a-z]+ +[a-z]+ +[a-z]+ +(.*)/\1/p')
expect 0 '^\* +0 ' '' env CLATTN_DEVICE="nothing such, $name, gpu" "$clattn" devices
expect 0 '1 cases, 0 failed$' "^clattn: warning: '!nvida' excludes no device$" \
    env CLATTN_DEVICE='!nvida' "$clattn" verify "$good"

# ---- no device: one status, and a line that names the cause
# absent PATTERN ENV_ARGUMENT...: a machine without devices; the last line is ours.
absent() {
    local pattern=$1
    shift
    expect 4 '' "^clattn: there is no OpenCL device: $pattern" env "$@" "$clattn" devices
    [ "$(grep -c '^clattn' "$work/err")" -eq 1 ] || complain "not one line: $*"
}
icd=$work/icd
mkdir "$icd"
absent "OCL_ICD_VENDORS is '$icd', which has no file \*\.icd\$" OCL_ICD_VENDORS="$icd"
absent "OCL_ICD_VENDORS is '$icd'" OCL_ICD_VENDORS="$icd" CLATTN_DEVICE=cpu
absent "OCL_ICD_VENDORS is '/nonexistent', which does not exist\$" OCL_ICD_VENDORS=/nonexistent
echo libnonesuch.so.7 >"$icd/a.icd"
absent "'$icd/a.icd' names a driver that cannot be loaded: libnonesuch.so.7: " \
    OCL_ICD_VENDORS="$icd"
echo libm.so.6 >"$icd/a.icd"
absent "'$icd/a.icd' names 'libm.so.6', which gives no platform" OCL_ICD_VENDORS="$icd"
rm "$icd/a.icd"
if [ -f /etc/OpenCL/vendors/pocl.icd ]; then
    cp /etc/OpenCL/vendors/pocl.icd "$icd"
    pocl="platform 'Portable Computing Language' has none: "
    absent "$pocl"'POCL_DEVICES is '"'nonesuch'" OCL_ICD_VENDORS="$icd" POCL_DEVICES=nonesuch
    absent "${pocl}its cache folder '/dev/null/x' cannot be written to; set POCL_CACHE_DIR" \
        OCL_ICD_VENDORS="$icd" POCL_CACHE_DIR=/dev/null/x
    absent "${pocl}its cache folder '/dev/null/.cache/pocl/kcache'" \
        -u POCL_CACHE_DIR -u XDG_CACHE_HOME HOME=/dev/null OCL_ICD_VENDORS="$icd"

    # a driver that would end the process: refused before it compiles, or named after it
    # shellcheck disable=SC2317 # expect calls it
    fresh() { env -i OCL_ICD_VENDORS="$icd" CLATTN_CACHE_DIR=off POCL_CACHE_DIR="$work/k" "$@"; }
    expect 4 '' "^clattn: the driver PoCL cannot link kernels: .*'ld'" \
        fresh "$clattn" verify "$good"
    expect 0 '^2 runs of 1 cases, 0 failed$' '' fresh PATH="$PATH" "$clattn" verify "$good"
    expect 4 '' '^clattn: Portable Computing Language ended the process \(cl[A-Za-z]*\)$' \
        fresh "$clattn" verify "$source/tests/data/golden/silu"
fi

# ---- verify: both schedules, one, the built-in set, files and folders in order
expect 0 '^2 runs of 1 cases, 0 failed$' '' "$clattn" verify "$good"
expect 0 '"schedule":"group"' '' "$clattn" verify --json "$good"
lines 2
json case op schedule device index uuid driver ok nmse max_abs worst
# What is known when a driver ends the process, or a limit of time does, is printed.
"$clattn" verify --json "$good" 2>"$work/err" | dd bs=65536 count=1 of="$work/out" 2>/dev/null
lines 1
CLATTN_SCHEDULE=tile expect 0 '"schedule":"tile"' '' "$clattn" verify "$good" --json
lines 1
CLATTN_SCHEDULE=auto expect 0 '^ok ' '' "$clattn" verify "$good"
lines 3
expect 0 ' 0 failed$' '' "$clattn" verify
mkdir -p "$work/set/b" "$work/set/a"
cp "$good" "$work/set/b/2.safetensors"
cp "$good" "$work/set/a/3.safetensors"
cp "$good" "$work/set/1.safetensors"
echo 'not a case' >"$work/set/notes.txt"
CLATTN_SCHEDULE=group expect 0 '"case":"1"' '' "$clattn" verify --json "$work/set"
order=$(grep -o '"case":"[^"]*"' "$work/out" | tr -dc '0-9')
[ "$order" = 132 ] || complain "order is $order"
expect 0 '^8 runs of 4 cases' '' "$clattn" verify "$work/set" "$good"

# ---- every device in turn, and one status
export POCL_DEVICES='pthread pthread'
if [ "$("$clattn" devices --json | wc -l)" -eq 2 ]; then
    expect 0 '^4 runs of 1 cases on 2 devices, 0 failed$' '' "$clattn" verify -d all "$good"
    grep -q '^device 1: ' "$work/out" || complain 'no second device'
    expect 0 '"index":1' '' "$clattn" verify --json --device all "$good"
    lines 4
    expect 0 ' on 2 devices, 0 failed$' '' "$clattn" verify -d all "$golden"
else
    expect 0 ' of 1 cases' '' "$clattn" verify -d all "$good"
fi
unset POCL_DEVICES
expect 6 '' "$work/none" "$clattn" verify -d all "$work/none"
expect 4 '' 'no OpenCL device' env OCL_ICD_VENDORS="$work" OPENCL_VENDOR_PATH="$work" \
    "$clattn" verify -d all "$good"
expect 2 '' "CLATTN_GEMM is 'mkl'" env CLATTN_GEMM=mkl "$clattn" verify -d all "$good"
[ "$(wc -l <"$work/err")" -eq 1 ] || complain 'a wrong variable is named more than once'

# ---- the process that compiles ahead ends with the first, however that ends
child() { tr -d " " <"/proc/$1/task/$1/children" 2>/dev/null; }
if [ "$(getconf _NPROCESSORS_ONLN)" -gt 1 ] && [ -e "/proc/$$/task/$$/children" ]; then
    mkdir "$work/pocl"
    CLATTN_CACHE_DIR=off POCL_CACHE_DIR=$work/pocl "$clattn" verify "$golden" >/dev/null 2>&1 &
    first=$! ahead=
    for _ in $(seq 100); do
        ahead=$(child $first)
        [ -z "$ahead" ] || break
        sleep 0.02
    done
    kill -KILL $first
    wait $first 2>/dev/null
    [ -n "$ahead" ] || complain 'nothing compiles ahead'
    for _ in $(seq 20); do
        kill -0 "$ahead" 2>/dev/null || break
        sleep 0.1
    done
    ! kill -0 "$ahead" 2>/dev/null || complain 'it goes on without the first'
fi

# ---- results that are off
# damage NAME SED...: a case that differs from the good one.
damage() {
    LC_ALL=C sed "$2" "$good" >"$work/$1.safetensors"
    cmp -s "$good" "$work/$1.safetensors" && complain "no change: $2"
}
damage op 's/masked_softmax/masked_softmux/'
expect 1 "FAILED .*unknown operator 'masked_softmux'" '^clattn: verify: 2 of 2 runs failed' \
    "$clattn" verify "$work/op.safetensors"
expect 1 '"ok":false.*"error":".*masked_softmux' 'failed' \
    "$clattn" verify --json "$work/op.safetensors"
json case op schedule device index uuid driver ok nmse max_abs worst error
damage attribute 's/causal/casual/'
expect 1 "no attribute 'casual'" 'casual' "$clattn" verify "$work/attribute.safetensors"
damage value 's/\("causal": *"\)0/\17/'
expect 1 "'causal' is '7', must be 0 or 1" 'causal' \
    "$clattn" verify "$work/value.safetensors"
LC_ALL=C sed 's/"window":"11"/"window":".5"/' \
    "$source/tests/data/golden/band_attention/band_attention_31.safetensors" >"$work/window.safetensors"
expect 1 "'window' is '.5', must be a whole number" 'whole' \
    "$clattn" verify "$work/window.safetensors"
cp "$good" "$work/off.safetensors"
printf '\0\0\200\077' | # the last number is 1.0 now
    dd of="$work/off.safetensors" bs=1 conv=notrunc status=none \
        seek=$(($(stat -c %s "$good") - 4 - 24)) 2>/dev/null
cmp -s "$good" "$work/off.safetensors" && complain 'no change'
expect 1 '^FAILED ' '^clattn: verify: 2 of 2 .*off \(tile\): [a-z_.]+\[[0-9]+\] is off by' \
    "$clattn" verify "$work/off.safetensors"
expect 1 '"ok":false,"nmse":[0-9.e-]+,' 'failed' "$clattn" verify --json "$work/off.safetensors"
json case op schedule device index uuid driver ok nmse max_abs worst

# ---- files that are no cases; the others run
damage tensor 's/"in.x"/"in.z"/'
expect 3 '^FAILED ' "^clattn: .*tensor.safetensors: tensor 'x' is missing" \
    "$clattn" verify "$work/tensor.safetensors"
head -c 500 "$good" >"$work/cut.safetensors"
expect 3 "^ok +masked_softmax_20 " '^clattn: .*cut.safetensors: ' \
    "$clattn" verify "$work/cut.safetensors" "$good"
expect 3 '"error":' 'cut' "$clattn" verify --json "$work/cut.safetensors" "$good"
expect 1 "^ok +masked_softmax_20 " 'cut.safetensors' \
    "$clattn" verify "$work/cut.safetensors" "$work/op.safetensors" "$good"
expect 6 '' "^clattn: $work/none: .*No such file" "$clattn" verify "$work/none" "$good"
expect 2 '' "no device matches 'nonesuch'" "$clattn" verify -d nonesuch "$good"
expect 2 '' "CLATTN_GEMM is 'mkl'" env CLATTN_GEMM=mkl "$clattn" verify "$good"

# ---- a locale with a decimal comma
if mkdir "$work/locale" &&
    localedef -i de_DE -f UTF-8 "$work/locale/de_DE.UTF-8" 2>/dev/null; then
    comma=(env LOCPATH="$work/locale" LC_ALL=de_DE.UTF-8)
    expect 0 '"nmse":[0-9.e-]+,' '' "${comma[@]}" "$clattn" verify --json "$good"
    json case op schedule device index uuid driver ok nmse max_abs worst
    expect 0 '"index":0,' '' "${comma[@]}" "$clattn" devices --json
else
    echo 'no locale with a decimal comma here'
fi

exit $bad
