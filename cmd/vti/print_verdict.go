package main

import (
	"fmt"
	"io"
	"strings"

	"github.com/transdim/vti"
)

// printVerdict prints a verdict in one line, and below it the reasons that lowered it.
func printVerdict(w io.Writer, v vti.Verdict, advice string, reasons []string) {
	fmt.Fprintf(w, "%s: %s\n", strings.ToUpper(v.String()), advice)
	for _, reason := range reasons {
		fmt.Fprintf(w, "  %s\n", reason)
	}
}
