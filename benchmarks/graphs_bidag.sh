#!/bin/bash
# Compares vti dag with BiDAG on fresh tables, as docs/benchmarks/graphs.md reports.
#
#   benchmarks/graphs_bidag.sh FOLDER FIRST LAST DESIGN...
#
# makes for every seed from FIRST to LAST a table of each design, runs both programs on it, and
# judges all tables of FOLDER. A design is a number of nodes (linear, expected degree 1.5, with 200,
# 500 and 1,000 rows for 10, 20 and 50 nodes) or a network in BIF (1,000 rows of categories). Tables
# come design by design of one seed and then of the next. What FOLDER has already is kept, so that it
# can be stopped and called again, with the same designs or others. Set VTI to the program and R_LIBS
# to where BiDAG is.
set -e
here=$(dirname "$0")
vti=${VTI:-vti}
folder=$1 first=$2 last=$3
shift 3
mkdir -p "$folder"
for seed in $(seq "$first" "$last"); do
  for design in "$@"; do
    if [ -f "$design" ]; then
      name=$(basename "$design" .bif)-$seed kind=categories flags="--discrete all"
      made="--graph $design --sem categorical --rows 1000"
    else
      case $design in 10) rows=200 ;; 20) rows=500 ;; *) rows=1000 ;; esac
      name=linear$design-$seed kind=linear flags=
      made="--nodes $design --rows $rows --expected-degree 1.5 --sem linear"
    fi
    at=$folder/$name
    [ -f "$at.csv" ] || "$vti" simulate dag $made --seed "$seed" --out "$at.csv" --truth "$at.truth.csv" > /dev/null
    if [ ! -f "$at.vti/edges.csv" ]; then
      rm -rf "$at.vti"
      TIMEFORMAT="$name vti %U CPU seconds"
      time "$vti" dag "$at.csv" $flags --seed "$seed" --out "$at.vti" --no-report --quiet > "$at.vti.txt" || true
      grep -m1 -E '^(TRUSTED|DOUBTFUL|FAILED)' "$at.vti.txt" | cut -d: -f1
    fi
    if [ ! -f "$at.bidag.csv" ]; then
      TIMEFORMAT="$name BiDAG %U CPU seconds"
      time timeout 1800 Rscript "$here/graphs_bidag.R" run "$at.csv" "$at.bidag.csv" $kind "$seed" > "$at.bidag.txt" 2>&1 || tail -2 "$at.bidag.txt"
    fi
  done
done
Rscript "$here/graphs_bidag.R" judge "$folder"
