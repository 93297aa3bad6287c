#!/bin/bash
# stranger.sh - what docs/python.md shows, in an empty Debian 12 with a wheel and nothing else
# usage: tools/stranger.sh WHEEL [PACKAGE...]   (as root; needs mmdebstrap)
#
# The wheel goes into a virtual environment that sees Debian's NumPy and PyTorch 1.13, the
# oldest that clattn takes, or the packages of PyPI that are named: `torch transformers'.
# There the blocks of the page run one after the other, then the tests of clattn.torch,
# `clattn plot' and `clattn export'. Everything lies in build-stranger/.
# shellcheck disable=SC2317 # functions are called by `run`
cd "$(dirname "$0")/.." || exit 2
. tools/common.sh
. tools/root.sh
counting=yes

wheel=${1:?usage: tools/stranger.sh WHEEL [PACKAGE...]}
shift
work=$PWD/build-stranger root=$PWD/build-stranger/root
packages='python3-venv python3-pytest ocl-icd-libopencl1 pocl-opencl-icd ca-certificates'
own=''
[ $# -gt 0 ] || own='python3-torch python3-numpy'

there() { inside_root "$root" /stranger env OMP_WAIT_POLICY=passive "$@"; }

make_root() {
    rm -rf "$root" && mkdir -p "$work" && bare_root "$root" && mkdir "$root/stranger" || return 1
    cp "$wheel" "$root/stranger/"
    cp -r README.md examples docs tests tools pyproject.toml "$root/stranger/"
    # shellcheck disable=SC2086 # words
    there apt-get -qq update &&
        there env DEBIAN_FRONTEND=noninteractive apt-get -qq install -y --no-install-recommends \
            $packages $own >/dev/null
}

installed() {
    local option=''
    [ -z "$own" ] || option=--system-site-packages
    # shellcheck disable=SC2086 # no word is an option, too
    there python3 -m venv $option /venv && there sh -c '/venv/bin/pip install -q *.whl "$@"' sh "$@" numpy pytest &&
        there /venv/bin/python -c 'import clattn, torch; print(clattn.version(), "with PyTorch", torch.__version__)'
}

# The blocks of the page whose packages are there, in one process.
page() {
    there /venv/bin/python tools/notebook.py docs/python.md page.ipynb &&
        there env PYTHONPATH=tests/python /venv/bin/python -c '
import json
from test_docs import has
script = ""
for cell in json.load(open("page.ipynb"))["cells"]:
    tags = [t.removeprefix("needs-").replace("-", " ") for t in cell["metadata"].get("tags", [])]
    if cell["cell_type"] == "code" and all(map(has, tags)):
        script += "".join(cell["source"]) + "\n"
open("page.py", "w").write(script)' && there /venv/bin/python page.py
}

tests() { there /venv/bin/python -m pytest -q -p no:cacheprovider tests/python -k torch; }

plotted() {
    there /venv/bin/clattn plot runs/python runs/events --out curve.svg && [ -s "$root/stranger/curve.svg" ]
}

exported() {
    there /venv/bin/clattn export --model runs/python --half --out small &&
        there /venv/bin/python -c '
import clattn
print(clattn.Model.load("small").tag(["la", "musique"]))'
}

step 'an empty Debian 12'
run 'a root' make_root
step "the page"
run 'the wheel' installed "$@"
run 'the page runs' page
run 'tests of clattn.torch' tests
run 'clattn plot' plotted
run 'clattn export' exported

step 'what was reached'
compare_reached
finish
