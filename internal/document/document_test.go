package document

import (
	"context"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// example returns a document with every kind of content except pictures.
func example() *Document {
	t := NewTable("Models", "<~model", "probability", "<interval", "^size").Opened()
	t.Add("a", "0.9000", "[-1, 2]", "3")
	t.Add("a", "<1e-4", "[0, 2]")
	t.Add("b", "-2.5", "[0, 3]", "1")
	t.Printed, t.More = 2, []string{"and 1 more"}
	return &Document{
		Title: "Which?", Answer: []string{"First.", "Second."},
		Marks: []Mark{{Kind: "good", Name: "Computation", Word: "trusted", Text: "It holds.", Lines: []string{"TRUSTED: it holds."}}},
		Next:  []string{"Try --more."},
		Sections: []*Section{
			{ID: "models", Title: "Models", Tables: []*Table{t}, Said: []string{"It is -3.5."}},
			{ID: "drawn", Title: "Drawn", Draw: func(_ context.Context, s *Section) { s.Notes = []string{"Of a page."} }},
			{ID: "empty", Title: "Empty", Tables: []*Table{NewTable("No rows", "<name")}},
		},
	}
}

// TestPrint checks that a terminal shows the first sentence, the verdicts, and the tables and
// sentences of sections.
func TestPrint(t *testing.T) {
	var out strings.Builder
	example().Print(&out)
	assert.Equal(t, `First.

TRUSTED: it holds.

Models
     probability  interval
  a       0.9000  [-1, 2]
           <1e-4  [0, 2]
  and 1 more

It is -3.5.
`, out.String())
}

// TestPage checks that a page also shows all content that a terminal leaves out, with true minus
// signs and sort keys for numbers, and without empty sections.
func TestPage(t *testing.T) {
	d := example()
	require.NoError(t, d.Draw(context.Background(), "run-1"))
	var out strings.Builder
	require.NoError(t, (&Page{Title: "Which?", Documents: []*Document{d}}).Write(&out))
	page := out.String()
	for _, want := range []string{
		"<p>First.</p>", "<p>Second.</p>", "<strong>trusted.</strong> It holds.", `Try <span class="flag">--more</span>.`,
		`<table id="run-1-models-0">`, `<th scope="col">model</th>`, `<th scope="col" class="number">size</th>`,
		`<td class="number" data-sort="0.9000">0.9000</td>`, `<td class="number" data-sort="1e-4">&lt;1e-4</td>`,
		`<td class="number" data-sort="-2.5">−2.5</td>`, "<td>[−1,\u00a02]</td>", "It is −3.5.", "Of a page.",
	} {
		assert.Contains(t, page, want)
	}
	for _, not := range []string{"and 1 more", "TRUSTED", "No rows", "Empty"} {
		assert.NotContains(t, page, not)
	}
}

// TestEnds prints only the first and the last rows of a table. A line between them must state the
// number of rows that are left out.
func TestEnds(t *testing.T) {
	table := NewTable("Levels", "<level")
	for _, name := range strings.Split("abcdef", "") {
		table.Add(name)
	}
	table.Printed, table.Ends = 4, true
	var out strings.Builder
	table.print(&out)
	assert.Equal(t, "Levels\n\n  a\n  b\n  … 2 more\n  e\n  f\n\n", strings.Replace(out.String(), "  level\n", "\n", 1))
	table.Printed, table.Ends = None, false
	out.Reset()
	table.print(&out)
	assert.Equal(t, "Levels\n  level\n\n", out.String())
}
