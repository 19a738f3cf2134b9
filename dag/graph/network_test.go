package graph

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
)

// readText reads a network from a text.
func readText(t *testing.T, text string) (*Network, error) {
	t.Helper()
	path := filepath.Join(t.TempDir(), "net.bif")
	require.NoError(t, os.WriteFile(path, []byte(text), 0o644))
	return ReadBIF(path)
}

// variables declares the variables of networks in tests. The last one, c, has parents before it.
const variables = `network "a net" { property made by hand; }
// b is written with marks
variable a { type discrete [ 2 ] { yes, no }; property x = 1; }
variable "b b" { type discrete[3] { <5, 5-12, "12 +" }; }
variable c { type discrete [ 2 ] { TRUE, FALSE }; }
probability ( a ) { table 0.2, 0.8; } /* of
two lines */
probability ( "b b" ) { table 0.1 0.2 0.7; }
`

// TestReadBIF checks that tables are ordered by the levels of the parents, with parents in the
// order of the nodes, whatever the order and notation in the file.
func TestReadBIF(t *testing.T) {
	want := [][]float64{{0.1, 0.9}, {0.2, 0.8}, {0.3, 0.7}, {0.4, 0.6}, {0.5, 0.5}, {0.25, 0.75}}
	for _, text := range []string{
		"probability ( c | \"b b\", a ) { (<5, yes) 0.1, 0.9; (5-12, yes) 0.2, 0.8; (\"12 +\", yes) 0.3, 0.7; (5-12, no) 0.5, 0.5; (<5, no) 0.4, 0.6; (\"12 +\", no) 0.25, 0.75; }",
		"probability ( c | a, \"b b\" ) { default 0.25 0.75; (yes, <5) 0.1, 0.9; (yes, 5-12) 0.2, 0.8; (yes, \"12 +\") 0.3, 0.7; (no, 5-12) 0.5, 0.5; (no, <5) 0.4, 0.6; }",
		"probability ( c | a, \"b b\" ) { table 0.1 0.2 0.3 0.4 0.5 0.25, 0.9 0.8 0.7 0.6 0.5 0.75; }",
		"probability ( c | \"b b\", a ) { table 0.1 0.4 0.2 0.5 0.3 0.25, 0.9 0.6 0.8 0.5 0.7 0.75; }",
	} {
		n, err := readText(t, variables+text)
		require.NoError(t, err)
		require.NoError(t, n.Validate())
		require.Equal(t, []string{"a", "b b", "c"}, n.Names)
		require.Equal(t, []string{"<5", "5-12", "12 +"}, n.Levels[1])
		require.Equal(t, want, n.Tables[2])
		require.Equal(t, 5, n.Row(2, []int{1, 2, 0}))
		again, err := readText(t, n.BIF())
		require.NoError(t, err)
		require.Equal(t, n.Tables, again.Tables)
		require.Equal(t, []string{"a", "b_b", "c"}, again.Names)
		require.True(t, n.Graph.Equal(again.Graph))
	}
	require.Equal(t, []string{"_", "a", "a_", "b_c", "b_c_", "ä_1"}, PlainNames([]string{"", "a", "a", "b:c", "b.c", "ä 1"}, bifNode))
	require.Equal(t, []string{"_", "a", "a_", "b_c", "<b.c%"}, PlainNames([]string{"", "a", "a", "b,c", "<b.c%"}, bifLevel))
}

// TestBadNetworks checks that the error for a bad file or network names the defect and its place.
func TestBadNetworks(t *testing.T) {
	for text, message := range map[string]string{
		variables + "probability ( c | a ) { (maybe) 0.1, 0.9; }":   `line 9: "a" has no value "maybe"`,
		variables + "probability ( c | a ) { (yes, no) 0.1, 0.9; }": "got 2 values of parents, want 1",
		variables + "probability ( c | a ) { (yes) 0.1, x; }":       `line 9: got "x", want a number`,
		variables + "probability ( c | a ) { (yes) 0.1, 0.9;":       "got the end of the file",
		variables + "probability ( c | a ) { table 0.1, 0.9; }":     "got 2 probabilities, want 4",
		variables + "probability ( c | a ) { maybe 0.1, 0.9; }":     `got "maybe", want table`,
		"/* no end":    "a comment has no end",
		"variable \"a": "a quotation mark has no second",
		"variable a { type discrete [ 2 ] { yes, yes }; }": `value "yes" is there twice`,
	} {
		_, err := readText(t, text)
		require.ErrorContains(t, err, message)
	}
	for text, message := range map[string]string{
		"": `variable "c": got a table for 0 combinations of values of its parents, want 1`,
		"probability ( c | a ) { (yes) 0.1, 0.9; }":                                               `variable "c", parents ["no"]: got 0 probabilities, want 2`,
		"probability ( c ) { table 0.1, 0.8; }":                                                   "add up to 0.9, want 1",
		"probability ( c ) { table -0.1, 1.1; }":                                                  "got -0.1, want a probability",
		"probability ( c | a ) { default 0.5, 0.5; } probability ( a | c ) { default 0.5, 0.5; }": "has a cycle",
		"variable d { } probability ( c ) { table 0.1, 0.9; }":                                    `variable "d": got no list of values`,
	} {
		n, err := readText(t, variables+text)
		require.NoError(t, err)
		require.ErrorContains(t, n.Validate(), message)
	}
}

// FuzzReadBIF checks that any file gives an error or a network, and that a valid network is
// unchanged after writing and reading.
func FuzzReadBIF(f *testing.F) {
	for _, seed := range []string{
		variables + "probability ( c | a, \"b b\" ) { default 0.25 0.75; (yes, <5) 0.1, 0.9; }",
		variables + "probability ( c | a ) { table 0.1 0.2, 0.9 0.8; }",
		"variable a { type discrete [ 1 ] { x }; }\nprobability ( a ) { table 1; }",
		"variable a { } variable b { type discrete [2] {y, n}; } probability ( b | a ) { }",
	} {
		f.Add(seed)
	}
	path := filepath.Join(f.TempDir(), "net.bif")
	f.Fuzz(func(t *testing.T, text string) {
		require.NoError(t, os.WriteFile(path, []byte(text), 0o644))
		n, err := ReadBIF(path)
		if err != nil || n.Validate() != nil {
			return
		}
		require.NoError(t, os.WriteFile(path, []byte(n.BIF()), 0o644))
		again, err := ReadBIF(path)
		require.NoError(t, err)
		require.NoError(t, again.Validate())
		require.Equal(t, n.Tables, again.Tables)
		require.True(t, n.Graph.Equal(again.Graph))
	})
}
