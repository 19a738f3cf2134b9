package design

import (
	"fmt"

	"github.com/transdim/vti/internal/enum"
	"github.com/transdim/vti/table"
)

// NAPolicy is a policy for rows with a missing cell.
type NAPolicy int

const (
	// RefuseNA makes a missing cell in a used column an error.
	RefuseNA NAPolicy = iota
	// DropNA leaves out the rows with a missing cell in a used column.
	DropNA
	// MeanNA replaces the missing genotypes of a predictor by the mean of the marker, and leaves
	// out the rows with any other missing cell in a used column.
	MeanNA
)

var naPolicies = enum.New[NAPolicy]("policy for missing values", "refuse", "drop", "mean")

// String returns "refuse", "drop" or "mean".
func (p NAPolicy) String() string { return naPolicies.String(p) }

// MarshalText writes the text of String.
func (p NAPolicy) MarshalText() ([]byte, error) { return naPolicies.Marshal(p) }

// UnmarshalText reads the text that MarshalText writes.
func (p *NAPolicy) UnmarshalText(text []byte) error { return naPolicies.Unmarshal(text, p) }

// complete returns the table without missing values in used columns, the number of rows left out,
// and the number of genotypes replaced.
func (l *layout) complete(t *table.Table, opt Options) (complete *table.Table, dropped, filled int, err error) {
	if opt.NA != MeanNA {
		complete, dropped, err = t.Complete(l.used(opt), opt.NA == DropNA)
		return complete, dropped, 0, err
	}
	markers, others, err := l.markers(t, opt)
	if err != nil {
		return nil, 0, 0, err
	}
	if len(markers) == 0 {
		return nil, 0, 0, fmt.Errorf("%s: means replace missing genotypes, and no predictor is a genotype of a .bed or .vcf file; refuse missing cells, drop their rows, or fill them in", t.Path)
	}
	if complete, dropped, err = t.Complete(others, true); err != nil {
		return nil, 0, 0, err
	}
	complete, filled = complete.FillGenotypes(markers, complete)
	return complete, dropped, filled, nil
}

// markers divides the used columns into predictors that are numeric genotypes, and all others.
func (l *layout) markers(t *table.Table, opt Options) (markers, others []string, err error) {
	first := len(opt.responseColumns()) + len(l.offset)
	for i, name := range l.used(opt) {
		c, err := t.Lookup(name)
		if err != nil {
			return nil, nil, err
		}
		if i >= first && c.Genotype && !l.factors[name] {
			markers = append(markers, name)
		} else {
			others = append(others, name)
		}
	}
	return markers, others, nil
}
