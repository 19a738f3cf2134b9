package vti_test

import (
	"fmt"
	"go/ast"
	"go/importer"
	"go/parser"
	"go/token"
	"go/types"
	"io"
	"maps"
	"os"
	"os/exec"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/transdim/vti/lab/testkit"
)

// exposure walks the types that a program outside the module can reach through exported names. It
// collects the types of internal packages among them, which such a program cannot name.
type exposure struct {
	internal func(path string) bool
	ours     func(path string) bool
	aliased  map[types.Object]bool // internal types that have an alias in a public package
	// internal types reached, and the first exported name that leads there
	found   map[types.Object]string
	visited map[types.Type]bool
}

// exposedInternals returns the internal types that exported names of the packages lead to and that
// have no exported alias. Keys are types as package.Type, and values are names that lead to them.
func exposedInternals(packages []*types.Package, internal, ours func(path string) bool) map[string]string {
	e := &exposure{internal: internal, ours: ours, aliased: map[types.Object]bool{}, found: map[types.Object]string{}, visited: map[types.Type]bool{}}
	for _, p := range packages {
		for _, name := range p.Scope().Names() {
			if alias, ok := p.Scope().Lookup(name).Type().(*types.Alias); ok && alias.Obj().Exported() && alias.Obj().Pkg() == p {
				if named, ok := types.Unalias(alias).(*types.Named); ok {
					e.aliased[named.Origin().Obj()] = true
				}
			}
		}
	}
	for _, p := range packages {
		for _, name := range p.Scope().Names() {
			if object := p.Scope().Lookup(name); object.Exported() {
				e.walk(object.Type(), p.Name()+"."+name)
			}
		}
	}
	exposed := map[string]string{}
	for object, from := range e.found {
		if !e.aliased[object] {
			exposed[object.Pkg().Path()+"."+object.Name()] = from
		}
	}
	return exposed
}

// walk visits a type that the exported name from leads to.
func (e *exposure) walk(t types.Type, from string) {
	if e.visited[t] {
		return
	}
	e.visited[t] = true
	switch t := t.(type) {
	case *types.Alias:
		e.walk(types.Unalias(t), from)
	case *types.Named:
		e.walkNamed(t, from)
	case *types.Pointer:
		e.walk(t.Elem(), from)
	case *types.Slice:
		e.walk(t.Elem(), from)
	case *types.Array:
		e.walk(t.Elem(), from)
	case *types.Chan:
		e.walk(t.Elem(), from)
	case *types.Map:
		e.walk(t.Key(), from)
		e.walk(t.Elem(), from)
	case *types.Signature:
		for _, tuple := range []*types.Tuple{t.Params(), t.Results()} {
			for v := range tuple.Variables() {
				e.walk(v.Type(), from)
			}
		}
		for parameter := range t.TypeParams().TypeParams() {
			e.walk(parameter.Constraint(), from)
		}
	case *types.Struct:
		for field := range t.Fields() {
			if field.Exported() || field.Embedded() {
				e.walk(field.Type(), from+"."+field.Name())
			}
		}
	case *types.Interface:
		for method := range t.Methods() {
			e.walk(method.Type(), from+"."+method.Name())
		}
	}
}

// walkNamed visits the exported fields and methods of a type, and adds the type to found if it is
// internal.
func (e *exposure) walkNamed(t *types.Named, from string) {
	for argument := range t.TypeArgs().Types() {
		e.walk(argument, from)
	}
	object := t.Origin().Obj()
	if object.Pkg() == nil || !e.ours(object.Pkg().Path()) {
		return
	}
	if e.internal(object.Pkg().Path()) {
		if _, known := e.found[object]; !known && object.Exported() {
			e.found[object] = from
		}
	}
	if object.Exported() && !e.internal(object.Pkg().Path()) {
		from = object.Pkg().Name() + "." + object.Name()
	}
	e.walk(t.Underlying(), from)
	for method := range t.Methods() {
		if method.Exported() {
			e.walk(method.Type(), from+"."+method.Name())
		}
	}
}

// publicPackages loads the importable packages of the module from the export data of the build.
func publicPackages(t *testing.T) []*types.Package {
	listed, err := exec.Command("go", "list", "-export", "-deps", "-f", "{{.ImportPath}} {{.Name}} {{.Export}}", "./...").Output()
	require.NoError(t, err)
	exports, public := map[string]string{}, []string(nil)
	for line := range strings.Lines(string(listed)) {
		fields := strings.Fields(line)
		if len(fields) < 3 {
			continue // unsafe has no export data
		}
		exports[fields[0]] = fields[2]
		if isOurs(fields[0]) && !isInternal(fields[0]) && fields[1] != "main" {
			public = append(public, fields[0])
		}
	}
	from := importer.ForCompiler(token.NewFileSet(), "gc", func(path string) (io.ReadCloser, error) { return os.Open(exports[path]) })
	var packages []*types.Package
	for _, path := range public {
		p, err := from.Import(path)
		require.NoError(t, err)
		packages = append(packages, p)
	}
	return packages
}

func isOurs(path string) bool { return path == module || strings.HasPrefix(path, module+"/") }

func isInternal(path string) bool { return strings.Contains(path+"/", "/internal/") }

// A program outside the module can name every type that exported names lead to.
func TestExportedNamesShowNoInternalType(t *testing.T) {
	testkit.Slow(t)
	packages := publicPackages(t)
	require.Greater(t, len(packages), 10)
	exposed := exposedInternals(packages, isInternal, isOurs)
	for _, name := range slices.Sorted(maps.Keys(exposed)) {
		t.Errorf("%s leads to %s, which no public package gives a name", exposed[name], name)
	}
}

func TestInternalTypesAreFound(t *testing.T) {
	hidden := `package hidden
		type A int; type B struct{ C *C }; type C struct{}; type D interface{ M() }; type E struct{}; type F struct{}
		type G struct{}; type H struct{}; type I[T any] struct{}; type Unused struct{ A }`
	public := `package public
		import "hidden"
		type Named = hidden.A                       // a public name of A
		func F(Named) hidden.A                      // is enough
		type S struct { X hidden.B; y hidden.E }    // B, and C through it, but not E
		func (S) M(func(map[string][]hidden.D))     // D
		var V = [2]chan hidden.F{}                  // F
		type embeds struct { hidden.G }             // G, through New
		func New() embeds
		func unexported(hidden.E)
		type H interface { Of() hidden.I[hidden.H] } // H and I`
	files := token.NewFileSet()
	check := func(path, source string, from types.Importer) *types.Package {
		file, err := parser.ParseFile(files, path, source, 0)
		require.NoError(t, err)
		config := types.Config{Importer: from, IgnoreFuncBodies: true}
		p, err := config.Check(path, files, []*ast.File{file}, nil)
		require.NoError(t, err)
		return p
	}
	inner := check("hidden", hidden, nil)
	outer := check("public", public, importOne{inner})
	exposed := exposedInternals([]*types.Package{outer}, func(path string) bool { return path == "hidden" }, func(string) bool { return true })
	var names []string
	for name := range exposed {
		names = append(names, strings.TrimPrefix(name, "hidden."))
	}
	slices.Sort(names)
	require.Equal(t, []string{"B", "C", "D", "F", "G", "H", "I"}, names)
}

type importOne struct{ p *types.Package }

func (i importOne) Import(path string) (*types.Package, error) {
	if path != i.p.Path() {
		return nil, fmt.Errorf("got import of %s, want %s", path, i.p.Path())
	}
	return i.p, nil
}
