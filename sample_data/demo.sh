#!/bin/sh
# The real pipe on the sample data: `make demo` runs this with the installed `grasp` on the PATH.
# Takes a few minutes on two cores; most of it is the reader, which answers every question twice.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
out=${1:-demo_output}
mkdir -p "$out"
export GRASP_INDEX="$out/index"

say() { printf '\n\033[1m$ %s\033[0m\n' "$*" >&2; }

say "grasp index sample_data/documents.jsonl"
grasp index "$here/documents.jsonl"

say "grasp retrieve sample_data/questions.jsonl | grasp compress --explain | grasp answer --compare -o answered.jsonl"
grasp retrieve "$here/questions.jsonl" | grasp compress --explain | grasp answer --compare -o "$out/answered.jsonl" --expect "$here/questions.jsonl"

say "grasp explain --id q06 answered.jsonl     # one question's contexts: kept, and dropped"
grasp explain --id q06 "$out/answered.jsonl"

say "grasp evaluate answered.jsonl     # compressed against full contexts"
grasp evaluate "$out/answered.jsonl"

say "grasp explain answered.jsonl --html demo.html     # all questions, for a browser"
grasp explain "$out/answered.jsonl" --html "$out/demo.html"
