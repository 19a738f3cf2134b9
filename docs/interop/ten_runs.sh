#!/usr/bin/env bash
# Runs ten commands with draws, and checks each run with ArviZ:
#
#     docs/interop/ten_runs.sh DIR VTI PYTHON
#
# DIR takes the runs, VTI is the program, and PYTHON one that has the packages of arviz_check.py. A run
# that is not trusted keeps draws as well, and is read like the others.
set -euo pipefail
dir=$1 vti=$2 python=$3
data="$(cd "$(dirname "$0")/../.." && pwd)/testdata"
mkdir -p "$dir"

list=()
make() {
	local name=$1
	shift
	"$vti" "$@" --quiet --no-report --out "$dir/$name" >/dev/null || [ $? -eq 3 ]
	"$vti" check "$dir/$name" >/dev/null
	"$vti" export "$dir/$name" >/dev/null
	list+=("$dir/$name")
}

make gaussian varsel "$data/diabetes.csv" --target y
make logistic varsel "$data/pima.csv" --target type --exclude train --likelihood logistic
make poisson varsel "$data/biochemists.csv" --target art --likelihood poisson
make student varsel "$data/hald.csv" --target y --likelihood student
make exact exact "$data/prostate.csv" --target lpsa --exclude train
make chains rjmcmc varsel "$data/hald.csv" --target y
make levels hbm "$data/sleepstudy.csv" --formula "Reaction ~ Days + (1 | Subject)"
make slopes hbm "$data/sleepstudy.csv" --formula "Reaction ~ Days + (1 + Days | Subject)"
make terms hbm "$data/sleepstudy.csv" --formula "Reaction ~ Days + (1 + Days | Subject)" --select
make graphs dag "$data/hald.csv" --continuous x1,x3
"$python" "$(dirname "$0")/arviz_check.py" "${list[@]}"
