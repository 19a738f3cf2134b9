package modelcheck

import (
	"fmt"
	"math"
	"slices"

	"gonum.org/v1/gonum/floats"

	"github.com/transdim/vti/internal/kernel"
)

var vectors = kernel.VectorsOf[float64](kernel.Detect())

// nearlyCollinear is the squared multiple correlation of a column with other columns above which
// the column is reported. At this value standard errors are 30 times as large as for unrelated
// columns.
const nearlyCollinear = 0.999

// multipleColumns is the largest number of columns for which multiple correlations are computed.
// pairedColumns is the largest number of columns that are compared in pairs. With this number and
// 1,000 rows the comparison takes a second.
const (
	multipleColumns = 300
	pairedColumns   = 1000
)

// collinear finds columns that are nearly linear combinations of earlier columns.
func collinear(columns []Column) (found []Finding) {
	var names []string
	var lines [][]float64
	for _, c := range columns {
		if differ(c.Values, 2) {
			names, lines = append(names, c.Name), append(lines, standardised(c.Values))
		}
	}
	if len(lines) == 0 {
		return nil
	}
	n := len(lines[0])
	reported := make([]bool, len(lines))
	add := func(j int, with string, share float64) {
		reported[j] = true
		found = append(found, Finding{
			What:  fmt.Sprintf("nearly collinear: %s is a linear function of %s up to %.2g of its variance", names[j], with, 1-share),
			Where: "column " + names[j], Statistic: Number(share), P: Number(math.NaN()), Verdict: Questionable,
			Advice: "one of these columns, or a group that enters together; single inclusion probabilities say little",
		})
	}
	products, all := make([]float64, len(lines)), slices.Concat(lines...)
	for j := 1; j < min(len(lines), pairedColumns); j++ {
		vectors.DotRows(products[:j], all[:j*n], n, lines[j])
		for k, dot := range products[:j] {
			if share := dot * dot / float64(n*n); share > nearlyCollinear && n > 3 && !reported[j] {
				add(j, names[k], share)
			}
		}
	}
	// With nearly as many columns as rows every column is a linear combination of others by chance.
	if len(lines) > multipleColumns || n < 2*len(lines)+10 {
		return found
	}
	var basis [][]float64
	for j, line := range lines {
		rest := append([]float64(nil), line...)
		for range 2 { // twice, to restore lost digits (Gram and Schmidt with reorthogonalisation)
			for _, b := range basis {
				floats.AddScaled(rest, -floats.Dot(rest, b), b)
			}
		}
		left := meanSquare(rest)
		if share := 1 - left; share > nearlyCollinear {
			if !reported[j] {
				add(j, "the columns before it", share)
			}
			if left < 1e-12 {
				continue
			}
		}
		floats.Scale(1/math.Sqrt(left*float64(n)), rest)
		basis = append(basis, rest)
	}
	return found
}
