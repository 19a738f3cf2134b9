package graph

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
)

// A graph is read from either kind of file.
func TestReadGraph(t *testing.T) {
	dir := t.TempDir()
	write := func(name, text string) string {
		path := filepath.Join(dir, name)
		require.NoError(t, os.WriteFile(path, []byte(text), 0o644))
		return path
	}
	bif := write("net.bif", "network unknown {\n}\nvariable a {\n  type discrete [ 2 ] { yes, no };\n}\nvariable b { }\nvariable c { }\n"+
		"probability ( b ) {\n  table 0.5, 0.5;\n}\nprobability ( a | b, c ) {\n  (yes, no) 0.1, 0.9;\n}\nprobability ( c | b ) { }\n")
	matrix := write("matrix.csv", "node,a,b,c\na,0,0,0\nb,1,0,1\nc,1,0,0\n")
	want := FromParents([]Set{SetOf(1, 2), {}, SetOf(1)})
	for _, path := range []string{bif, matrix} {
		names, g, err := ReadGraph(path)
		require.NoError(t, err)
		require.Equal(t, []string{"a", "b", "c"}, names)
		require.True(t, want.Equal(g))
	}
	for text, message := range map[string]string{
		"nothing":                        "got no blocks",
		"variable a { }\nvariable a { }": `variable "a" is there twice`,
		"variable a { }\nprobability ( a | x ) { }":   `line 2: no variable "x"`,
		"variable a { }\n\nprobability ( a | a ) { }": `line 3: "a" is its own parent`,
	} {
		_, _, err := ReadGraph(write("bad.bif", text))
		require.ErrorContains(t, err, message)
	}
}
