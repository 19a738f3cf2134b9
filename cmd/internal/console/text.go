package console

import (
	"bytes"
	"io"
	"os"
	"strings"
	"unicode/utf8"

	"github.com/transdim/vti/internal/document"
)

// Writer wraps lines that are too long at spaces, and indents the continuation by two more columns.
// A word longer than a line is not broken.
type Writer struct {
	W      io.Writer
	rest   []byte // the beginning of a line that has not ended
	Colour bool   // whether verdicts are coloured
}

// NewWriter returns a Writer that writes to w. It uses colours if terminal is a terminal, unless
// NO_COLOR is set (https://no-color.org).
func NewWriter(w, terminal io.Writer) *Writer {
	return &Writer{W: w, Colour: isTerminal(terminal) && os.Getenv("NO_COLOR") == ""}
}

// verdictColours holds the first words of lines with a verdict, and their colours (escape
// sequences).
var verdictColours = []struct{ word, escape string }{
	{"TRUSTED", "\x1b[1;32m"}, {"DOUBTFUL", "\x1b[1;33m"}, {"FAILED", "\x1b[1;31m"},
	{"model check: good", "\x1b[32m"}, {"model check: questionable", "\x1b[33m"}, {"model check: poor", "\x1b[31m"},
}

// line wraps a line, and colours the verdict if the line begins with one.
func (t *Writer) line(line string) string {
	text := folded(line)
	if t.Colour {
		for _, v := range verdictColours {
			if rest, ok := strings.CutPrefix(text, v.word+":"); ok {
				return v.escape + v.word + "\x1b[0m:" + rest
			}
		}
	}
	return text
}

// Write implements io.Writer.
func (t *Writer) Write(p []byte) (int, error) {
	t.rest = append(t.rest, p...)
	for {
		end := bytes.IndexByte(t.rest, '\n')
		if end < 0 {
			return len(p), nil
		}
		line := string(t.rest[:end])
		t.rest = t.rest[end+1:]
		if _, err := io.WriteString(t.W, t.line(line)+"\n"); err != nil {
			return len(p), err
		}
	}
}

// End writes the beginning of a line that has not ended.
func (t *Writer) End() error {
	if len(t.rest) == 0 {
		return nil
	}
	_, err := io.WriteString(t.W, t.line(string(t.rest)))
	t.rest = nil
	return err
}

// folded returns a line wrapped to at most document.TextWidth columns.
func folded(line string) string {
	if utf8.RuneCountInString(line) <= document.TextWidth {
		return line
	}
	indent := line[:len(line)-len(strings.TrimLeft(line, " "))]
	hanging := indent + "  "
	var text strings.Builder
	width := 0
	// words are split at single spaces, to keep the spaces that align columns
	for word := range strings.SplitSeq(strings.TrimLeft(line, " "), " ") {
		size := utf8.RuneCountInString(word)
		switch {
		case text.Len() == 0:
			text.WriteString(indent)
			width = len(indent)
		case width+1+size > document.TextWidth && word != "":
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
