#!/usr/bin/env bash
# Which markers change the expression of which genes: simulates a study, runs a regression for every
# gene, collects the inclusion probabilities in one Parquet file, and lists and draws what was found
# beside the truth.
#
#     examples/eqtl/run.sh DIRECTORY [GENES [VTI]]
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
dir=${1:?want a directory} genes=${2:-2000} vti=${3:-vti}

"$vti" simulate eqtl --genes "$genes" --seed 1 --out "$dir"
cp "$here/eqtl.toml" "$dir"
cd "$dir"
"$vti" study plan eqtl.toml
"$vti" study run eqtl.toml
"$vti" study collect eqtl.toml --out results.parquet
"$vti" study discoveries results.inclusion.parquet --fdr 0.05 --truth truth.csv --out found
