package main

import (
	"bytes"
	"io"
	"strings"
	"unicode/utf8"
)

// textWidth is the most columns that lines for readers take.
const textWidth = 100

// textWriter folds lines that are too long at spaces, with what follows indented by two columns
// more. Words longer than a line stay whole.
type textWriter struct {
	w    io.Writer
	rest []byte // of a line that has not ended
}

// Write implements io.Writer.
func (t *textWriter) Write(p []byte) (int, error) {
	t.rest = append(t.rest, p...)
	for {
		end := bytes.IndexByte(t.rest, '\n')
		if end < 0 {
			return len(p), nil
		}
		line := string(t.rest[:end])
		t.rest = t.rest[end+1:]
		if _, err := io.WriteString(t.w, folded(line)+"\n"); err != nil {
			return len(p), err
		}
	}
}

// end writes what is left of a line that has not ended.
func (t *textWriter) end() error {
	if len(t.rest) == 0 {
		return nil
	}
	_, err := io.WriteString(t.w, folded(string(t.rest)))
	t.rest = nil
	return err
}

// folded is a line in pieces of at most textWidth columns.
func folded(line string) string {
	if utf8.RuneCountInString(line) <= textWidth {
		return line
	}
	indent := line[:len(line)-len(strings.TrimLeft(line, " "))]
	hanging := indent + "  "
	var text strings.Builder
	width := 0
	// keeps the spaces of columns
	for word := range strings.SplitSeq(strings.TrimLeft(line, " "), " ") {
		size := utf8.RuneCountInString(word)
		switch {
		case text.Len() == 0:
			text.WriteString(indent)
			width = len(indent)
		case width+1+size > textWidth && word != "":
			text.WriteString("\n" + hanging)
			width = len(hanging)
		default:
			text.WriteByte(' ')
			width++
		}
		text.WriteString(word)
		width += size
	}
	return text.String()
}
