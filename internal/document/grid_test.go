package document

import (
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/stretchr/testify/assert"
)

// TestWideGrid checks that too wide a table continues below, with its first column repeated.
func TestWideGrid(t *testing.T) {
	g := &Grid{}
	g.Add("", "one", "two", "three", "<interval")
	g.Add("name", strings.Repeat("1", 30), strings.Repeat("2", 30), strings.Repeat("3", 30), "[0, 1]")
	var out strings.Builder
	g.Print(&out)
	for line := range strings.Lines(out.String()) {
		assert.LessOrEqual(t, utf8.RuneCountInString(strings.TrimRight(line, "\n")), TextWidth)
	}
	assert.Equal(t, 2, strings.Count(out.String(), "name"))
	for _, want := range []string{"one", "two", "three", "interval", "[0, 1]"} {
		assert.Equal(t, 1, strings.Count(out.String(), want))
	}
}
