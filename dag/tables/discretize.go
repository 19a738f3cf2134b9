package tables

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/transdim/vti/internal/apply"
	"github.com/transdim/vti/table"
)

// Discretization states how columns of numbers are cut into classes. The zero value leaves them as
// numbers.
type Discretization struct {
	// Classes is the largest number of classes of a column, at least 2.
	Classes int
	// Hartemink starts from many quantile classes and joins neighbouring classes such that the
	// mutual information with the other columns stays as large as possible (Hartemink 2001).
	// Without Hartemink the classes are quantiles.
	Hartemink bool
}

// String returns the text that [ParseDiscretization] reads.
func (d Discretization) String() string {
	switch {
	case d.Classes == 0:
		return ""
	case d.Hartemink:
		return fmt.Sprintf("hartemink:%d", d.Classes)
	}
	return fmt.Sprintf("quantiles:%d", d.Classes)
}

// ParseDiscretization reads terciles, quantiles:k, hartemink:k, or "" for no discretization.
func ParseDiscretization(text string) (d Discretization, err error) {
	kind, count, _ := strings.Cut(text, ":")
	switch {
	case text == "":
		return d, nil
	case text == "terciles":
		return Discretization{Classes: 3}, nil
	case kind == "quantiles" || kind == "hartemink":
		d.Hartemink = kind == "hartemink"
		if d.Classes, err = strconv.Atoi(count); err == nil && d.Classes >= 2 && d.Classes <= mostLevels {
			return d, nil
		}
	}
	return d, fmt.Errorf("got %q, want terciles, quantiles:k or hartemink:k with k from 2 to %d", text, mostLevels)
}

// MarshalText returns the text that [ParseDiscretization] reads.
func (d Discretization) MarshalText() ([]byte, error) { return []byte(d.String()), nil }

// UnmarshalText reads text written by MarshalText.
func (d *Discretization) UnmarshalText(text []byte) (err error) {
	*d, err = ParseDiscretization(string(text))
	return err
}

// harteminkClasses is the number of quantile classes from which Hartemink's method starts; R's
// bnlearn also starts from 60.
const harteminkClasses = 60

// apply cuts columns into classes; no values may be missing. Columns of categories stay as they
// are.
func (d Discretization) apply(columns []*table.Column, discrete []bool) {
	first := d.Classes
	if d.Hartemink {
		first = harteminkClasses
	}
	cuts := make([][]float64, len(columns))
	codes := make([][]int, len(columns))
	for j, c := range columns {
		switch {
		case c.Kind == table.Factor:
			codes[j] = c.Codes
		case discrete[j]:
			codes[j] = c.AsFactor().Codes
		default:
			cuts[j] = quantileCuts(c.Values, first)
			codes[j] = classes(c.Values, cuts[j])
		}
	}
	for j, c := range columns {
		if c.Kind == table.Factor || discrete[j] {
			continue
		}
		if d.Hartemink {
			cuts[j] = joinClasses(j, cuts[j], codes, d.Classes)
		}
		columns[j] = &table.Column{Name: c.Name, Kind: table.Factor, Codes: classes(c.Values, cuts[j]), Levels: classNames(cuts[j])}
	}
}

// quantileCuts returns the upper ends of all classes but the last, for at most count classes of
// about the same size. The cuts are all different and below the largest value.
func quantileCuts(values []float64, count int) (cuts []float64) {
	sorted := slices.Sorted(slices.Values(values))
	for k := 1; k < count; k++ {
		cut := sorted[max(0, int(math.Ceil(float64(k*len(sorted))/float64(count)))-1)]
		if cut < sorted[len(sorted)-1] && (len(cuts) == 0 || cut > cuts[len(cuts)-1]) {
			cuts = append(cuts, cut)
		}
	}
	return cuts
}

// classes returns the class of each value: the index of the first cut that is not below the value.
func classes(values, cuts []float64) []int {
	codes := make([]int, len(values))
	for row, x := range values {
		codes[row], _ = slices.BinarySearch(cuts, x)
	}
	return codes
}

func classNames(cuts []float64) (names []string) {
	text := func(x float64) string { return strconv.FormatFloat(x, 'g', 5, 64) }
	for k := range len(cuts) + 1 {
		switch {
		case len(cuts) == 0:
			names = append(names, "all")
		case k == 0:
			names = append(names, "up to "+text(cuts[0]))
		case k == len(cuts):
			names = append(names, "above "+text(cuts[k-1]))
		default:
			names = append(names, text(cuts[k-1])+" to "+text(cuts[k]))
		}
	}
	return names
}

// joinClasses joins neighbouring classes of column j until count classes are left, and returns the
// cuts between them. In each step it joins the pair of classes that loses the least of the sum of
// the mutual informations with the other columns; among equal losses it takes the lowest pair.
// codes holds the class or level of each row, by column.
func joinClasses(j int, cuts []float64, codes [][]int, count int) []float64 {
	cuts = slices.Clone(cuts)
	var tables [][][]float64 // for each other column, counts by class and code
	for i, other := range codes {
		if i == j {
			continue
		}
		counts := apply.UpTo(len(cuts)+1, func(int) []float64 { return make([]float64, slices.Max(other)+1) })
		for row, code := range other {
			counts[codes[j][row]][code]++
		}
		tables = append(tables, counts)
	}
	for len(cuts) >= count {
		best, least := 0, math.Inf(1)
		for k := range cuts {
			if loss := lostInformation(tables, k); loss < least-1e-9*math.Abs(least) || math.IsInf(least, 1) {
				best, least = k, loss
			}
		}
		cuts = slices.Delete(cuts, best, best+1)
		for t, counts := range tables {
			for code, n := range counts[best+1] {
				counts[best][code] += n
			}
			tables[t] = slices.Delete(counts, best+1, best+2)
		}
	}
	return cuts
}

// lostInformation returns the loss of the sum of mutual informations, times the number of rows, in
// nats, when classes k and k + 1 are joined. For each contingency table this is the decrease of Σ n
// log n over the counts n of cells less the decrease over the counts of classes.
func lostInformation(tables [][][]float64, k int) (loss float64) {
	term := func(n float64) float64 {
		if n == 0 {
			return 0
		}
		return n * math.Log(n)
	}
	for _, counts := range tables {
		var first, second float64
		for code, n := range counts[k] {
			other := counts[k+1][code]
			loss += term(n) + term(other) - term(n+other)
			first, second = first+n, second+other
		}
		loss -= term(first) + term(second) - term(first+second)
	}
	return loss
}
