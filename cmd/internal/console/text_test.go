package console

import (
	"fmt"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"github.com/transdim/vti/internal/document"
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
			assert.LessOrEqual(t, utf8.RuneCountInString(line), document.TextWidth)
		}
	}
	assert.True(t, strings.HasPrefix(lines[2], "    "), "what follows is indented")
	assert.Equal(t, strings.Fields(long), strings.Fields(strings.Join(lines[1:len(lines)-2], " ")))
	assert.Equal(t, "no end", lines[len(lines)-1])
}
