#!/bin/bash
# faults.sh - bad surroundings and bad input: one line that says what, the right exit code
# usage: tests/cli/faults.sh SOURCE_ROOT CLATTN
set -u
source=$1 clattn=$2

# smallest OPERATOR: its smallest golden case
smallest() {
    find "$source/tests/data/golden/$1" -name '*.safetensors' -printf '%s %p\n' |
        sort -n | head -n 1 | cut -d ' ' -f 2-
}
case=$(smallest masked_softmax)

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
export XDG_CACHE_HOME=$work/xdg CLATTN_CACHE_DIR=$work/cache
unset CLATTN_DEVICE CLATTN_SCHEDULE CLATTN_GEMM CLATTN_LOG CLATTN_KERNEL_PATH
bad=0

complain() {
    echo "FAILED: $*"
    sed 's/^/    | /' "$work/err"
    bad=1
}

# expect CODE LINES PATTERN COMMAND...: the exit status, how many lines on stderr (those
# that a driver's compiler prints by itself not counted), and what they say.
expect() {
    local code=$1 lines=$2 pattern=$3 status said
    shift 3
    "$@" >"$work/out" 2>"$work/raw"
    status=$?
    grep -vE '^[0-9]+ (error|warning)s? generated' "$work/raw" >"$work/err"
    said=$(wc -l <"$work/err")
    [ "$status" -eq "$code" ] || complain "exit $status, not $code: $*"
    [ "$said" -eq "$lines" ] || complain "$said lines on stderr, not $lines: $*"
    [ "$lines" -eq 0 ] || grep -qE "$pattern" "$work/err" || complain "no '$pattern': $*"
}

# nothing left behind but whole files
no_scraps() {
    local scraps
    scraps=$(find "$work" -name '*.tmp*' -o -name '.*.??????')
    [ -z "$scraps" ] || complain "partial files: $scraps"
}

verify=("$clattn" verify "$case")

# devices and variables
expect 2 1 "no device matches 'nonesuch' \(0 " "$clattn" verify --device nonesuch "$case"
expect 2 1 "no device matches '99'" env CLATTN_DEVICE=99 "${verify[@]}"
expect 2 1 "CLATTN_SCHEDULE.*'tiles'.*tile.*group" env CLATTN_SCHEDULE=tiles "${verify[@]}"
expect 2 1 "CLATTN_GEMM.*'mkl'.*tile.*clblast" env CLATTN_GEMM=mkl "${verify[@]}"
expect 2 1 "CLATTN_LOG.*'loud'.*debug" env CLATTN_LOG=loud "${verify[@]}"
expect 4 1 'OpenCL' env OCL_ICD_VENDORS="$work/none" "${verify[@]}"

# kernel folder
expect 6 1 "$work/none" env CLATTN_KERNEL_PATH="$work/none" "${verify[@]}"
mkdir -p "$work/unreadable"
cp "$source"/cl/* "$work/unreadable"
rm "$work/unreadable"/masked_softmax.cl
mkdir "$work/unreadable"/masked_softmax.cl
expect 6 1 'masked_softmax' env CLATTN_KERNEL_PATH="$work/unreadable" "${verify[@]}"

# a compiler that fails
mkdir -p "$work/broken"
cp "$source"/cl/* "$work/broken"
echo 'this is no C' >>"$work/broken/masked_softmax.cl"
export CLATTN_LOG=error
expect 4 1 'masked_softmax' env CLATTN_KERNEL_PATH="$work/broken" "${verify[@]}"
# one kernel that fails: the other schedule and the other cases run
cp "$source"/cl/masked_softmax.cl "$work/broken"
printf '#if WG == 1\nthis is no C\n#endif\n' >>"$work/broken/masked_softmax.cl"
other=$source/tests/data/golden/add/add_0.safetensors
expect 4 1 'masked_softmax' env CLATTN_KERNEL_PATH="$work/broken" "${verify[@]}" "$other"
[ "$(grep -c '^ok ' "$work/out")" -eq 3 ] || complain 'not 3 runs that pass'
grep -q '^FAILED  masked_softmax.* tile .*cannot build' "$work/out" || complain 'no run failed'
unset CLATTN_LOG
no_scraps

# cache: in a place that cannot be made, damaged, off, without a home
export CLATTN_CACHE_BINARIES=1 # PoCL's too
touch "$work/file"
expect 0 1 "warning.*$work/file" env CLATTN_CACHE_DIR="$work/file/cache" "${verify[@]}"
expect 0 0 '' env CLATTN_CACHE_DIR=off "${verify[@]}"
expect 0 0 '' "${verify[@]}" # fills it
expect 0 0 '' "${verify[@]}" # reads it
# Names are hashes of the device. The entry that every run reads is the operator's program.
entry=$(grep -rl --include='*.kernel' masked_softmax "$work/cache" | head -n 1)
[ -n "$entry" ] || complain 'no cache entry holds the program of masked_softmax'
printf 'damage' | dd of="$entry" bs=1 seek=200 conv=notrunc status=none
expect 0 1 "warning.*rebuilding $entry" "${verify[@]}"
expect 0 0 '' "${verify[@]}"
truncate -s 100 "$entry"
expect 0 1 "warning.*rebuilding $entry" "${verify[@]}"
rm "$entry" && mkdir "$entry"
expect 0 1 "warning.*${entry##*/} is not a regular file" "${verify[@]}"
rmdir "$entry"
own=$work/cache/clattn-kernels-1
[ "$(stat -c %a "$own")" = 700 ] || complain "mode of $own is not 700"
chmod 777 "$own"
expect 0 1 "warning.*other users can write to: $own" "${verify[@]}"
chmod 700 "$own"
mv "$own" "$work/moved"
ln -s "$work/moved" "$own"
expect 0 1 "warning.*not a folder: $own" "${verify[@]}"
rm "$own"
mv "$work/moved" "$own"
expect 0 1 'warning' env -u CLATTN_CACHE_DIR -u XDG_CACHE_HOME -u HOME "${verify[@]}"

# two processes that fill one cache
rm -rf "$work/cache"
"${verify[@]}" >"$work/out1" 2>"$work/err" &
"${verify[@]}" >"$work/out2" 2>>"$work/err" || complain 'second of two writers'
wait $! || complain 'first of two writers'
[ ! -s "$work/err" ] || complain 'two writers: not silent'
expect 0 0 '' "${verify[@]}"
no_scraps

# tuning values that would divide by zero, hang or crash
device=$("$clattn" devices --json | sed -n '/"default":true/{
    s/.*"name":"\([^"]*\)".*"platform":"\([^"]*\)".*"driver":"\([^"]*\)".*/\2 | \1 | \3/p;q}')
tuned=("$clattn" verify "$case" "$(smallest band_attention)" "$(smallest linear)")
for value in 0 -1; do
    cat >"$work/tuning.json" <<END
{"$device": {
    "masked_softmax": {"WG": $value}, "masked_softmax_tile": {"ROWS": $value},
    "band_attention": {"ROWS": $value}, "band_attention_tile": {"QUERIES": $value, "KEYS": $value},
    "matmul_tile": {"MR": $value, "ROWS": $value, "DEPTH": $value, "COLUMNS": $value}}}
END
    expect 0 9 "tuning: $work/tuning.json: masked_softmax WG is $value, must be .*; not used" \
        env CLATTN_TUNING="$work/tuning.json" timeout 300 "${tuned[@]}"
done

# golden files
size=$(stat -c %s "$case")
for length in 0 4 8 100 $((size - 1)); do
    head -c "$length" "$case" >"$work/cut.safetensors"
    expect 3 1 'cut.safetensors' "$clattn" verify "$work/cut.safetensors"
done
# a header length of 2^62, and one beyond the file
{ printf '\0\0\0\0\0\0\0\100'; tail -c +9 "$case"; } >"$work/long.safetensors"
expect 3 1 'long.safetensors' "$clattn" verify "$work/long.safetensors"
for lie in 's/"shape":\[[0-9]/"shape":[9/' 's/"data_offsets":\[[0-9]/"data_offsets":[7/' \
    's/"dtype":"F32"/"dtype":"X32"/' 's/{/[/'; do
    sed "1,\$ $lie" "$case" >"$work/lie.safetensors"
    expect 3 1 'lie.safetensors' "$clattn" verify "$work/lie.safetensors"
done
expect 6 1 "$work/none" "$clattn" verify "$work/none"
mkdir "$work/empty"
expect 3 1 "$work/empty" "$clattn" verify "$work/empty"

exit $bad
