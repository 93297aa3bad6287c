#!/bin/sh
# compilers.sh - the vendors' offline compilers, unpacked and not installed, for machines without a GPU
# usage: tools/gpu/compilers.sh FOLDER
#
# AMD: clang, the compiler of its driver, and its device libraries. NVIDIA: clang with libclc, and ptxas and nvdisasm
# of CUDA 12.4 out of the wheel triton 3.1.0 (a later one refuses sm_70). Intel: its offline compiler; installed, its ICD file
# would show up in every OpenCL program. Debian 12 has the packages; about 330 MB are fetched.
set -eu
mkdir -p "$1/debs" "$1/nv"
cd "$1"
[ ! -e versions ] || exit 0

packages='clang-19 llvm-19 llvm-19-linker-tools libllvm19 libclang-cpp19 libclang-common-19-dev libclc-19
    libclc-19-dev rocm-device-libs intel-opencl-icd libigc1 libigdfcl1 libigdgmm12 libopencl-clang14 libclang-cpp14
    libllvmspirvlib14 libllvm14 libz3-4 libpfm4'

# shellcheck disable=SC2086 # a list of words
(cd debs && apt-get -qq download $packages)
for deb in debs/*.deb; do
    dpkg -x "$deb" root
done
python3 -m venv venv
venv/bin/pip download -q --no-deps --only-binary=:all: --python-version 3.11 \
    --platform manylinux_2_17_x86_64 -d wheel triton==3.1.0
venv/bin/python - wheel/triton-*.whl <<'END'
import os, sys, zipfile
with zipfile.ZipFile(sys.argv[1]) as wheel:
    for name in ("bin/ptxas", "bin/nvdisasm", "lib/libdevice.10.bc"):
        path = "nv/" + os.path.basename(name)
        with open(path, "wb") as f:
            f.write(wheel.read("triton/backends/nvidia/" + name))
        os.chmod(path, 0o755)
END
rm -rf wheel venv
{
    for deb in debs/clang-19_*.deb debs/rocm-device-libs_*.deb debs/libclc-19_*.deb \
        debs/intel-opencl-icd_*.deb debs/libigc1_*.deb; do
        dpkg-deb -f "$deb" Package Version | sed 's/^[A-Za-z]*: //' | paste -sd ' '
    done
    echo "ptxas $(nv/ptxas --version | sed -n 's/.*, V//p')"
} >versions.new
rm -rf debs
mv versions.new versions
