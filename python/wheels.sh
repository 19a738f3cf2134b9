#!/usr/bin/env bash
# Builds the wheels of all platforms, and the source distribution, into a folder. Needs Go, and
# Python's build (pip install build).
set -euo pipefail
dist=$(mkdir -p "${1:?usage: $0 FOLDER}" && cd "$1" && pwd)
cd "$(dirname "$0")"
for target in linux/amd64 linux/arm64 darwin/amd64 darwin/arm64 windows/amd64 windows/arm64; do
	VTI_TARGET=$target python3 -m build --wheel --outdir "$dist" .
done
python3 -m build --sdist --outdir "$dist" .
