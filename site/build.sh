#!/usr/bin/env bash
# Builds the site into a folder; a broken link, or a page that is in no menu, is a failure. Needs
# Go, and of Python: pip install mkdocs-material mkdocs-jupyter 'mkdocstrings[python]'. With R, its
# reference is the documentation of the package itself. Notebooks are shown as they are in the
# second folder (executed, by .ci/run), else without outputs.
#
#     site/build.sh OUT [NOTEBOOKS]
set -euo pipefail
mkdir -p "${1:?usage: site/build.sh OUT [NOTEBOOKS]}"
out=$(cd "$1" && pwd)
notebooks=$(cd "${2:-$(dirname "$0")/../examples/notebooks}" && pwd)
cd "$(dirname "$0")/.."
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
pages=$work/pages
mkdir -p "$pages/reference" "$pages/examples/notebooks"
git ls-files -co --exclude-standard README.md CONTRIBUTING.md CHANGELOG.md 'docs/*.md' 'docs/*.svg' 'docs/*.png' python/README.md r/README.md \
	testdata/README.md lab/outside/README.md | xargs -I{} install -Dm644 {} "$pages/{}"
cp "$notebooks"/*.ipynb "$pages/examples/notebooks"
cp site/extra.css "$pages"
cp site/mkdocs.yml site/links.py "$work"
cp -r python "$work/python"

cat >"$pages/reference/python.md" <<'PAGE'
# Commands in Python

::: vti.commands
    options: {show_root_heading: false, show_root_toc_entry: false}
PAGE
cat >"$pages/reference/python-answers.md" <<'PAGE'
# Answers in Python

::: vti.result
    options: {show_root_heading: false, show_root_toc_entry: false}

::: vti.sklearn
    options: {show_root_heading: false, show_root_toc_entry: false}

::: vti.program
    options: {show_root_heading: false, show_root_toc_entry: false, members: [find, VtiError, ProgramNotFound]}
PAGE

{
	printf '# Go packages\n\nWhat `go doc` says of every public package, as [pkg.go.dev](https://pkg.go.dev/github.com/transdim/vti) does.\n'
	go list ./... | grep -vE '/(internal|cmd|lab|docs|examples)(/|$)' | while read -r package; do
		printf '\n## %s\n\n' "${package#github.com/transdim/}"
		go doc -all "$package" | sed 's/^/    /'
	done
} >"$pages/reference/go.md"

{
	printf '# R reference\n'
	for page in r/man/*.Rd; do
		name=$(basename "$page" .Rd)
		printf '\n## %s\n\n' "$name"
		if command -v Rscript >/dev/null; then
			Rscript -e 'tools::Rd2txt(commandArgs(TRUE)[1], options = list(underline_titles = FALSE, itemBullet = "* "))' "$page" | sed 's/_\x08//g; s/^/    /'
		else
			printf 'See [%s](https://github.com/transdim/vti/blob/main/%s).\n' "$name" "$page"
		fi
	done
} >"$pages/reference/r.md"

# Not --quiet: warnings that are not printed are not counted by --strict.
export REPOSITORY=$PWD NO_MKDOCS_2_WARNING=1
cd "$work" # where it keeps a cache
python3 -m mkdocs build --strict --site-dir "$out"
test -s "$out/docs/tasks/index.html"
