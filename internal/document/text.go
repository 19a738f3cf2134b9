package document

import (
	"bytes"
	"fmt"
	"io"
	"strings"
)

// Print writes a document for a terminal. Long lines are not broken.
func (d *Document) Print(w io.Writer) {
	var text bytes.Buffer
	if len(d.Answer) > 0 {
		// Pages use this character to forbid line breaks.
		fmt.Fprintf(&text, "%s\n\n", strings.ReplaceAll(d.Answer[0], "\u2060", ""))
	}
	for _, m := range d.Marks {
		if len(m.Lines) > 0 {
			fmt.Fprintf(&text, "%s\n\n", strings.Join(m.Lines, "\n"))
		}
	}
	for _, s := range d.Sections {
		for _, t := range s.Tables {
			if !t.OnPage && t.Len() > 0 {
				t.print(&text)
			}
		}
		if len(s.Said) > 0 {
			fmt.Fprintf(&text, "%s\n\n", strings.Join(s.Said, "\n"))
		}
	}
	fmt.Fprintf(w, "%s\n", bytes.TrimRight(text.Bytes(), "\n"))
}
