#!/bin/sh
# results.sh - runs the missing cells of a table, renders the pages, checks both
# usage: reproduction/results.sh TABLE DATA_FOLDER [BUILD_FOLDER] [--only RE]
#        reproduction/results.sh render
#        reproduction/results.sh pictures BUILD_FOLDER
#        reproduction/results.sh --check | --check-pages
# TABLE is a name in reproduction/results.py; DATA_FOLDER holds what the table reads. Finished
# cells are lines of reproduction/rows/TABLE.jsonl; to run one again, delete its line.
set -eu
cd "$(dirname "$0")/.."
exec python3 reproduction/results.py "$@"
