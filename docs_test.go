package vti_test

import (
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"unicode"

	"github.com/stretchr/testify/require"

	"github.com/transdim/vti/internal/document"
)

func documents(t *testing.T) map[string]string {
	pages := map[string]string{}
	read := func(path string) {
		content, err := os.ReadFile(path)
		require.NoError(t, err)
		pages[path] = string(content)
	}
	for _, path := range []string{"README.md", "CONTRIBUTING.md", "CHANGELOG.md", "testdata/README.md", "lab/outside/README.md"} {
		read(path)
	}
	require.NoError(t, filepath.WalkDir("docs", func(path string, entry fs.DirEntry, err error) error {
		if err == nil && filepath.Ext(path) == ".md" {
			read(path)
		}
		return err
	}))
	return pages
}

var (
	link       = regexp.MustCompile(`\]\(([^)#:]+)(?:#([^)]*))?\)`)
	heading    = regexp.MustCompile(`(?m)^#+ (.*)$`)
	goFileName = regexp.MustCompile("`([A-Za-z_/]+\\.go)`")
	goTest     = regexp.MustCompile(`go test ([^\n` + "`" + `]*(?:\\\n[^\n]*)*)`)
	runFlag    = regexp.MustCompile(`-(run|bench) '?([^\s']+)'?`)
	packageArg = regexp.MustCompile(`(?:^|\s)(\.(?:/[a-z/]+)?)(?:\s|$)`)
)

// Links in documents lead to files that exist, and so do names of source files.
func TestDocumentsNameFilesThatExist(t *testing.T) {
	names := map[string]bool{}
	for _, path := range goFiles(t) {
		names[filepath.Base(path)] = true
		names[path] = true
	}
	checked := 0
	for path, content := range documents(t) {
		for _, match := range link.FindAllStringSubmatch(content, -1) {
			checked++
			target := filepath.Join(filepath.Dir(path), match[1])
			require.FileExistsf(t, target, "%s: link to %s", path, match[1])
			if match[2] != "" {
				require.Containsf(t, anchors(t, target), match[2], "%s: link to %s", path, match[1])
			}
		}
		for _, match := range goFileName.FindAllStringSubmatch(content, -1) {
			checked++
			require.Truef(t, names[match[1]], "%s: %s is no file of the repository", path, match[1])
		}
	}
	require.Greater(t, checked, 20)
}

// anchors returns the names by which links refer to the headings of a page.
func anchors(t *testing.T, path string) (names []string) {
	content, err := os.ReadFile(path)
	require.NoError(t, err)
	for _, match := range heading.FindAllStringSubmatch(string(content), -1) {
		keep := func(r rune) rune {
			switch {
			case r == ' ':
				return '-'
			case r == '-' || r == '_' || unicode.IsLetter(r) || unicode.IsDigit(r):
				return unicode.ToLower(r)
			}
			return -1
		}
		names = append(names, strings.Map(keep, match[1]))
	}
	return names
}

// Every go test command in a document names a test or benchmark that exists in the named package.
func TestDocumentsNameTestsThatExist(t *testing.T) {
	checked := 0
	for path, content := range documents(t) {
		for _, command := range goTest.FindAllStringSubmatch(content, -1) {
			folder := "."
			if match := packageArg.FindStringSubmatch(command[1]); match != nil {
				folder = match[1]
			}
			for _, flag := range runFlag.FindAllStringSubmatch(command[1], -1) {
				if flag[2] == "^$" {
					continue
				}
				checked++
				pattern, err := regexp.Compile(flag[2])
				require.NoError(t, err)
				require.Truef(t, hasTest(t, folder, map[string]string{"run": "Test", "bench": "Benchmark"}[flag[1]], pattern),
					"%s: no function of %s matches -%s %s", path, folder, flag[1], flag[2])
			}
		}
	}
	require.Greater(t, checked, 20)
}

var testFunction = regexp.MustCompile(`(?m)^func ((?:Test|Benchmark)\w*)\(`)

// hasTest reports whether a pattern matches a function of the given kind in the tests of a folder.
func hasTest(t *testing.T, folder, kind string, pattern *regexp.Regexp) bool {
	paths, err := filepath.Glob(filepath.Join(folder, "*_test.go"))
	require.NoError(t, err)
	for _, path := range paths {
		source, err := os.ReadFile(path)
		require.NoError(t, err)
		for _, match := range testFunction.FindAllStringSubmatch(string(source), -1) {
			if strings.HasPrefix(match[1], kind) && pattern.MatchString(match[1]) {
				return true
			}
		}
	}
	return false
}

var fileName = regexp.MustCompile(`[a-z0-9_*]+\.go\b`)

// mostUnmapped is the largest number of files, not counting tests, with which the documentation of
// a package need not list its files.
const mostUnmapped = 26

// The documentation of a package names only files that exist. With more than mostUnmapped files it
// names all of them, by name or pattern.
func TestPackagesMapTheirFiles(t *testing.T) {
	everywhere := map[string]bool{}
	for _, path := range goFiles(t) {
		everywhere[filepath.Base(path)] = true
	}
	for folder := range layers {
		paths, err := filepath.Glob(filepath.Join(folder, "*.go"))
		require.NoError(t, err)
		require.NotEmpty(t, paths, folder)
		files := token.NewFileSet()
		var text string
		for _, path := range paths {
			file, err := parser.ParseFile(files, path, nil, parser.PackageClauseOnly|parser.ParseComments)
			require.NoError(t, err)
			if !strings.HasSuffix(path, "_test.go") {
				text += file.Doc.Text()
			}
		}
		paths = slices.DeleteFunc(paths, func(path string) bool { return strings.HasSuffix(path, "_test.go") })
		named := fileName.FindAllString(text, -1)
		for _, name := range named {
			if !strings.Contains(name, "*") && !everywhere[name] {
				t.Errorf("package %s names %s, which is no file", folder, name)
			}
		}
		if len(paths) <= mostUnmapped {
			continue
		}
		for _, path := range paths {
			name := filepath.Base(path)
			if name == "doc.go" {
				continue
			}
			if !slices.ContainsFunc(named, func(pattern string) bool { ok, _ := filepath.Match(pattern, name); return ok }) {
				t.Errorf("the documentation of package %q does not name %s", folder, name)
			}
		}
	}
}

// docs/verdicts.md lists the reasons of all verdicts in the program, and explains every term that
// printed answers explain. Reasons are recognised by their first words up to a variable part.
func TestVerdictsHaveRemedies(t *testing.T) {
	content, err := os.ReadFile("docs/verdicts.md")
	require.NoError(t, err)
	lowered := regexp.MustCompile(`\b(?:Lower|Limit|Reasons = append)\([^"\n]*"((?:\\.|[^"\\])*)"`)
	verb := regexp.MustCompile(`%%|%[-+.0-9]*[a-z]`)
	found := 0
	for _, path := range goFiles(t) {
		if strings.HasSuffix(path, "_test.go") || strings.HasPrefix(path, "lab/") || strings.HasPrefix(path, "internal/kernel/") {
			continue
		}
		source, err := os.ReadFile(path)
		require.NoError(t, err)
		for _, reason := range lowered.FindAllStringSubmatch(string(source), -1) {
			for _, part := range verb.Split(reason[1], -1) {
				if part = strings.Trim(part, " :,;."); len(part) >= 10 {
					found++
					if !strings.Contains(string(content), part) {
						t.Errorf("docs/verdicts.md: no remedy for the reason %q of %s", reason[1], path)
					}
					break
				}
			}
		}
	}
	require.Greater(t, found, 40)
	for _, meaning := range document.Meanings {
		require.Containsf(t, string(content), "| "+meaning.Word+" |", "docs/verdicts.md: no meaning of %q", meaning.Word)
	}
}

// Each constant that benchmarks/constants.py screens stands once in the file that constants.txt
// names, with the value that it gives.
func TestScreenedConstantsExist(t *testing.T) {
	list, err := os.ReadFile("benchmarks/constants.txt")
	require.NoError(t, err)
	spaced := func(text string) string {
		words := strings.Fields(text)
		for i, word := range words {
			words[i] = regexp.QuoteMeta(word)
		}
		return strings.Join(words, `\s*`)
	}
	screened := 0
	for line := range strings.Lines(string(list)) {
		parts := strings.Split(line, "|")
		if len(parts) != 5 || strings.HasPrefix(line, "#") {
			continue // a comment or the head of a group
		}
		source, err := os.ReadFile(strings.TrimSpace(parts[0]))
		require.NoError(t, err)
		place := regexp.MustCompile(`(?:^|[^\w.])` + spaced(parts[1]) + `\s*[=:]?\s*` + spaced(parts[2]) + `(?:[^\w.]|$)`)
		require.Len(t, place.FindAllIndex(source, -1), 1, "places of %s in %s", strings.TrimSpace(line), parts[0])
		screened++
	}
	require.Greater(t, screened, 200, "constants.txt was read")
}
