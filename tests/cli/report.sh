#!/bin/bash
# report.sh - clattn report: what the page holds, bad and hostile input, and the page in a browser
# usage: tests/cli/report.sh SOURCE_ROOT CLATTN
#
# The browser is Debian's chromium; without one its checks are skipped.
# shellcheck source=tests/cli/lib.sh
. "${BASH_SOURCE%/*}/lib.sh"
source=$(realpath "$1") clattn=$(realpath "$2")
version=$("$clattn" --version | head -n 1); version=${version#clattn }
export version
cd "$work" || exit 1

# rows SEED COUNT [SAMPLES [DEVICE]]: rows as `bench --json' writes them.
rows() {
    python3 - "$@" <<'PYTHON'
import json, os, random, statistics, sys
seed, count = int(sys.argv[1]), int(sys.argv[2])
samples = int(sys.argv[3]) if len(sys.argv) > 3 else 20
device = sys.argv[4] if len(sys.argv) > 4 else "a device"
draw = random.Random(seed)
for i in range(count):
    for by in "tile", "group":
        base = (i + 1) * (1 + 0.2 * (by == "group")) * (1 + 0.1 * seed * (i % 3 - 1))
        ms = [round(base * draw.uniform(0.99, 1.01), 5) for _ in range(samples)]
        q = statistics.quantiles(ms, n=4, method="inclusive")
        print(json.dumps({
            "suite": "odd" if i % 2 else "even", "case": f"op_{i} fwd T{i}", "device": device,
            "provider": by, "runs": 10, "median_ms": q[1], "p25_ms": q[0], "p75_ms": q[2],
            "gflops": 10 / q[1], "gbs": 2.5 / q[1], "peak_share": 10 * q[1], "samples": samples,
            "driver": "3.1", "platform": "P", "version": os.environ["version"], "commit": "abc",
            "date": f"2026-01-02T03:04:{i % 60:02}Z", "load": 0.1, "peak_gbs": 20.5,
            "peak_gflops": 333.0, "host": "Linux, 2 processors", "units": 2,
            "memory_bytes": 4 << 30, "command": "clattn bench --json a.json", "samples_ms": ms}))
PYTHON
}

# holds FILE EXPRESSION: true of the page's data `d`.
holds() {
    python3 - "$@" 2>err <<'PYTHON'
import json, sys
page = open(sys.argv[1], encoding="utf-8").read()
block = page.split('<script type="application/json" id="data">')[1].split("</script>")[0]
d = json.loads(block)
notes = [n["text"] for n in d["notes"]]
lines = lambda path: [json.loads(line) for line in open(path)]
if not eval(f"({sys.argv[2]})"):
    sys.exit(f"not so: {sys.argv[2]}\nnotes: {notes}")
PYTHON
}

rows 1 7 >a.json
rows 2 8 >b.json
check 'writes a page' "$clattn" report a.json b.json --out r.html
check 'with the rows as they are' holds r.html \
    'd["bench"][0]["rows"] == lines("a.json") and d["bench"][1]["rows"] == lines("b.json")'
check 'and no notes' holds r.html 'not notes'
cp r.html again.html
check 'the same bytes again' "$clattn" report a.json b.json --out r.html
check 'the same bytes again: compared' cmp r.html again.html

# ---- statistics: those of bench compare
agrees() {
    "$clattn" bench compare a.json b.json --fail-if-slower 1000 >table 2>err
    "$clattn" bench compare a.json b.json --json --fail-if-slower 1000 >objects 2>>err
    mean=$(sed -n 's/.*B is \([0-9.]*\) times.*/\1/p' table)
    holds r.html "'%.3f' % d['compare'][0]['with']['mean'] == '$mean'" &&
        holds r.html '[c["verdict"] for c in d["compare"][0]["with"]["cases"]] ==
            [o["verdict"] for o in lines("objects")] and
            all(abs(c["ratio"] / o["ratio"] - 1) < 1e-5 for c, o in
                zip(d["compare"][0]["with"]["cases"], lines("objects")))'
}
check 'agrees with bench compare' agrees
check 'each verdict is there' holds r.html \
    '{c["verdict"] for c in d["compare"][0]["with"]["cases"]} >= {"faster", "slower"}'
check 'intervals hold the ratio and are narrow' holds r.html \
    'all(0.95 < c["interval"][0] / c["ratio"] <= 1 <= c["interval"][1] / c["ratio"] < 1.05
        for c in d["compare"][0]["with"]["cases"])'
check 'intervals of medians hold them' holds r.html \
    'all(i[0] <= row["median_ms"] <= i[1] for row, i in
        zip(d["bench"][0]["rows"], d["bench"][0]["interval"]))'
check 'counts cases without a partner' holds r.html 'd["compare"][0]["with"]["only_b"] == 1'
by_group() {
    "$clattn" report a.json b.json --provider group --out g.html &&
        holds g.html 'all(d["bench"][0]["rows"][c["a"]]["provider"] == "group"
            for c in d["compare"][0]["with"]["cases"])'
}
check 'compares a provider' by_group

# ---- one file, and nothing from a network
alone() {
    ! grep -v '"http://www.w3.org/2000/svg"' r.html | grep -qE '(https?:|//[a-z]+\.|@import|url\(#?[^#r])' &&
        grep -q "content=\"default-src 'none'" r.html && ! grep -qE '<(link|img|iframe)' r.html
}
check 'refers to nothing outside' alone
small() {
    rows 1 600 100 >large-a.json && rows 2 600 100 >large-b.json &&
        "$clattn" report large-a.json large-b.json --out large.html &&
        [ "$(stat -c %s large.html)" -lt 2000000 ] &&
        holds large.html 'len(d["bench"][1]["rows"]) == 1200 and
            0 < len(d["bench"][1]["rows"][5]["samples_ms"]) < 100 and "samples is shown" in notes[0]'
}
check 'stays below 2 MB' small

# ---- bad input: named with its line, and the rest is there
head -c 900 a.json >cut.json
cut() { "$clattn" report cut.json --out r2.html && holds r2.html \
    'len(d["bench"][0]["rows"]) == 1 and notes == ["cut.json:2: the last line was cut off and is left out"]'; }
check 'a line that is cut off' cut
{ head -n 2 a.json; echo '{"case": "x",'; sed -n 3p a.json; echo '{"case": "x", "provider": "tile"}'; } >bad.json
exits_with_two() {
    exits 3 'bad.json:3:13: ' 2 "$clattn" report b.json bad.json --out r2.html &&
        grep -q "bad.json:5: 'device' is missing" err &&
        holds r2.html 'len(d["bench"][1]["rows"]) == 3 and len(d["bench"][0]["rows"]) == 16 and
            len(d["compare"]) == 1 and len(notes) == 2 and all(n["left_out"] for n in d["notes"])'
}
check 'damaged lines' exits_with_two
yes '{"case": 1}' | head -n 50 | cat - <(head -n 1 a.json) >many.json
many() { exits 3 'many.json:5: ' 6 "$clattn" report many.json --out r2.html &&
    grep -q '45 more lines are left out' err; }
check 'many damaged lines' many
sed 's/"version": "[^"]*"/"version": "9.9"/; s/, "samples_ms".*/}/' a.json >other.json
other() { "$clattn" report other.json --out r2.html && holds r2.html \
    'len(d["bench"][0]["rows"]) == 14 and len(notes) == 2 and "other.json:1: written by clattn 9.9" in notes[0]
        and "other.json:1: " in notes[1] and d["bench"][0]["interval"] == 14 * [None]'; }
check 'another version' other
sed 's/"samples_ms": .*/"samples_ms": 5}/' a.json >kind.json
check 'samples of another kind' exits 3 "kind.json:1: 'samples_ms'" 1 "$clattn" report kind.json --out r3.html
check 'no page without a row' test ! -e r3.html
missing() { exits 6 'none.json: cannot open' 1 "$clattn" report a.json none.json --out r2.html &&
    holds r2.html 'len(d["bench"]) == 1 and "none.json" in notes[0]'; }
check 'a missing file beside one that is there' missing
printf '{\n "model": "tagger"\n}\n' >config.json
check 'another kind of JSON' exits 3 'config.json:1:1: ' 1 "$clattn" report config.json --out r3.html

# ---- hostile names and texts stay text
bomb='</script><script>window.hacked=1</script><img src=x onerror="window.hacked=1"> $& -->'
python3 - "$bomb" >"<img src=x onerror=alert(1)>'\".json" <<'PYTHON'
import json, sys
bomb = sys.argv[1]
for line in open("a.json"):
    row = json.loads(line)
    for key in "case", "device", "suite", "host", "driver", "command", "platform", "version", "date":
        row[key] = bomb + row[key]
    row["__proto__"] = row[bomb] = {"polluted": bomb}
    print(json.dumps(row, ensure_ascii=False))
PYTHON
hostile() {
    "$clattn" report "<img src=x onerror=alert(1)>'\".json" a.json --out h.html 2>err &&
        [ "$(grep -o '</script' h.html | wc -l)" = "$(grep -o '</script' r.html | wc -l)" ] &&
        ! grep -q '<img' h.html &&
        holds h.html 'd["bench"][0]["rows"][0]["case"].startswith("</script>")'
}
check 'hostile texts stay in the data' hostile

# ---- devices: equal ones stay apart, each is compared with itself
# identified INDEX: gives rows an identity.
identified() { sed 's/}$/, "index": '"$1"', "uuid": null, "verified": true}/'; }
{ rows 1 3 20 X | identified 0; rows 1 3 20 X | identified 1; } >equal-a.json
{ rows 1 3 20 X | identified 1; rows 2 3 20 Y | identified 2; } >equal-b.json
equal() {
    "$clattn" report equal-a.json equal-b.json --out equal.html 2>err && [ ! -s err ] &&
        holds equal.html 'd["compare"][0]["with"]["by_device"] and len(d["compare"][0]["with"]["cases"]) == 3
            and all(d["bench"][0]["rows"][c["a"]]["index"] == 1 for c in d["compare"][0]["with"]["cases"])
            and d["compare"][0]["with"]["only_a"] == d["compare"][0]["with"]["only_b"] == 3 and not notes'
}
check 'equal devices stay apart' equal
cat a.json a.json >doubled.json
doubled() { "$clattn" report doubled.json --out r2.html 2>err && grep -q 'doubled.json: 14 rows' err &&
    holds r2.html 'len(notes) == 1 and "14 rows of one case and device occur twice" in notes[0]'; }
check 'rows that occur twice are noted' doubled
sed 's/"load": 0.1/"load": 18.0/; s/"peak_share": /&900/' equal-b.json >loaded.json
"$clattn" report loaded.json --out loaded.html

# ---- verifications
{
    printf '{"case":"one","op":"linear","schedule":"%s","device":"X","index":%d,"uuid":null,"driver":"1","ok":true,"nmse":1e-14,"max_abs":1e-7,"worst":"out.y"}\n' \
        tile 0 group 0 tile 1
    echo '{"case":"two","op":"linear","schedule":"tile","device":"X","index":1,"uuid":null,"driver":"1","ok":false,"nmse":null,"max_abs":null,"worst":null,"error":"<b>no</b> such attribute"}'
} >checks.json
check 'results of verify' "$clattn" report checks.json a.json --out checks.html
check 'as they are' holds checks.html 'd["verify"][0]["rows"] == lines("checks.json") and len(d["bench"]) == 1 and not notes'
{ cat checks.json; echo '{"case":"x","ok":1}'; head -n 1 a.json; } >bad-checks.json
bad_checks() {
    exits 3 "bad-checks.json:5: 'schedule' is missing" 2 "$clattn" report bad-checks.json --out r2.html &&
        holds r2.html 'len(d["verify"][0]["rows"]) == 4 and len(notes) == 2'
}
check 'damaged results of verify' bad_checks

# ---- training runs
# run FOLDER SEED LINES KEY=VALUE: a log, settings and a picture as those of a run.
run() {
    mkdir "$1"
    printf '{\n  "model": "tagger",\n  "lr": 0.1,\n  "seed": %s,\n  "%s": "%s",\n  "integrity": {"a": "%s"}\n}\n' \
        "$2" "${4%=*}" "${4#*=}" "$1" >"$1/config.json"
    python3 - "$2" "$3" >"$1/log.jsonl" <<'PYTHON'
import json, sys
seed, count = int(sys.argv[1]), int(sys.argv[2])
for step in range(1, count + 1):
    print(json.dumps({"step": step, "epoch": 1, "loss": seed / step, "lr": 0.1, "units_per_s": 7.5}))
    if step % 10 == 0:
        best = step <= 30
        print(json.dumps({"step": step, "epoch": 1, "verdict": "new best" if best else "stalled 1 of 3",
            "accuracy": 50.0 + seed + step if best else 1.5, "words": 9.0}))
PYTHON
}
run one 1 40 attention=conv
run two 2 50 attention=conv2d
run long 3 4100 attention=conv
echo '<svg xmlns="http://www.w3.org/2000/svg" width="20" height="10"><script>window.hacked = 1; parent.hacked = 1</script></svg>' >one/map.svg
head -c 200000 /dev/zero | tr '\0' ' ' >one/large.svg
check 'writes a page of runs' "$clattn" report one two long/log.jsonl --out runs.html
check 'with logs and settings' holds runs.html \
    'd["runs"][0]["log"] == lines("one/log.jsonl") and d["runs"][1]["config"]["attention"] == "conv2d" and
        len(d["runs"][0]["maps"]) == 1 and d["bench"] == []'
check 'with what is not shown' holds runs.html \
    'len(notes) == 2 and "one/large.svg: not shown: above 96 KiB" in notes and
        "long/log.jsonl: 1368 of 4100 lines with a loss are shown" in notes'
check 'every evaluation, and the last loss' holds runs.html \
    'sum("verdict" in l for l in d["runs"][2]["log"]) == 410 and
        [l for l in d["runs"][2]["log"] if "loss" in l][-1]["step"] == 4100'
mixed() {
    "$clattn" report a.json one --out mixed.html && holds mixed.html 'len(d["bench"]) == len(d["runs"]) == 1'
}
check 'results and runs on one page' mixed
cp -r two damaged
printf '{"model": "tagger",\n"lr": 1,,}' >damaged/config.json
{ echo '{"step": "x"}'; head -c 1000 two/log.jsonl; } >damaged/log.jsonl
damaged() {
    exits 3 'damaged/log.jsonl:1: ' 2 "$clattn" report one damaged --out r2.html &&
        grep -q 'damaged/config.json:2:9: ' err &&
        holds r2.html 'len(d["runs"]) == 2 and len(d["runs"][1]["log"]) > 5 and
            d["runs"][1]["config"] is None and sum("cut off" in n for n in notes) == 1'
}
check 'damaged runs' damaged

# ---- in a browser
browser=$(command -v chromium || command -v chromium-browser)
if [ -z "$browser" ]; then
    echo 'skipped the page in a browser: no chromium (Debian: apt-get install chromium)'
    passed
    exit
fi

# in_browser PAGE SCRIPT: runs SCRIPT on the page; its check(what, truth) must hold and the
# console must be silent.
in_browser() {
    { cat "$1"
      echo '<script>'
      cat "$source/tests/cli/report_check.js"
      echo 'checked(() => {'
      cat "$2"
      echo '});</script>'
    } >browser.html
    timeout 120 "$browser" --headless --disable-gpu --no-sandbox --user-data-dir="$work/profile" \
        --host-resolver-rules='MAP * ~NOTFOUND' --virtual-time-budget=5000 --enable-logging=stderr \
        --dump-dom "file://$work/browser.html" >dom 2>log
    grep 'CONSOLE' log >err
    grep -o 'RESULT [0-9].* END' dom >>err
    ! grep -q CONSOLE err && grep -qE 'RESULT [1-9][0-9]* checks: fine END' err
}
check 'the page of two results' in_browser r.html "$source/tests/cli/report_bench.js"
check 'the page of three runs' in_browser runs.html "$source/tests/cli/report_runs.js"
rows 1 5 20 'first device' >two.json && rows 3 5 20 'second device' >>two.json
"$clattn" report two.json --out two.html
check 'the page of two devices' in_browser two.html "$source/tests/cli/report_devices.js"
check 'the page of equal devices' in_browser equal.html "$source/tests/cli/report_equal.js"
check 'the page of a machine with other work' in_browser loaded.html "$source/tests/cli/report_loaded.js"
check 'the page of verifications' in_browser checks.html "$source/tests/cli/report_verify.js"
check 'the page of hostile texts' in_browser h.html "$source/tests/cli/report_hostile.js"

passed
