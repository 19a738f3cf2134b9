package cli

import (
	"errors"
	"fmt"
	"strings"

	"github.com/transdim/vti/table"
)

// AdviseMissing adds advice to the error of a table with missing cells: to leave rows out where
// some would be left, and otherwise the other options of a command. others do not help against a
// column without any value.
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

// MissingPolicy is the treatment of rows with a missing cell.
type MissingPolicy string

// String is the name on the command line.
func (p MissingPolicy) String() string { return string(p) }

// UnmarshalText reads the name.
func (p *MissingPolicy) UnmarshalText(text []byte) error {
	if *p = MissingPolicy(text); *p != "refuse" && *p != "drop" && *p != "impute" {
		return fmt.Errorf("expected refuse, drop or impute, found %q", text)
	}
	return nil
}
