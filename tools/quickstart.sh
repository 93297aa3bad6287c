#!/bin/sh
# quickstart.sh - from a bare Debian to a checked build, first numbers, a trained model
# usage: tools/quickstart.sh
cd "$(dirname "$0")/.." || exit 2
. tools/common.sh

step 'packages'
# shellcheck disable=SC2086 # lists of words
install $build_packages $extra_packages

step 'build a release in build/'
# shellcheck disable=SC2086 # a list of words
compile build clattn --buildtype=release -Dicu=enabled $with_extras

step 'devices'
build/clattn devices

step 'verify: both schedules against the built-in golden cases'
build/clattn verify

step 'bench --quick on the default device'
build/clattn bench --quick

step 'a tagger from the spoken French that ships with the project, and a sentence'
run=runs/quickstart
rm -rf "$run"
build/clattn train examples/configs/tagger-conv2d.json --set epochs=10 --out "$run"
echo 'nous avons parlé de la musique avec des amis' | build/clattn tag --model "$run"

trap - EXIT
cat <<'END'

It works. Next:
  build/clattn bench --device all        the whole benchmark, on every device
  build/clattn eval --model runs/quickstart --split test
  build/clattn --help                    what else there is
  meson install -C build                 library, headers and program for all users
END
