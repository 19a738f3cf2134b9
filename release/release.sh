#!/usr/bin/env bash
# Builds what a release consists of into a folder: an archive for each platform, Debian packages,
# a list of all modules (SBOM, CycloneDX) and checksums. The same commit gives the same bytes.
#
#   release/release.sh FOLDER [OS/ARCH ...]
#
# Needs Go, tar, gzip and zip; the Debian packages dpkg-deb, and the SBOM the module proxy of Go.
set -euo pipefail
out=$(mkdir -p "${1:?usage: $0 FOLDER [OS/ARCH ...]}" && cd "$1" && pwd)
shift
cd "$(dirname "$0")/.."
targets=("$@")
[ $# -gt 0 ] || targets=(linux/amd64 linux/arm64 darwin/amd64 darwin/arm64 windows/amd64 windows/arm64)
version=$(sed -n 's/^const Version = "\(.*\)"$/\1/p' doc.go)
SOURCE_DATE_EPOCH=$(git log -1 --format=%ct)
export SOURCE_DATE_EPOCH CGO_ENABLED=0
umask 022
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

# build FILE OS ARCH: the program for a platform
build() { GOOS=$2 GOARCH=$3 go build -trimpath -buildvcs=false -ldflags='-s -w -buildid=' -o "$1" ./cmd/vti; }

# dated FOLDER: all files as old as the commit
dated() { find "$1" -exec touch --no-dereference --date="@$SOURCE_DATE_EPOCH" {} +; }

build "$work/here" "$(go env GOHOSTOS)" "$(go env GOHOSTARCH)"
mkdir "$work/completions"
for shell in bash zsh fish powershell; do "$work/here" completion "$shell" >"$work/completions/vti.$shell"; done

# debian ARCH: a package of the program for Debian and its relatives
debian() {
	local root="$work/debian-$1"
	mkdir -p "$root/DEBIAN" "$root/usr/bin" "$root/usr/share/doc/vti" "$root/usr/share/bash-completion/completions"
	cp "$work/vti-$version-linux-$1/vti" "$root/usr/bin/vti"
	cp LICENSE "$root/usr/share/doc/vti/copyright"
	cp "$work/completions/vti.bash" "$root/usr/share/bash-completion/completions/vti"
	cat >"$root/DEBIAN/control" <<-END
		Package: vti
		Version: $version
		Architecture: $1
		Section: science
		Priority: optional
		Installed-Size: $(du -sk "$root/usr" | cut -f1)
		Maintainer: The authors of vti
		Homepage: https://github.com/transdim/vti
		Description: Bayesian model selection that says whether to trust its answer
		 Which predictors matter, which columns of a table depend on which, and which
		 effects vary by group: probabilities of all models, with a verdict.
	END
	dated "$root"
	dpkg-deb --root-owner-group -Zxz --build "$root" "$out/vti_${version}_$1.deb" >/dev/null
}

for target in "${targets[@]}"; do
	system=${target%/*} processor=${target#*/}
	name=vti-$version-$system-$processor
	mkdir "$work/$name"
	program=vti
	[ "$system" = windows ] && program=vti.exe
	build "$work/$name/$program" "$system" "$processor"
	cp -r LICENSE README.md CHANGELOG.md "$work/completions" "$work/$name/"
	dated "$work/$name"
	if [ "$system" = windows ]; then
		(cd "$work" && rm -f "$out/$name.zip" && find "$name" -type f | LC_ALL=C sort | TZ=UTC zip -qX "$out/$name.zip" -@)
	else
		tar -C "$work" --sort=name --owner=0 --group=0 --numeric-owner --format=ustar -cf - "$name" | gzip -n9 >"$out/$name.tar.gz"
	fi
	if [ "$system" = linux ] && command -v dpkg-deb >/dev/null; then debian "$processor"; fi
done

sbom=$out/vti-$version.cdx.json
if go run github.com/CycloneDX/cyclonedx-gomod/cmd/cyclonedx-gomod@v1.10.0 app -json -licenses -noserial -main cmd/vti -output "$sbom" . 2>"$work/sbom"; then
	sed -i "s/\"timestamp\": \"[^\"]*\"/\"timestamp\": \"$(date -u -d "@$SOURCE_DATE_EPOCH" +%FT%TZ)\"/" "$sbom"
else
	echo "no SBOM: $(tail -n 1 "$work/sbom")" >&2
fi
(cd "$out" && LC_ALL=C sha256sum vti[-_]* >SHA256SUMS)
cat "$out/SHA256SUMS"
