#!/bin/bash
# plot.sh - pictures of benchmark results: bars and rooflines
# usage: tests/cli/plot.sh SOURCE_ROOT CLATTN
# shellcheck source=tests/cli/lib.sh
. "${BASH_SOURCE%/*}/lib.sh"
clattn=$2
plot() { "$clattn" plot "$@"; }

# row CASE SUITE PROVIDER GFLOPS GBS SHARE [DEVICE]
row() {
    printf '{"suite":"%s","case":"%s","device":"%s","provider":"%s","runs":10,' \
        "$2" "$1" "${7-a <device>}" "$3"
    printf '"median_ms":2.5,"p25_ms":2.0,"p75_ms":3.0,"gflops":%s,"gbs":%s,"peak_share":%s,' \
        "$4" "$5" "$6"
    printf '"peak_gflops":100.0,"peak_gbs":10.0}\n'
}
{
    row 'copy fwd' layers tile 1.0 4.0 40.0
    row 'matmul fwd M512' gemm tile 50.0 0.5 50.0
    row 'matmul fwd M512' gemm openblas 80.0 0.8 80.0
    row 'startup warm' startup tile 0.0 0.0 0.0
} >"$work/rows.json"

# place TAG KEY FILE: the values of an attribute of the elements drawn, in order.
place() { grep -o "<$1 [^>]*" "$3" | sed -n "s/.* $2=\"\([^\"]*\)\".*/\1/p"; }

bars() { # the longest bar is 420 pixels for 80; a row without the figure has none
    plot --bench "$work/rows.json" --out "$work/bars.svg" && svg_fits "$work/bars.svg" &&
        diff <(place rect width "$work/bars.svg") \
            <(printf '%s\n' 100% 210.0 262.5 420.0 10 10) &&
        grep -q '>share of the measured peak in per cent: a &lt;device&gt;<' "$work/bars.svg" &&
        ! grep -q 'startup' "$work/bars.svg"
}
check 'bars of shares, with a legend of two providers' bars
times() {
    plot --bench "$work/rows.json" --metric median_ms --out "$work/bars.svg" &&
        svg_fits "$work/bars.svg" && [ "$(grep -c '>2.5<' "$work/bars.svg")" -eq 4 ]
}
check 'bars of another figure' times

# XML has no control characters, not even as entities, except tab and line breaks.
controls() {
    row 'a\u0007b\tc\u001b' s tile 1.0 1.0 1.0 'old\u0001\ufffe' >"$work/controls.json"
    plot --bench "$work/controls.json" --out "$work/bars.svg" && svg_fits "$work/bars.svg" &&
        grep -qF $'>a\xef\xbf\xbdb\tc\xef\xbf\xbd' "$work/bars.svg" &&
        grep -qF $': old\xef\xbf\xbd\xef\xbf\xbd<' "$work/bars.svg"
}
check 'control characters become U+FFFD' controls

# 0.25, 100 and 100 operations per byte in the decades 0.1 to 1000 over 600 pixels; 1, 50 and
# 80 GFLOP/s, of which 100 is the roof, in 0.1 to 1000 over 400 pixels from 38 on.
roofline() {
    plot --roofline "$work/rows.json" --out "$work/roof.svg" && svg_fits "$work/roof.svg" &&
        diff <(place circle cx "$work/roof.svg") <(printf '%s\n' 129.7 520.0 520.0) &&
        diff <(place circle cy "$work/roof.svg") <(printf '%s\n' 338.0 168.1 147.7) &&
        grep -q 'd="M70.0 338.0L370.0 138.0H670"' "$work/roof.svg" &&
        grep -q 'measured peaks: 100 GFLOP/s, 10 GB/s' "$work/roof.svg" &&
        grep -q '<title>copy fwd</title>' "$work/roof.svg"
}
check 'a roofline with its points and peaks' roofline

# Points at 1, 2 and 4 epochs, whatever their steps.
mkdir "$work/run"
printf '{"step":%d,"epoch":%d,"accuracy":%d}\n' 70 1 50 700 2 60 710 4 80 >"$work/run/log.jsonl"
epochs() {
    plot "$work/run" --along epoch --out "$work/curve.svg" && svg_fits "$work/curve.svg" &&
        grep -q '>epoch<' "$work/curve.svg" &&
        grep -q 'points="51.0,416.9 326.0,289.6 876.0,35.1"' "$work/curve.svg"
}
check 'curves along epochs' epochs
check 'refuses curves along what is not there' says 3 "no 'accuracy' along 'week' to plot" \
    plot "$work/run" --along week --out "$work/x.svg"

# The default follows the task: what decides the best state, whatever a task calls it.
printf '%s\n' '{"step":1,"epoch":1,"loss":9.5,"lr":1,"units_per_s":3,"time":"x"}' \
    '{"step":2,"epoch":1,"verdict":"new best","bleu":4.5,"pieces":70,"time":"x"}' \
    '{"step":3,"epoch":1,"verdict":"new best","perplexity":4.5,"bleu":70,"time":"x"}' \
    '{"step":4,"epoch":1,"loss":9,"lr":1,"time":"x"}' >"$work/run/log.jsonl"
default() { plot "$work/run" --out "$work/curve.svg" && grep -q ">$1<" "$work/curve.svg"; }
check 'draws what decides the best state' default perplexity
sed -i 2,3d "$work/run/log.jsonl"
check 'and the loss before an evaluation' default loss

# Seeds of one config, in any order of its keys, and a run of another: at steps 1 and 2,
# which both have, 52 and 62 with a deviation of sqrt(8), in 38.8 to 66.1 over 420 pixels.
seed() { # seed NAME CONFIG LINE...: a run
    local run=$work/$1 config=$2
    mkdir -p "$run" && echo "$config" >"$run/config.json" && shift 2
    printf '{"step":%d,"accuracy":%d}\n' "$@" >"$run/log.jsonl"
}
seeds() {
    seed s1 '{"seed":1,"x":3,"integrity":{"a":"1"}}' 1 50 2 60 4 80 &&
        seed s2 '{"x":3,"seed":2,"comment":"c"}' 1 54 2 64 3 70 &&
        seed other '{"x":4,"seed":1}' 1 40 2 41 &&
        plot --seeds "$work/s1" "$work/other" "$work/s2" --out "$work/band.svg" &&
        svg_fits "$work/band.svg" &&
        diff <(place polygon points "$work/band.svg") \
            <(echo 51.0,275.9 876.0,122.1 876.0,35.1 51.0,188.9) &&
        diff <(place polyline points "$work/band.svg") \
            <(printf '%s\n' '51.0,232.4 876.0,78.6' '51.0,416.9 876.0,401.5') &&
        grep -q '/s1 (2 seeds)<' "$work/band.svg" && grep -q '/other<' "$work/band.svg"
}
check 'a band of two seeds beside another run' seeds
apart() { seed s2 '{"x":3}' 9 1 && plot --seeds "$work/s1" "$work/s2" --out "$work/x.svg"; }
check 'refuses seeds without a common step' says 3 's1: no point that all 2 seeds have' apart
check 'refuses seeds of files' says 2 'seeds is for the curves of runs' \
    plot --seeds --bench "$work/rows.json" --out "$work/x.svg"

check 'refuses a figure that no row has' says 3 "no row has a 'words_per_s'" \
    plot --bench "$work/rows.json" --metric words_per_s --out "$work/x.svg"
row 'startup warm' startup tile 0.0 0.0 0.0 >"$work/none.json"
check 'refuses a roofline without points' says 3 'no row has GFLOP/s and GB/s' \
    plot --roofline "$work/none.json" --out "$work/x.svg"
{ row a s tile 1.0 1.0 1.0 && row a s tile 1.0 1.0 1.0 other; } >"$work/two.json"
check 'refuses a roofline of two devices' says 3 "has rows of 'a <device>' and of 'other'" \
    plot --roofline "$work/two.json" --out "$work/x.svg"
check 'refuses bars of two devices' says 3 "has rows of 'a <device>' and of 'other'" \
    plot --bench "$work/two.json" --out "$work/x.svg"
{ row a s tile 1.0 1.0 1.0 | sed 's/}$/,"index":0}/'
    row a s tile 1.0 1.0 1.0 | sed 's/}$/,"index":1}/'; } >"$work/equal.json"
check 'refuses bars of two equal devices' \
    says 3 "has rows of 'a <device> (device 0)' and of 'a <device> (device 1)'" \
    plot --bench "$work/equal.json" --out "$work/x.svg"
check 'refuses two kinds of picture' says 2 'only one of' \
    plot --bench --roofline "$work/rows.json" --out "$work/x.svg"
check 'refuses two results' says 2 'take one file' \
    plot --bench "$work/rows.json" "$work/two.json" --out "$work/x.svg"
check 'refuses what is no result' says 3 'x.json:1:' \
    sh -c "echo '{' >'$work/x.json'; echo >>'$work/x.json'; '$clattn' plot --bench '$work/x.json' --out '$work/x.svg'"
check 'and draws nothing' test ! -e "$work/x.svg"
passed
