#!/bin/sh
# layers.sh - fail when a source file includes a room it may not know
# usage: tools/layers.sh SOURCE_ROOT
cd "$1" || exit 2

may_include() {
    case $1 in
    base)    echo base ;;
    expr)    echo base expr ;;
    text)    echo base text ;;
    metrics) echo base text metrics ;;
    runtime) echo base runtime ;;
    tensor)  echo base runtime tensor ;;
    ops)     echo base cl expr runtime tensor ops ;;
    nn)      echo base tensor ops nn ;;
    models)  echo base tensor ops nn models ;;
    train)   echo base tensor ops nn train ;;
    tasks)   echo base text metrics tensor ops nn models train tasks ;;
    exchange) echo base text nn models train tasks exchange ;;
    cli)     echo base text metrics runtime tensor ops models train tasks exchange bench oracle cli ;;
    *)       echo "no room is called $1" >&2; exit 2 ;;
    esac
}

status=0
for room in src/*/; do
    room=$(basename "$room")
    allowed=" $(may_include "$room") clattn " || status=1
    # shellcheck disable=SC2013 # room names are words
    for used in $(find "src/$room" -name '*.[ch]' -exec sed -n 's|^ *# *include *"\([a-z.]*\)/.*|\1|p' {} + | sort -u); do
        case $allowed in
        *" $used "*) ;;
        *) echo "src/$room must not include $used/"; status=1 ;;
        esac
    done
done

if grep -rlE '<(clblast|clFFT|mpi|pcre2|microhttpd|gumbo|md4c|textcat)' src | grep -vE 'ops/matmul_clblast|ops/conv_fft|train/parallel|metrics/rules|text/cutter|cli/serve_http|base/platform_pattern|text/html|text/markdown|cli/serve_detect'; then
    echo "a library is included outside its one file"; status=1
fi
if grep -rl '<CL/' src 2>/dev/null | grep -v '^src/runtime/'; then
    echo "only src/runtime may include OpenCL headers"; status=1
fi
# Jansson's functions that leave out what memory was lacking for, and say nothing.
if grep -nE '\<json_(copy|deep_copy|object_update_missing)\(' -r src; then
    echo "use cla_json_copy or cla_json_complete (base/json.h)"; status=1
fi
if grep -nE '\<json_dump' -r src bench | grep -v '^src/base/json.c:'; then
    echo "use cla_json_write (base/json.h), which writes reals"; status=1
fi
exit $status
