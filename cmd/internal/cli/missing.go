package cli

import (
	"errors"
	"fmt"
	"strings"

	"github.com/transdim/vti/table"
)

// AdviseMissing adds advice to the error for a table with missing cells: to leave rows out, if some
// rows would remain, and to use other options of the command, which the argument others describes.
// These options do not help if a column has no value at all.
func AdviseMissing(err error, others ...string) error {
	var missing *table.MissingError
	if !errors.As(err, &missing) || missing.Empty() {
		return err
	}
	if missing.Complete > 0 {
		drop := fmt.Sprintf("--na drop leaves these rows out and keeps %d of %d", missing.Complete, missing.Rows)
		others = append([]string{drop}, others...)
	}
	if len(others) == 0 {
		return err
	}
	return fmt.Errorf("%w\n%s", err, strings.Join(others, ", "))
}
