#!/bin/sh
# compilers.sh - the vendors' offline compilers, unpacked and not installed, for machines without a GPU
# usage: tests/gpu/analysis/compilers.sh FOLDER
#
# AMD: clang, the compiler of its driver, and its device libraries. NVIDIA: clang with libclc, and ptxas and nvdisasm
# of CUDA 12.4 out of the wheel triton 3.1.0 (a later one refuses sm_70). Intel: its offline compiler; installed, its ICD file
# would show up in every OpenCL program. Debian 12 has the packages; about 330 MB are fetched.
set -eu
mkdir -p "$1/debs" "$1/nv"
cd "$1"

# Figures are compared with stored ones, so the versions that made those are asked for and no others.
llvm='1:19.1.7-3~deb12u1' rocm='5.2.3-2' intel='22.43.24595.41-1' igc='1.0.12504.6-1+deb12u1' ptxas='12.4.99'
[ "$(cat versions 2>/dev/null)" != "clang-19 $llvm
rocm-device-libs $rocm
libclc-19 $llvm
intel-opencl-icd $intel
libigc1 $igc
ptxas $ptxas" ] || exit 0
rm -rf versions root

packages="clang-19=$llvm llvm-19=$llvm llvm-19-linker-tools=$llvm libllvm19=$llvm libclang-cpp19=$llvm
    libclang-common-19-dev=$llvm libclc-19=$llvm libclc-19-dev=$llvm rocm-device-libs=$rocm intel-opencl-icd=$intel
    libigc1=$igc libigdfcl1=$igc libigdgmm12 libopencl-clang14 libclang-cpp14 libllvmspirvlib14 libllvm14 libz3-4 libpfm4"

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
