#!/bin/bash
# release.sh - makes the artefacts of a release from the last commit, twice, and tries them
# usage: tools/release.sh VERSION [STEP]...
#
# Steps, all of them by default: make again try. The artefacts lie in
# build-release/VERSION: the source archive, wheels for Linux and Windows on x86-64, a zip for
# Windows, Debian packages, an archive for other Linux, recipes for other systems with their
# sums (CLATTN_RELEASE_URL: where they will lie), an SBOM (SPDX) and checksums. `again'
# makes them once more from nothing and compares each bit. `try' uses each in an empty root
# (tools/release-checks.sh; needs root).
# shellcheck disable=SC2317,SC2086 # functions are called by `run`; lists of words
cd "$(dirname "$0")/.." || exit 2
. tools/common.sh
counting=yes

version=${1:-}
[ $# -eq 0 ] || shift
said=$(sed -n "s/^  version: '\(.*\)',/\1/p" meson.build)
if [ "$version" != "$said" ]; then
    echo "release.sh: the version of meson.build is $said, not '$version'" >&2
    trap - EXIT
    exit 2
fi
steps=${*:-make again try}
place=$PWD/build-release
out=$place/$version
tree=$place/tree/clattn-$version # all is built here, so that paths are the same each time
packages="$build_packages $extra_packages $python_packages gcc-mingw-w64-x86-64 dpkg-dev debhelper
    dh-python fakeroot mmdebstrap wine64 unzip xz-utils bzip2 lintian libcriterion-dev libopenmpi-dev git"
SOURCE_DATE_EPOCH=$(git log -1 --format=%ct)
export SOURCE_DATE_EPOCH GIT_CEILING_DIRECTORIES=$place TZ=UTC LC_ALL=C.UTF-8
licences='jansson:MIT pcre2:BSD-3-Clause utf8proc:MIT xxhash:BSD-2-Clause zlib:Zlib libyaml:MIT'

# packed OUT FOLDER: a tar.gz of a folder beside others.
packed() {
    tar --sort=name --mtime="@$SOURCE_DATE_EPOCH" --owner=0 --group=0 --numeric-owner --mode=go=rX,u+rw \
        -C "$(dirname "$2")" -c "$(basename "$2")" | gzip -9n >"$1"
}

source_archive() {
    git archive --prefix="clattn-$version/" HEAD | gzip -9n >"$made/clattn-$version.tar.gz" &&
        tar -C "$place/tree" -xf "$made/clattn-$version.tar.gz"
}

linux_wheel() {
    local folder=$place/wheel
    rm -rf "$folder" && mkdir "$folder" || return 1
    [ -x "$place/python/bin/pip" ] || python3 -m venv "$place/python" || return 1
    local option options=()
    for option in $wheel_extras; do
        options+=("--config-settings=setup-args=$option")
    done
    (cd "$tree" && "$place/python/bin/pip" wheel -q . --no-deps --wheel-dir "$folder" "${options[@]}") || return 1
    cp "$folder"/*.whl "$made/"
    local carried library package
    for carried in $(unzip -Z1 "$folder"/*.whl | grep -o 'lib[^/]*-clattn\.so[^/]*$'); do
        library=${carried/-clattn/}
        package=$(dpkg-query -S "*/$library" 2>/dev/null | head -n 1 | cut -d: -f1)
        echo "$(basename "$folder"/*.whl) ${package:-$library} $(dpkg-query -W -f '${Version}' "$package") NOASSERTION"
    done >>"$place/carried"
}

# The program and its libraries as the wheel has them, with headers.
linux_archive() {
    local name=clattn-$version-linux-x86_64 from=$place/unpacked
    local folder=$place/tar/$name
    rm -rf "$place/tar" "$from" && mkdir -p "$folder"/{bin,include} "$from" || return 1
    unzip -q "$place"/wheel/*.whl -d "$from" || return 1
    cp -r "$from/.clattn.mesonpy.libs/clattn/"* "$folder/" || return 1
    chmod 755 "$folder"/lib/*
    ln -s ../lib/clattn "$folder/bin/clattn"
    ln -s libclattn.so.0 "$folder/lib/libclattn.so"
    ln -s libclattn-models.so.0 "$folder/lib/libclattn-models.so"
    mkdir "$folder/include/clattn"
    cp "$tree"/include/clattn/*.h "$folder/include/clattn/"
    cp -r "$tree"/{LICENSE,THIRD_PARTY.md,NEWS.md} "$tree/python/licences" "$folder/"
    sed -n "s/^[^ ]*\.whl /$name.tar.gz /p" "$place/carried" | grep -v win_amd64 >"$place/carried.new"
    cat "$place/carried.new" >>"$place/carried"
    packed "$made/$name.tar.gz" "$folder"
}

# Program, DLLs and their import libraries; then the zip and the wheel.
windows_archives() {
    local name=clattn-$version-windows-x86_64 build=$tree/build-windows wheel entry library number
    local folder=$place/zip/$name
    [ -f "$place/deps/done" ] || tools/deps.sh windows "$place/deps" || return 1
    export PKG_CONFIG_LIBDIR="$place/deps/lib/pkgconfig"
    meson setup "$build" "$tree" --cross-file "$tree/tools/cross/windows.ini" --buildtype=release -Dtests=false \
        -Dclblast=disabled -Dclfft=disabled -Dicu=disabled -Dmarkup=disabled -Ddetect=disabled -Dsentencepiece=disabled -Dmarian=enabled \
        -Dc_args=-isystem"$place/deps/include" -Dc_link_args=-Wl,--no-insert-timestamp || return 1
    ninja -C "$build" --quiet || return 1
    unset PKG_CONFIG_LIBDIR
    rm -rf "$place/zip" "$place/dlls"
    mkdir -p "$folder"/{lib,share/clattn/data,include/clattn} "$place/dlls"
    cp "$build"/clattn.exe "$build"/libclattn-0.dll "$build"/libclattn-models-0.dll "$place/dlls/"
    x86_64-w64-mingw32-strip "$place"/dlls/* || return 1
    cp "$place"/dlls/* "$build"/libclattn{,-models}.dll.a "$folder/lib/"
    cp "$tree"/include/clattn/*.h "$folder/include/clattn/"
    cp -r "$place/unpacked/.clattn.mesonpy.libs/clattn/share" "$folder/"
    mkdir "$folder/licences"
    cp "$tree"/python/licences/{jansson,pcre2-8,utf8proc,xxhash,yaml-0,z}.txt "$folder/licences/"
    cp "$tree"/{LICENSE,THIRD_PARTY.md,NEWS.md} "$folder/"
    printf '@"%%~dp0lib\\clattn.exe" %%*\r\n' >"$folder/clattn.cmd"
    python3 tools/release.py zip "$made/$name.zip" "$place/zip" || return 1
    wheel=$(basename "$place"/wheel/*.whl | sed 's/-none-.*/-none-win_amd64.whl/')
    python3 tools/release.py wheel "$made/$wheel" "$place"/wheel/*.whl "$place/dlls" || return 1
    for entry in $licences; do
        library=${entry%:*}
        number=$(find "$place/deps/sources" -name "${library}_*.orig.tar.*" | sed 's/.*_\([0-9.]*[0-9]\).*/\1/' | head -n 1)
        printf '%s %s %s %s\n' "$name.zip" "$library" "$number" "${entry#*:}" "$wheel" "$library" "$number" "${entry#*:}"
    done >>"$place/carried"
}

debian_packages() {
    (cd "$tree" && DEB_BUILD_OPTIONS='nocheck parallel=2' dpkg-buildpackage -us -uc -b >"$place/debian.log" 2>&1) || {
        tail -n 5 "$place/debian.log"
        return 1
    }
    mv "$place"/tree/*.deb "$made/"
}

# Recipes of other systems, with the address of the release and the sums of what they take.
recipes() {
    local folder=$place/recipes/clattn-$version-packaging url=${CLATTN_RELEASE_URL:-https://example.org/clattn/$version}
    rm -rf "$place/recipes"
    mkdir -p "$place/recipes"
    cp -r "$tree/packaging" "$folder"
    sed -i "s|@URL@|$url|; s|@SHA256_SOURCE@|$(sum 256 "clattn-$version.tar.gz")|
        s|@SHA256_ZIP@|$(sum 256 "clattn-$version-windows-x86_64.zip")|
        s|@SHA512_SOURCE@|$(sum 512 "clattn-$version.tar.gz")|" "$folder"/*/*
    ! grep -r '@[A-Z0-9_]*@' "$folder" && packed "$made/clattn-$version-packaging.tar.gz" "$folder"
}
sum() { "sha$1sum" "$made/$2" | cut -d ' ' -f 1; }

# make_all FOLDER: all artefacts, from nothing.
make_all() {
    made=$1
    rm -rf "$made" "$place/tree" "$place/carried"
    mkdir -p "$made" "$place/tree"
    run 'source archive' source_archive
    run 'wheel for Linux' linux_wheel
    run 'archive for Linux' linux_archive
    run 'archive and wheel for Windows' windows_archives
    run 'Debian packages' debian_packages
    run 'recipes' recipes
    run 'SBOM' python3 tools/release.py sbom "$made/clattn-$version.spdx.json" "$version" "$made" "$place/carried"
    rm -f "$made/SHA256SUMS"
    (cd "$made" && sha256sum -- *) >"$place/sums"
    mv "$place/sums" "$made/SHA256SUMS"
}

same_bits() {
    diff "$out/SHA256SUMS" "$place/again/SHA256SUMS" && echo "$(wc -l <"$out/SHA256SUMS") files, all with the same bits"
}

step 'packages'
install $packages
mkdir -p "$place"
for wanted in $steps; do
    step "$wanted"
    case $wanted in
    make)
        make_all "$out"
        cat "$out/SHA256SUMS"
        ;;
    again)
        make_all "$place/again"
        run 'the same bits' same_bits
        ;;
    try) . tools/release-checks.sh ;;
    *)
        echo "release.sh: no step '$wanted'" >&2
        exit 2
        ;;
    esac
done

step 'what was reached'
[ "$steps" != 'make again try' ] || compare_reached
finish
