#!/usr/bin/env bash
# Reproduces dagre.min.js: the file of the npm package, unchanged, at a pinned version whose
# checksum npm's registry publishes. A newer version: change both, run this, and run the tests.
set -euo pipefail
cd "$(dirname "$0")"
version=3.1.3
integrity=sha512-X4aUTwOReZvthaZWOVHqlJ52/ZdhZFEM4+Lh/uR4XooUSLE6p71bcy7MPGzYnNUcNh+nj+i/qJQpCMIdQnSmrg==
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
(cd "$work" && npm pack --silent "@dagrejs/dagre@$version" >/dev/null)
tarball="$work/dagrejs-dagre-$version.tgz"
found=sha512-$(openssl dgst -sha512 -binary "$tarball" | openssl base64 -A)
[ "$found" = "$integrity" ] || { echo "got $found, want $integrity" >&2; exit 1; }
tar -xzf "$tarball" -C "$work"
cp "$work/package/dist/dagre.min.js" dagre.min.js
cp "$work/package/LICENSE" LICENSE.dagre
