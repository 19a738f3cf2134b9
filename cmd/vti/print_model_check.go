package main

import (
	"fmt"
	"io"

	"github.com/transdim/vti/modelcheck"
)

// printModelCheck prints how well the model describes the table, under the verdict on the
// computation; nothing where it was not checked.
func printModelCheck(w io.Writer, check *modelcheck.Report) {
	if check != nil {
		fmt.Fprintln(w, check)
	}
}
