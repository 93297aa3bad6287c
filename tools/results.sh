#!/bin/sh
# results.sh - runs the missing cells of a results table and renders docs/results.md
# usage: tools/results.sh TABLE DATA_FOLDER [BUILD_FOLDER] [--only RE]
#        tools/results.sh render
#        tools/results.sh pictures BUILD_FOLDER
#        tools/results.sh --check | --check-pages
# TABLE is a name in tools/results.py; DATA_FOLDER holds what the table reads. Finished
# cells are lines of docs/results/TABLE.jsonl; to run one again, delete its line.
set -eu
cd "$(dirname "$0")/.."
exec python3 tools/results.py "$@"
