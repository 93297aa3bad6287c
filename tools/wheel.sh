#!/bin/sh
# wheel.sh - builds the wheel as a user does, and uses it in an environment of its own
# usage: tools/wheel.sh
#
# Nothing of the system's Python is seen, neither at the build nor by the examples of
# docs/python.md. `tools/fresh.sh tools/wheel.sh` does it on a bare Debian 12.
cd "$(dirname "$0")/.." || exit 2
. tools/common.sh

step 'packages'
# shellcheck disable=SC2086 # lists of words
install $build_packages $extra_packages $python_packages

step 'the wheel'
rm -rf build-wheel build-empty
python3 -m venv build-empty
# shellcheck disable=SC2046,SC2086 # lists of words
build-empty/bin/pip wheel -q . --no-deps --wheel-dir build-wheel \
    $(for option in $wheel_extras; do echo "--config-settings=setup-args=$option"; done)
ls -l build-wheel

step 'an empty environment'
build-empty/bin/pip install -q build-wheel/clattn-*.whl pytest
build-empty/bin/pip list

step 'the examples of docs/python.md'
unset CLATTN_LIBRARY CLATTN_PROGRAM
build-empty/bin/python -m pytest -v -p no:cacheprovider -k 'example_runs or test_wheel' \
    tests/python/test_docs.py tests/python/test_wheel.py
