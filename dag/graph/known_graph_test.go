package graph

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
)

// A graph is read from a BIF file and from an adjacency matrix.
func TestReadGraph(t *testing.T) {
	dir := t.TempDir()
	write := func(name, text string) string {
		path := filepath.Join(dir, name)
		require.NoError(t, os.WriteFile(path, []byte(text), 0o644))
		return path
	}
	bif := write("net.bif", "network unknown {\n}\nvariable a {\n  type discrete [ 2 ] { yes, no };\n}\nvariable b { }\nvariable c { }\n"+
		"probability ( b ) { }\nprobability ( a | b, c ) { }\nprobability ( c | b ) { }\n")
	matrix := write("matrix.csv", "node,a,b,c\na,0,0,0\nb,1,0,1\nc,1,0,0\n")
	want := FromParents([]Set{SetOf(1, 2), {}, SetOf(1)})
	for _, path := range []string{bif, matrix} {
		names, g, err := ReadGraph(path)
		require.NoError(t, err)
		require.Equal(t, []string{"a", "b", "c"}, names)
		require.True(t, want.Equal(g))
	}
	for text, message := range map[string]string{
		"":                               "got no blocks",
		"nothing":                        "line 1: got \"nothing\", want network, variable or probability",
		"variable a { }\nvariable a { }": `line 2: variable "a" is there twice`,
		"variable a { }\nprobability ( a | x ) { }":   `line 2: no variable "x"`,
		"variable a { }\n\nprobability ( a | a ) { }": `line 3: "a" is its own parent`,
	} {
		_, _, err := ReadGraph(write("bad.bif", text))
		require.ErrorContains(t, err, message)
	}
}
