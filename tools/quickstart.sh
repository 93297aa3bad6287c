#!/bin/sh
# quickstart.sh - from a bare Debian to a checked build and first numbers
# usage: tools/quickstart.sh
cd "$(dirname "$0")/.." || exit 2
. tools/common.sh

step 'packages'
# shellcheck disable=SC2086 # a list of words
install $build_packages

step 'build a release in build/'
compile build clattn --buildtype=release

step 'devices'
build/clattn devices

step 'verify: both schedules against the built-in golden cases'
build/clattn verify

step 'bench --quick on the default device'
build/clattn bench --quick

trap - EXIT
cat <<'END'

It works. Next:
  build/clattn bench --device all        the whole benchmark, on every device
  build/clattn --help                    what else there is
  meson install -C build                 library, headers and program for all users
END
