#!/bin/bash
# gpu-bundle.sh - packs all that a machine with a card and nothing else needs to test clattn
# usage: tools/gpu-bundle.sh [-b BUILD] [OUT]
#
# OUT is an archive (default clattn-gpu.tar.gz) below 64 MiB or, without the ending .tar.gz,
# a folder that must not exist. The machine needs a C library as new as this one's, bash and
# the vendor's driver; no network, no compiler, no loader of OpenCL and no registered driver.
# The archive unpacks into the folder clattn-gpu; its run.sh is tools/gpu-parts.sh.
#
# Without -b the program and the tests are built in build-gpu-bundle; BUILD is a build that
# exists, and is taken as it is.
cd "$(dirname "$0")/.." || exit 2
. tools/common.sh
refuse() {
    trap - EXIT
    rm -f "$reached"
    echo "gpu-bundle.sh: $1" >&2
    exit 2
}

build=
while getopts :b: option; do
    case $option in
    b) build=$OPTARG ;;
    *) refuse 'usage: tools/gpu-bundle.sh [-b BUILD] [OUT]' ;;
    esac
done
shift $((OPTIND - 1))
[ $# -le 1 ] || refuse 'usage: tools/gpu-bundle.sh [-b BUILD] [OUT]'
out=${1:-clattn-gpu.tar.gz}
[ -z "$build" ] || [ -x "$build/clattn" ] || refuse "no program $build/clattn"
case $out in
*.tar.gz) ;;
*) [ ! -e "$out" ] || refuse "$out is there already" ;;
esac

if [ -z "$build" ]; then
    build='build-gpu-bundle'
    step "build in $build/"
    compile "$build" clattn --buildtype=release -Dmpi=disabled -Dserve=disabled \
        -Dsentencepiece=disabled -Dmarkup=disabled -Ddetect=disabled -Dmarian=disabled
    targets=$(ninja -C "$build" -t targets all |
        sed -nE 's/^(tests\/(test-ops-[a-z0-9_]+|kernels\.stamp)): .*/\1/p')
    # shellcheck disable=SC2086 # a list of words
    [ -z "$targets" ] || ninja -C "$build" --quiet $targets
fi

step 'bundle'
work=$(mktemp -d)
trap 'stopped; rm -rf "$work"' EXIT
bundle=$work/clattn-gpu
mkdir -p "$bundle"/{bin,lib/gcc,tests,cl,golden,examples/data,share/clattn}
cp "$build/clattn" "$bundle/bin/"
find "$build/tests" -maxdepth 1 -type f -name 'test-ops-*' -exec cp -t "$bundle/tests" {} +
[ ! -d "$build/tests/cl" ] || cp -r "$build/tests/cl/." "$bundle/cl/"
cp -r tests/data/golden/*/ "$bundle/golden/"
cp -r examples/configs "$bundle/examples/"
cp -r examples/data/fr_spoken "$bundle/examples/data/"
ln -s ../../examples/data "$bundle/share/clattn/data" # where benchmarks look for it
cp tools/gpu-parts.sh "$bundle/run.sh"
cp LICENSE "$bundle/"
commit=$(git rev-parse HEAD 2>/dev/null || "$build/clattn" --version)
[ -z "$(git status --porcelain -uno 2>/dev/null)" ] || commit="$commit, changed"
echo "$commit" >"$bundle/commit"

# All libraries but the C library's own, which must fit the machine's loader.
for file in "$bundle"/bin/* "$bundle"/tests/*; do
    LD_LIBRARY_PATH=$build ldd "$file" | awk '/not found/ { print } /=> \// { print $3 }'
done | sort -u | grep -vE '/(libc|libm|libpthread|libdl|librt|libresolv|ld-linux.*)\.so' >"$work/libraries"
! grep 'not found' "$work/libraries" || exit 1
while read -r file; do
    case $file in
    */libstdc++.so* | */libgcc_s.so*) cp -L "$file" "$bundle/lib/gcc/" ;;
    *) cp -L "$file" "$bundle/lib/" ;;
    esac
    case $file in */libstdc++.so*) basename "$(readlink -f "$file")" >"$bundle/lib/gcc/version" ;; esac
done <"$work/libraries"
chmod -R u+w "$bundle"
strip "$bundle"/bin/* "$bundle"/tests/* "$bundle"/lib/*.so* "$bundle"/lib/gcc/*.so*

needs=$(find "$bundle/bin" "$bundle/lib" "$bundle/tests" -type f -exec grep -aohE 'GLIBC_2\.[0-9]+' {} + |
    sort -uV | tail -n 1)
case $out in
*.tar.gz)
    tar -C "$work" -czf "$out" clattn-gpu
    bytes=$(stat -c %s "$out")
    ;;
*)
    mv "$bundle" "$out"
    bytes=0 # no limit
    ;;
esac
echo "$out: $(du -sh "$out" | cut -f 1), $(wc -l <"$work/libraries") libraries, needs $needs"
[ "$bytes" -lt $((64 << 20)) ] || {
    echo "$out has 64 MiB or more" >&2
    exit 1
}
