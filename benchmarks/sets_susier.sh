#!/bin/bash
# Compares the credible sets of vti varsel with susieR on simulated regions, as
# docs/benchmarks/sets.md reports.
#
#   benchmarks/sets_susier.sh FOLDER FIRST LAST [FLAG ...]
#
# makes a region for every seed from FIRST to LAST, runs both programs on it, vti with the flags, and
# judges all regions of FOLDER. What FOLDER has already is kept, so that it can be stopped and called
# again. Set VTI to the program. Needs R with susieR, and jq.
set -e
here=$(dirname "$0")
vti=${VTI:-vti}
folder=$1 first=$2 last=$3
shift 3
mkdir -p "$folder"
TIMEFORMAT="%U"
for seed in $(seq "$first" "$last"); do
  at=$folder/$seed
  [ -f "$at.causes" ] || Rscript "$here/sets_susier.R" make "$seed" "$at.csv" "$at.causes"
  if [ ! -f "$at.vti.txt" ]; then
    rm -rf "$at.vti"
    { time "$vti" varsel "$at.csv" --target y --seed "$seed" --out "$at.vti" --no-report --quiet "$@" > "$at.vti.log"; } 2> "$at.seconds" || true
    { tail -1 "$at.seconds"; jq -r '.credible_sets[]? | "\(.purity) \(.predictors | join(","))"' "$at.vti/result.json"; } > "$at.vti.txt"
  fi
  [ -f "$at.susie.txt" ] || Rscript "$here/sets_susier.R" run "$at.csv" "$at.susie.txt"
done
Rscript "$here/sets_susier.R" judge "$folder"
