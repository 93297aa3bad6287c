#!/bin/bash
# bench.sh - bench, bench compare and tune: their output, files and exit codes
# usage: tests/cli/bench.sh SOURCE_ROOT CLATTN
set -u
source=$1 clattn=$2

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
export CLATTN_TUNING=$work/tuning.json
export CLATTN_LOG=error # tests run beside other work, which bench warns of
unset CLATTN_SCHEDULE CLATTN_GEMM CLATTN_DEVICE RUSTICL_ENABLE OCL_ICD_VENDORS
# The copy rate is measured in an eighth of the memory: with less of it bench starts sooner.
export POCL_MEMORY_LIMIT=1 # GB
bad=0

# expect CODE PATTERN COMMAND...: the exit status, and what stdout or stderr says.
expect() {
    local code=$1 pattern=$2 status
    shift 2
    "$@" >"$work/out" 2>&1
    status=$?
    if ! [[ $status =~ ^$code$ ]] || ! grep -qE "$pattern" "$work/out"; then
        echo "FAILED: exit $status, not $code, or no '$pattern': $*"
        sed 's/^/    | /' "$work/out"
        bad=1
    fi
}

same() {
    [ "$1" = "$2" ] || { echo "FAILED: $3: '$1', not '$2'"; bad=1; }
}

# A table for people, an object a line for programs, the keys in their order.
case='masked_softmax fwd B8 H8 T256 S256'
number='-?[0-9.]+(e[-+][0-9]+)?'
row='^\{"suite":"softmax","case":"[^"]+","device":"[^"]+","provider":"(tile|group)"'
row+=",\"runs\":[0-9]+,\"median_ms\":$number,\"p25_ms\":$number,\"p75_ms\":$number"
row+=",\"gflops\":$number,\"gbs\":$number,\"peak_share\":$number,\"samples\":[0-9]+"
conditions=",\"verified\":(true|false),\"index\":[0-9]+,\"uuid\":(null|\"[0-9a-f]{32}\")"
conditions+=",\"driver\":\"[^\"]+\",\"platform\":\"[^\"]+\",\"version\":\"[^\"]+\""
conditions+=",\"precision\":\"highest\",\"unit\":\"none\""
conditions+="(,\"commit\":\"[^\"]+\")?,\"date\":\"[0-9-]+T[0-9:]+Z\",\"load\":$number,\"processors\":[0-9]+"
conditions+="(,\"warning\":\"load [0-9.]+ on [0-9]+ processors: other work is running\")?"
conditions+=",\"peak_gbs\":$number,\"peak_gflops\":$number,\"host\":\"[^\"]+ processors\""
conditions+=",\"units\":[0-9]+,\"memory_bytes\":[0-9]+,\"command\":\"CLATTN_TUNING=[^ ]+ clattn bench [^\"]+\""
conditions+=",\"samples_ms\":\[$number(,$number)+\]\}\$"
system=$row row+=$conditions
expect 0 "^$case +tile .* % +yes$" \
    "$clattn" bench --verify --filter "^$case\$" --json "$work/a.json"
same "$(wc -l <"$work/a.json")" 2 'rows in the file'
same "$(grep -cE "$row" "$work/a.json")" 2 'well-formed rows'
same "$(grep -c '"verified":true' "$work/a.json")" 2 'verified rows'
grep -qE '^  1 case in [0-9]+ s' "$work/out" || same none '1 case in N s' 'the last line'
grep -q 'measured peaks: .* GB/s.* GFLOP/s' "$work/out" || same none peaks 'the heading'

# A score of the user's own: its rows and those of plain attention, and nothing else.
own='s - slope[h] * abs(j - i) + table[h][j - i + T]'
CLATTN_SCHEDULE=tile expect 0 'attention fwd\+bwd B4 H8 T512 d64' \
    "$clattn" bench --quick --custom "$own" --json "$work/own.json"
same "$(grep -o '"case":"[^"]*"' "$work/own.json")" "$(
    for direction in fwd fwd+bwd; do
        printf '"case":"%s %s B4 H8 T512 d64"\n' custom_attention "$direction $own" \
            attention $direction
    done
)" 'the cases of --custom'
expect 2 "bench --custom: score: name 'slop' is not known" \
    "$clattn" bench --custom 's - slop[h] * abs(j - i)'
expect 2 "no gradient of 'slope'" "$clattn" bench --custom 's + floor(slope[h])'

# Every sample, and the command that repeats the run, with what it was told by variables.
whole_samples() {
    python3 - "$1" "$2" <<'PYTHON'
import json, statistics, sys
for line in open(sys.argv[1]):
    row = json.loads(line)
    assert len(row["samples_ms"]) == row["samples"], row
    median = statistics.median(row["samples_ms"])
    # samples are rounded to five digits, which changes them by 5e-5 at most
    assert abs(median / row["median_ms"] - 1) < 6e-5, (median, row["median_ms"])
    assert row["command"] == sys.argv[2], row["command"]
PYTHON
}
said="CLATTN_TUNING=$CLATTN_TUNING clattn bench"
whole_samples "$work/a.json" "$said --verify --filter '^$case\$' --json $work/a.json" ||
    same none samples 'rows of the file'
CLATTN_GEMM='' CLATTN_SCHEDULE=group "$clattn" bench --json "$work/given.json" --quick \
    --filter "^$case\$" >"$work/out"
whole_samples "$work/given.json" \
    "CLATTN_SCHEDULE=group $said --json $work/given.json --quick --filter '^$case\$'" ||
    same none variables 'the command'

expect 0 "$row" "$clattn" bench --quick --filter "^$case\$" --json -
same "$(grep -c '"verified":false' "$work/out")" 1 'rows that were not verified'
same "$(grep -cvE "$row" "$work/out")" 0 'other lines on stdout beside --json -'
same "$(wc -l <"$work/out")" 1 'rows of a quick run: the own schedule'
expect 0 '^masked_softmax.*group' \
    env CLATTN_SCHEDULE=group "$clattn" bench --quick --filter "^$case\$"
same "$(grep -c '^masked_softmax.* tile ' "$work/out")" 0 'rows of the other schedule'

# Sooner or later, a run that is stopped exits with 130 and keeps whole rows: those of
# the file belong to cases that the table shows.
# shellcheck disable=SC2317 # called through expect
stop_after() {
    "$clattn" bench --quick --suite layers --json "$work/stopped.json" >"$work/table" &
    local pid=$!
    sleep "$1"
    kill -INT "$pid"
    wait "$pid"
}
for seconds in 0.2 1 2.3 4; do
    rm -f "$work/stopped.json"
    expect 130 'stopped; the rows measured so far are in' stop_after "$seconds"
    touch "$work/stopped.json"
    same "$(grep -cvE "${row/softmax/layers}" "$work/stopped.json")" 0 "torn rows after $seconds s"
    rows=$(grep -c '' "$work/stopped.json") table=$(grep -cE ' (tile|group) ' "$work/table")
    [ "$rows" = "$table" ] || [ "$rows" = $((table - 1)) ] || same "$rows" "$table" 'rows kept'
done

# 80 columns where the terminal has no more; longer names get a line of their own.
expect 0 '^masked_softmax fwd\+bwd B8 H8 T256 S256$' env COLUMNS=80 "$clattn" bench \
    --quick --suite softmax
same "$(grep -cE '.{81}' "$work/out")" 0 'lines beyond 80 columns'

# On a terminal the case at hand is shown after a second, which two cases take at least (0.3 s
# a schedule, and 0.06 s before), and what is saved at the end.
if command -v script >/dev/null; then
    CLATTN_CACHE_DIR=$work/cache CLATTN_CACHE_BINARIES=1 script -qec \
        "'$clattn' bench --suite softmax --filter 'T256 S256|T64 S64'" "$work/typescript" >/dev/null
    grep -qE 'case 3 of 4, about [0-9]+ s left: masked_softmax fwd' "$work/typescript" ||
        same none 'case 3 of 4' 'progress'
    grep -qE 'saving [0-9]+ of [0-9]+ kernels' "$work/typescript" ||
        same none 'saving 2 of 5 kernels' 'progress'
fi

# A fast wrong kernel gets no speed: here every score is one per cent off.
mkdir "$work/wrong"
cp "$source"/cl/* "$work/wrong"
sed -i 's/row_exp(/&1.01f * /' "$work/wrong/masked_softmax.cl"
export CLATTN_KERNEL_PATH=$work/wrong CLATTN_SCHEDULE=tile
expect 1 "^$case +tile +WRONG: nmse" \
    "$clattn" bench --quick --verify --filter "^$case\$" --json "$work/wrong.json"
same "$(wc -l <"$work/wrong.json")" 0 'speeds of a wrong kernel'
# Here the gradient of x is NaN, and those of gamma and beta, which are checked later, are right.
sed -i 's/r\.rate \* (AT(dy/NAN * (AT(dy/' "$work/wrong/layer_norm.cl"
expect 1 '^layer_norm fwd.bwd .* tile +WRONG: nmse' \
    "$clattn" bench --quick --verify --filter '^layer_norm fwd.bwd'
unset CLATTN_KERNEL_PATH CLATTN_SCHEDULE

# repeats ROW COMMAND...: the command finds a wrong row, and the command that it prints finds
# the same row again, without the variables of this shell.
repeats() {
    local row=$1 again
    shift
    expect 1 "^$row +WRONG: " "$@"
    again=$(sed -n 's/^  again: //p' "$work/out")
    expect 1 "^$row +WRONG: " bash -c "clattn() { '$clattn' \"\$@\"; }; $again"
    same "$(grep -cE ' (tile|group) ' "$work/out")" 1 "rows of $again"
    [[ $again == *--device\ 0\ * ]] || same "$again" --device 'the command names the device'
}
# 0/0 is NaN. The name of the case has every character that regular expressions know and that
# a score can hold.
odd='(s + 0/0) * (i > 0 || i > j ? 1.5 : 2) + table[h][j - i + T]'
repeats 'custom_attention fwd .*tile' "$clattn" bench --quick --verify --custom "$odd" \
    --filter 'custom_attention fwd .s'
mkdir "$work/wrong group"
cp "$source"/cl/* "$work/wrong group"
sed -i 's|((z) / (n))|(1.01f * (z) / (n))|' "$work/wrong group/row.clh"
cmp -s "$source/cl/row.clh" "$work/wrong group/row.clh" && same 1 2 'kernels'
repeats "$case +group" env CLATTN_KERNEL_PATH="$work/wrong group" "$clattn" bench --verify \
    --suite softmax --filter 'fwd B8 .*S256'

# Two equal devices, as PoCL makes them: rows, files and tables keep them apart.
export POCL_DEVICES='pthread pthread'
if [ "$("$clattn" devices --json | wc -l)" -eq 2 ]; then
    expect 0 "^$case +[0-9.]+ +[0-9.]+ +[0-9.]+x$" "$clattn" bench --quick --device all \
        --filter "^$case\$" --json "$work/two.json"
    grep -qE '^geometric mean +[0-9.]+x$' "$work/out" || same none 'a mean' 'devices beside each other'
    same "$(grep -o '"index":[0-9]*' "$work/two.json" | tr '\n' ' ')" '"index":0 "index":1 ' 'identities'
    same "$(grep -c "\"command\":\"POCL_DEVICES='pthread pthread' " "$work/two.json")" 2 \
        'the variable in the command'
    expect '[01]' '^on .* \(device 1\):$' "$clattn" bench compare "$work/two.json" "$work/two.json"
    same "$(grep -cE "^$case " "$work/out")" 2 'pairs of two equal devices'
    # one of them alone has a wrong kernel
    CLATTN_KERNEL_PATH="$work/wrong" expect 1 '^  again: .*clattn bench --device 1 ' "$clattn" bench \
        --quick --verify --device all --suite softmax --filter "^$case\$"
    same "$(grep -c '^  again: .*clattn bench --device 0 ' "$work/out")" 1 'commands for device 0'
fi
unset POCL_DEVICES

# A share above 100 % is explained below the table, and no other is: 8 MB stay in many a cache.
"$clattn" bench --quick --suite layers --filter '^(ema|rmsprop) ' --json "$work/share.json" >"$work/out" 2>&1
above=$(grep -cE '"peak_share":[1-9][0-9]{2,}\.' "$work/share.json")
same "$(grep -cE '^  (peak|GFLOP/s) above 100 %' "$work/out")" "$((above > 0))" 'notes on shares'

# A whole system: words a second and memory beside the time.
words="$system,\"words_per_s\":$number,\"peak_bytes\":[0-9]+(,\"parameters\":[0-9]+)?$conditions"
expect 0 '^  [0-9]+ words/s, [0-9.]+ MB on the device' \
    "$clattn" bench --quick --suite tagger --filter 'modern tag' --json "$work/words.json"
same "$(grep -cE "${words/softmax/tagger}" "$work/words.json")" 1 'rows of a system'
expect 2 'no case matches' "$clattn" bench --quick --suite tagger --filter softmax

# Start-up: a second process compiles nothing.
expect 0 'startup warm' "$clattn" bench --quick --suite startup
same "$(grep -A1 'startup warm' "$work/out" | grep -oE '^ +[0-9]+ programs')" \
    '  0 programs' 'programs of a warm start'

# Its folders are the only ones that it removes, however long TMPDIR is.
long=$work/$(printf '%0*d' $((254 - ${#work})) 0)
mkdir "$long"
echo precious >"$long/file"
expect 0 'startup warm' env TMPDIR="$long" "$clattn" bench --suite startup --quick
same "${#long} $(ls "$long") $(cat "$long/file")" '255 file precious' 'a long TMPDIR'
expect 6 "folder in TMPDIR, '$work/none': " \
    env TMPDIR="$work/none" "$clattn" bench --suite startup --quick

# Wrong use, before any work.
expect 2 "no suite 'nonesuch'.*softmax" "$clattn" bench --suite nonesuch
expect 2 "filter '\\('" "$clattn" bench --filter '('
expect 2 'no case matches' "$clattn" bench --filter '^nothing is called so$'
expect 2 "no device matches 'nonesuch'" "$clattn" bench --device nonesuch
expect 6 'none/a.json' "$clattn" bench --quick --json "$work/none/a.json"

# compare: line PROVIDER MEDIAN P25 P75 [CASE [DEVICE]]
line() {
    printf '{"suite":"s","case":"%s","device":"%s","provider":"%s","runs":10,' \
        "${5-op fwd}" "${6-d}" "$1"
    printf '"median_ms":%s,"p25_ms":%s,"p75_ms":%s,' "$2" "$3" "$4"
    printf '"gflops":1.0,"gbs":1.0,"peak_share":1.0}\n'
}
# shellcheck disable=SC2317 # called through expect
compare() { "$clattn" bench compare "$@"; }
a=$work/a b=$work/b
line tile 10 9.9 10.1 >"$a"
line tile 10.4 10.3 10.5 >"$b"
expect 0 'same' compare "$a" "$b" # 4 %
line tile 12 9 13 >"$b"
expect 0 'unsure' compare "$a" "$b" # inside its own spread
expect 0 'unsure' compare "$b" "$a"
line tile 5 4.9 5.1 >"$b"
expect 0 '2\.00x +faster' compare "$a" "$b"
expect 1 '0\.50x +slower' compare "$b" "$a"
expect 0 '0 faster, 0 slower, 1 same, 0 unsure' compare "$a" "$a"
expect 0 '0\.50x +slower' compare "$b" "$a" --fail-if-slower 101%
expect 1 '0\.50x +slower' compare "$b" "$a" --fail-if-slower 99
line tile 10.4 10.39 10.41 >"$b"
expect 1 'same' compare "$a" "$b" --fail-if-slower 3% # the verdict stays that of 5 %
expect 2 "fail-if-slower is 'x%'" compare "$a" "$b" --fail-if-slower x%
{ line tile 10 9.9 10.1 one; line tile 10 9.9 10.1 two; } >"$a"
{ line tile 5 4.9 5.1 one; line tile 20 19.9 20.1 two; } >"$b"
expect 1 'geometric mean of 2 cases: B is 1\.000 times' compare "$a" "$b"
expect 1 '1 faster, 1 slower, 0 same, 0 unsure' env COLUMNS=80 "$clattn" bench compare "$a" "$b"
same "$(grep -cE '.{81}' "$work/out")" 0 'lines beyond 80 columns'

# What was cut off while it was written is left out; files of older versions have fewer keys.
{ line tile 10 9.9 10.1 one; line tile 10 9.9 10.1 two | head -c 60; } >"$b"
expect 0 '1 same.*1 only in A' compare "$a" "$b"

# The faster of tile and group stands for a file, a peer only where asked for.
{ line group 20 19.9 20.1; line tile 10 9.9 10.1; line openblas 1 0.9 1.1; } >"$a"
line sdpa 40 39 41 >"$b"
line flex 80 79 81 >>"$b"
expect 1 'tile +10\.000 +sdpa +40\.000' compare "$a" "$b"
expect 1 'openblas +1\.000 +sdpa +40\.000' compare "$a" "$b" --provider openblas
expect 1 'tile +10\.000 +flex +80\.000' compare "$a" "$b" --provider flex
expect 1 '"a_ms":10.0,"b_ms":40.0,"ratio":0.25,"verdict":"slower"' \
    compare --json "$a" "$b"

# device INDEX UUID DRIVER: gives the rows of standard input an identity, as new files have it.
device() { sed 's/}$/,"index":'"$1,\"uuid\":$2,\"driver\":\"$3\"}/"; }
# Several devices in a file: each with itself, and those of one file alone with none.
{ line tile 1 1 1 'op fwd' fast; line tile 10 9.9 10.1 'op fwd' slow; } >"$a"
line tile 8 7.9 8.1 'op fwd' slow >"$b"
expect 0 '^op fwd +tile +10.000 +tile +8.000 +1.25x +faster$' compare "$a" "$b"
grep -q '; 1 only in A, 0 only in B$' "$work/out" || same none '1 only in A' 'the totals'
expect 1 '; 0 only in A, 1 only in B$' compare "$b" "$a"
same "$(grep -cE "^(A  $b: slow|B  $a: fast; slow|on slow:)$" "$work/out")" 3 'the heading'
# Two equal cards: by their uuids, or by their places in the list.
for uuid in '"aa" "bb"' 'null null'; do
    read -r one two <<<"$uuid"
    { line tile 1 1 1 c X | device 0 "$one" 1; line tile 2 2 2 c X | device 1 "$two" 1; } >"$a"
    { line tile 1 1 1 c X | device 0 "$one" 1; line tile 1 1 1 c X | device 1 "$two" 1; } >"$b"
    expect 0 '1 faster, 0 slower, 1 same' compare "$a" "$b"
    grep -q '^on X (device 1):$' "$work/out" || same none 'device 1' "two cards, $uuid"
    same "$(grep -c twice "$work/out")" 0 'warnings'
done
# The second card alone; a driver or a place in the list that changed is the same device.
line tile 1 1 1 c X | device 0 '"bb"' 2 >"$b"
{ line tile 4 4 4 c X | device 0 '"aa"' 1; line tile 2 2 2 c X | device 1 '"bb"' 1; } >"$a"
expect 0 '^c +tile +2.000 +tile +1.000 +2.00x +faster$' compare "$a" "$b"
expect 0 '"a_index":1,"a_uuid":"bb","b_index":0,"b_uuid":"bb"' compare --json "$a" "$b"
line tile 2 2 2 c X | device 3 null 1 >"$a"
line tile 1 1 1 c X | device 0 null 2 >"$b"
expect 0 '2.00x +faster' compare "$a" "$b"
# Files of older versions have the name alone.
line tile 1 1 1 c X >"$b"
expect 0 '2.00x +faster' compare "$a" "$b"
# One device each, and not the same one: devices are compared. Several and none of them the
# same: nothing is.
line tile 1 1 1 c Y >"$b"
expect 0 '2.00x +faster' compare "$a" "$b"
{ line tile 1 1 1 c Y; line tile 1 1 1 c Z; } >"$b"
expect 3 'no case in common on a device that both have' compare "$a" "$b"
# The library on the host of a card counts for the card.
{ line tile 2 2 2 c X | device 0 null 1; line openblas 5 5 5 c host; line openblas 6 6 6 d host; } >"$a"
{ line tile 1 1 1 c X | device 0 null 1; line openblas 4 4 4 c host; line openblas 6 6 6 d host; } >"$b"
expect 0 '^1 faster, 0 slower, 1 same, 0 unsure$' compare "$a" "$b"
expect 0 'openblas +5.000 +openblas +4.000' compare "$a" "$b" --provider openblas
# Rows that occur twice.
{ line tile 2 2 2 c X; line tile 1 1 1 c X; } >"$a"
CLATTN_LOG=warn expect 0 "warning: $a: 1 row of one case and device occurs twice" compare "$a" "$a"

# Several devices in both files: each with itself.
{ line tile 10 9.9 10.1 'op fwd' x; line tile 1 0.9 1.1 'op fwd' y; } >"$a"
{ line tile 10 9.9 10.1 'op fwd' x; line tile 1 0.9 1.1 'op fwd' y; } >"$b"
expect 0 '0 slower' compare "$a" "$b"
line tile 1 1 1 'another' >"$b"
expect 3 'no case in common' compare "$a" "$b"

# Two programs in turns. These drift by 40 % from round to round, both alike, as machines
# do; B is 10 % slower in one case and 25 % faster in another, and one case is noise.
fake() { # NAME FACTOR_X FACTOR_Y
    cat >"$work/$1" <<SCRIPT
#!/bin/bash
[ "\$*" = 'bench --json - --suite s --quick' ] || exit 2
i=\$(cat $work/$1.count 2>/dev/null || echo 0)
echo \$((i + 1)) >$work/$1.count
echo $1 >>$work/order
row() { awk -v case="\$1" -v ms="\$2" -v i=\$i 'BEGIN { ms *= 1 + 0.1 * (i % 5)
    printf "{\"case\":\"%s\",\"device\":\"d\",\"provider\":\"tile\",", case
    printf "\"median_ms\":%g,\"p25_ms\":%g,\"p75_ms\":%g}\n", ms, ms, ms }'; }
row x $2
row y $3
row same 3
row noise \$((i % 2 * $2 + 5))
SCRIPT
    chmod +x "$work/$1"
}
fake before 10 10
fake after 11 8
# shellcheck disable=SC2317 # called through expect
turns() { rm -f "$work"/{before,after}.count "$work/order"; compare --run "$work/before" \
    "$work/after" --suite s --quick --rounds 9 "$@"; }
expect 1 '^x +tile +12\.000 +tile +13\.200 +0\.91x +0\.91 to +0\.91 +slower$' turns
grep -qE '^y .* 1\.25x .*faster$' "$work/out" || same none 'y is faster' 'verdicts'
grep -qE '^same .* 1\.00x .*same$' "$work/out" || same none 'same is same' 'verdicts'
grep -q '^1 faster, 1 slower, 1 same, 1 unsure' "$work/out" || same none 'one of each' 'verdicts'
same "$(tr '\n' ' ' <"$work/order" | cut -c 1-40)" 'before after after before before after a' 'turns'
expect 0 '"rounds":9,"low":0.90909.*,"high":0.90909' turns --json --fail-if-slower 11%
expect 2 'rounds is .5., must be 6 to 99' compare --run a b --rounds 5
expect 6 "cannot run '$work/none'" compare --run "$work/none" "$work/after"
expect 3 "after bench' ended with status 2" compare --run "$work/after" "$work/after"
expect 2 'need --run' compare "$a" "$b" --quick
expect 2 'need --run' compare "$a" "$b" --rounds 9
expect 2 'is for files' compare --run a b --provider tile
expect '[01]' '^geometric mean of 1 cases' \
    compare --run "$clattn" "$clattn" --quick --rounds 6 --filter "^$case\$"

# Damaged files are named with their line.
line tile 10 9.9 10.1 >"$a"
{ line tile 10 9.9 10.1; echo '{"case":'; } >"$b"
expect 3 "$b:2:8: " compare "$a" "$b"
{ line tile 10 9.9 10.1; echo '{"case":"x","provider":"tile","device":"d"}'; } >"$b"
expect 3 "$b:2: 'median_ms'" compare "$a" "$b"
line tile '"fast"' 9.9 10.1 >"$b"
expect 3 "$b:1: 'median_ms'" compare "$a" "$b"
: >"$b"
expect 3 "$b: holds no results" compare "$a" "$b"
expect 6 "$work/none" compare "$a" "$work/none"
expect 6 "$work" compare "$a" "$work"
expect 2 'Usage|two files|compare' compare "$a"

# tune writes what the runtime reads, whole.
expect 0 "written to $work/tuning.json" "$clattn" tune --seconds 1
grep -q ' | ' "$work/tuning.json" || same none device 'the tuning file'
expect 0 '' env CLATTN_LOG=warn "$clattn" bench --quick --filter "^$case\$"
same "$(grep -c 'warning: tuning' "$work/out")" 0 'warnings about a tuning file just written'
expect 2 "seconds" "$clattn" tune --seconds never
# A file that cannot be written is refused before the first measurement.
mkdir "$work/folder"
mkfifo "$work/fifo"
: >"$work/a.file"
for place in "$work/folder" "$work/a.file/t.json" "$work/fifo"; do
    expect 6 "${place%/t.json}: cannot" env CLATTN_TUNING="$place" "$clattn" tune --seconds 1
    same "$(wc -l <"$work/out")" 1 "lines of a tuning that cannot write $place"
done

exit $bad
