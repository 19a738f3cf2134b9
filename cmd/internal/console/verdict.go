package console

import (
	"fmt"
	"io"
	"strings"

	"github.com/transdim/vti"
	"github.com/transdim/vti/modelcheck"
)

// PrintVerdict prints a verdict in one line, and below it the reasons that lowered it.
func PrintVerdict(w io.Writer, v vti.Verdict, advice string, reasons []string) {
	fmt.Fprintf(w, "%s: %s\n", strings.ToUpper(v.String()), advice)
	for _, reason := range reasons {
		fmt.Fprintf(w, "  %s\n", reason)
	}
}

// PrintModelCheck prints how well the model describes the table, under the verdict on the
// computation; nothing where it was not checked.
func PrintModelCheck(w io.Writer, check *modelcheck.Report) {
	if check != nil {
		fmt.Fprintln(w, check)
	}
}
