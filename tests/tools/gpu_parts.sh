#!/bin/bash
# gpu_parts.sh - the parts of a bundle for cards: all exist, bad arguments get one line, and
# a part that its limit cuts leaves an archive and no process
# usage: tests/tools/gpu_parts.sh SOURCE_ROOT
set -u
source=$1
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
bad=0
fail() {
    echo "FAILED: $1"
    bad=1
}

# A bundle with a program that says which device it has, and does the rest at once.
bundle=$work/bundle
mkdir -p "$bundle"/{bin,lib,tests,golden/add,golden/hang,examples/data/fr_spoken,out}
cp "$source/tools/gpu-parts.sh" "$bundle/run.sh"
echo 0123abc >"$bundle/commit"
for split in train dev test; do
    printf '# text = un deux trois quatre cinq six\n' >"$bundle/examples/data/fr_spoken/$split.conllu"
done
cat >"$bundle/bin/clattn" <<'END'
#!/bin/bash
case "$*" in
'devices --json') echo '{"name":"a card","driver":"1.2","default":true}' ;;
*golden/hang*) echo "$CLATTN_SCHEDULE" && setsid sleep "$HANG" ;;
*golden/add*) echo '{"case":"add","ok":true}' && echo '{"case":"add","ok":false}' && exit 1 ;;
esac
END
printf '#!/bin/bash\necho "ok - one"\n' >"$bundle/tests/test-ops-add"
chmod +x "$bundle/bin/clattn" "$bundle/tests/test-ops-add"
export HANG=4711.$$ OUT=$bundle/out GPU_JOBS=2 GPU_CASES='^add$'

# refused WORDS ARGUMENT...: status 2 and one line that has the words.
refused() {
    local words=$1 status=0
    shift
    "$@" >"$work/said" 2>&1 || status=$?
    if [ "$status" -ne 2 ] || [ "$(wc -l <"$work/said")" -ne 1 ] || ! grep -qF "$words" "$work/said"; then
        fail "$* gave status $status and: $(cat "$work/said")"
    fi
}
run=$bundle/run.sh
refused 'usage' "$run"
refused "no part 'Z'" "$run" Z
refused "no part 'A '" "$run" 'A '
refused "no part '.'" "$run" .
refused 'GPU_LIMIT' env GPU_LIMIT=541 "$run" A
refused 'GPU_JOBS' env GPU_JOBS=many "$run" A
refused 'GPU_DRIVER' env GPU_DRIVER=/nowhere "$run" A
refused 'OUT' env OUT=/nowhere "$run" A
refused 'usage' "$source/tools/gpu-bundle.sh" -z
refused 'no program' "$source/tools/gpu-bundle.sh" -b /nowhere

# steps PART: the lines of its archive.
steps() { tar -xzOf "$OUT/$1.tar.gz" "result-$1/steps.jsonl"; }

parts=$("$run" --list | cut -c 1)
[ "$(wc -l <<<"$parts")" -ge 7 ] || fail "--list has too few parts: $parts"
for part in $parts; do
    "$run" "$part" >"$work/said" 2>&1
    steps "$part" | head -n 1 | grep -q '"device":"a card","driver":"1.2".*"commit":"0123abc"' ||
        fail "part $part: no device, driver, commit"
    steps "$part" | sed 1d | grep -v '"step":"total"' | grep -q '"seconds":' ||
        fail "part $part has no step"
    ! grep -qs "command not found" "$bundle/result-$part"/*.err || fail "part $part: no such step"
done
steps B | grep -q '"step":"add","status":"1","seconds":[0-9]*,"failures":1' ||
    fail "failures of a case are not counted: $(steps B)"

for limit in 2 8 30; do # a busy machine needs seconds to begin
    GPU_LIMIT=$limit GPU_CASES='' "$run" B >"$work/said" 2>&1 && fail 'a part that is cut succeeds'
    ! steps B | grep -q 'not begun' || continue
    ! steps B | grep -q '"step":"add","status":"1"' || break
done
steps B | grep -q '"step":"hang","status":"cut"' || fail "no cut step: $(steps B)"
steps B | grep -q '"step":"add","status":"1"' || fail "the other step is lost: $(steps B)"
tar -xzOf "$OUT/B.tar.gz" result-B/hang.txt | grep -qx group || fail 'its output is lost'
left=$(env -u HANG grep -lszxF "HANG=$HANG" /proc/[0-9]*/environ)
[ -z "$left" ] || fail "processes are left: $left"
[ "$bad" -eq 0 ] && echo 'all as it should be'
exit "$bad"
