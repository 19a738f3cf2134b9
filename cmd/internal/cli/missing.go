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

// MissingPolicy is a flag that says how rows with a missing cell are treated.
type MissingPolicy string

// String returns the name on the command line.
func (p MissingPolicy) String() string { return string(p) }

// UnmarshalText reads the name.
func (p *MissingPolicy) UnmarshalText(text []byte) error {
	if *p = MissingPolicy(text); *p != "refuse" && *p != "drop" && *p != "impute" {
		return fmt.Errorf("expected refuse, drop or impute, found %q", text)
	}
	return nil
}
