package console

import (
	"fmt"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestTextWriter(t *testing.T) {
	var out strings.Builder
	w := &Writer{W: &out}
	long := "  " + strings.Repeat("β̂ word ", 40)
	fmt.Fprint(w, "short\n", long[:30])
	assert.Equal(t, "short\n", out.String(), "a line that has not ended waits")
	fmt.Fprint(w, long[30:], "\n", strings.Repeat("x", 150), "\nno end")
	require.NoError(t, w.End())
	lines := strings.Split(out.String(), "\n")
	for _, line := range lines {
		if !strings.Contains(line, "xxx") {
			assert.LessOrEqual(t, utf8.RuneCountInString(line), TextWidth)
		}
	}
	assert.True(t, strings.HasPrefix(lines[2], "    "), "what follows is indented")
	assert.Equal(t, strings.Fields(long), strings.Fields(strings.Join(lines[1:len(lines)-2], " ")))
	assert.Equal(t, "no end", lines[len(lines)-1])
}

// A table that is too wide continues below, with its first column again.
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
