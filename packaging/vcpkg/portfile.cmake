# portfile.cmake - clattn for vcpkg; tools/release.sh puts the address and the sum in.
# Windows needs the triplet x64-mingw-dynamic: the sources are C11 for GCC and clang.
vcpkg_download_distfile(ARCHIVE
    URLS "@URL@/clattn-${VERSION}.tar.gz"
    FILENAME "clattn-${VERSION}.tar.gz"
    SHA512 @SHA512_SOURCE@)
vcpkg_extract_source_archive(SOURCE_PATH ARCHIVE "${ARCHIVE}")
vcpkg_configure_meson(
    SOURCE_PATH "${SOURCE_PATH}"
    OPTIONS
        -Dtests=false
        -Dprogram=false
        -Dclblast=disabled
        -Dclfft=disabled
        -Dicu=disabled
        -Dmarian=enabled
        -Dmpi=disabled
        -Dsentencepiece=disabled
        -Dserve=disabled)
vcpkg_install_meson()
vcpkg_fixup_pkgconfig()
vcpkg_install_copyright(FILE_LIST "${SOURCE_PATH}/LICENSE" "${SOURCE_PATH}/THIRD_PARTY.md")
