package vti_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"go/types"
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// uses returns, for each file of the package, the other files that declare names used in it, with
// the first such name. Fields of structs do not count.
func uses(t *testing.T, sources map[string]string) map[string]map[string]string {
	t.Helper()
	fset := token.NewFileSet()
	var files []*ast.File
	for name, source := range sources {
		var content any
		if source != "" {
			content = source
		}
		file, err := parser.ParseFile(fset, name, content, parser.SkipObjectResolution)
		require.NoError(t, err)
		files = append(files, file)
	}
	info := &types.Info{Uses: map[*ast.Ident]types.Object{}}
	// Imports are not resolved; the resulting errors do not matter here.
	config := types.Config{Importer: noImports{}, Error: func(error) {}}
	pkg, _ := config.Check("vti", fset, files, info)
	edges := map[string]map[string]string{}
	for ident, object := range info.Uses {
		variable, ok := object.(*types.Var)
		if object.Pkg() != pkg || !object.Pos().IsValid() || ok && variable.IsField() {
			continue
		}
		from, to := fset.Position(ident.Pos()).Filename, fset.Position(object.Pos()).Filename
		if from != to {
			if edges[from] == nil {
				edges[from] = map[string]string{}
			}
			if known, ok := edges[from][to]; !ok || ident.Name < known {
				edges[from][to] = ident.Name
			}
		}
	}
	return edges
}

// noImports returns every import as an empty package.
type noImports struct{}

func (noImports) Import(path string) (*types.Package, error) {
	imported := types.NewPackage(path, filepath.Base(path))
	imported.MarkComplete()
	return imported, nil
}

// circles returns the uses that are part of a circle of files, as "a.go uses b.go (name)".
func circles(edges map[string]map[string]string) (found []string) {
	reachable := func(from string) map[string]bool {
		seen, next := map[string]bool{}, []string{from}
		for len(next) > 0 {
			last := next[len(next)-1]
			next = next[:len(next)-1]
			for to := range edges[last] {
				if !seen[to] {
					seen[to] = true
					next = append(next, to)
				}
			}
		}
		return seen
	}
	for _, from := range slices.Sorted(maps.Keys(edges)) {
		for _, to := range slices.Sorted(maps.Keys(edges[from])) {
			if reachable(to)[from] {
				found = append(found, from+" uses "+to+" ("+edges[from][to]+")")
			}
		}
	}
	return found
}

// Files of the package do not use each other in a circle.
func TestFilesDependInOneDirection(t *testing.T) {
	names, err := filepath.Glob("*.go")
	require.NoError(t, err)
	sources := map[string]string{}
	for _, name := range names {
		if !strings.HasSuffix(name, "_test.go") {
			sources[name] = "" // the function uses reads the file
		}
	}
	edges := uses(t, sources)
	require.Greater(t, len(edges), 20, "too few files use others to be right")
	require.Contains(t, edges["fit.go"], "evaluator.go")
	require.Empty(t, circles(edges))
}

func TestCirclesAreFound(t *testing.T) {
	edges := uses(t, map[string]string{
		"a.go": "package p\nfunc A() int { return b }",
		"b.go": "package p\nvar b = T{}.c()",
		"c.go": "package p\nimport \"unknown\"\ntype T struct{ f unknown.Thing }\nfunc (T) c() int { return A() }",
		"d.go": "package p\nvar d = b",
	})
	require.Equal(t, []string{"a.go uses b.go (b)", "b.go uses c.go (T)", "c.go uses a.go (A)"}, circles(edges))
}
