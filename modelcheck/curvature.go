package modelcheck

import (
	"cmp"
	"fmt"
	"math"
	"slices"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/stat"

	"github.com/transdim/vti/internal/apply"
	"github.com/transdim/vti/internal/distinct"
	"github.com/transdim/vti/internal/kernel"
	"github.com/transdim/vti/internal/rank"
)

// curvatureWork bounds the number of multiplications for all shapes, to a second or two of one
// core. For larger tables only some evenly spaced rows are used, at least shapeRows.
const (
	curvatureWork = 2e9
	shapeRows     = 100
)

// shape is a pattern of residuals along a column, with unit length. It is orthogonal to a constant
// and to the column, so that the linear effect of the column does not change the correlation of the
// shape with the residuals. Shapes for absolute residuals are orthogonal to a constant only.
type shape struct {
	response *response
	place    int // index of the column in the list of columns
	column   string
	name     string
	values   []float64 // value of the pattern in each row used
}

// shapes holds the shapes of one response as the rows of a matrix, so that one matrix product
// computes the correlations of all shapes with the residuals of several samples.
type shapes struct {
	list    []shape
	sizes   bool      // whether absolute values of residuals are compared instead of residuals
	rows    []int     // indices of the rows used
	values  []float64 // [len(list)][len(rows)]
	clipped []float64 // residuals, or their absolute values, of each sample [2·drawsAtOnce][len(rows)]
	unit    []float64 // √n divided by the length of the residuals of each sample [2·drawsAtOnce]
	ignored []bool    // [drawsAtOnce][columns]: whether a column is not compared
	plan    *kernel.ProductPlan[float64]
}

// addShapes appends a family with several shapes for each pair of a response and a column. The
// shapes for residuals are the square of the column, the middle of its ranks against both ends, and
// its upper half against its lower half. If sizes is true, the shapes for absolute values of
// residuals are used instead: the ranks of the column, and the middle of the ranks against both
// ends. Columns of two values have no shapes. A response is not compared with itself.
func (c *checks) addShapes(columns []Column, draws int, sizes bool) {
	work := 0.0
	for _, r := range c.responses {
		work += 6 * float64(draws) * float64(len(r.y)) * float64(len(columns))
	}
	stride := max(1, int(math.Ceil(work/curvatureWork)))
	var members []*shape
	shapesOf := make([]*shapes, len(c.responses))
	first := []int{0}
	for j, r := range c.responses {
		shapesOf[j] = newShapes(r, columns, sizes, max(1, min(stride, len(r.y)/shapeRows)))
		for k := range shapesOf[j].list {
			members = append(members, &shapesOf[j].list[k])
		}
		first = append(first, len(members))
	}
	if len(members) == 0 {
		return
	}
	c.list = append(c.list, &check{
		family: newFamily(len(members), false), first: first,
		prepare: func(d, place int) {
			if c.ignored != nil {
				for j := range shapesOf {
					for at := range columns {
						shapesOf[j].ignored[place*len(columns)+at] = c.ignored(d, j, at)
					}
				}
			}
		},
		compare: func(j, place int, seen, drawn *sample, _, _ []float64) {
			shapesOf[j].take(2*place, seen)
			shapesOf[j].take(2*place+1, drawn)
		},
		finish: func(j int, seen, drawn [][]float64) { shapesOf[j].correlate(len(columns), seen, drawn) },
		finding: func(member int, mean float64) Finding {
			if sizes {
				return c.sizesFinding(members[member], mean)
			}
			return c.curvatureFinding(members[member], mean)
		},
		bestOf: func(member int) any { return [2]string{members[member].response.name, members[member].column} },
	})
}

func (s *shapes) take(place int, from *sample) {
	clipped := s.clipped[place*len(s.rows) : (place+1)*len(s.rows)]
	for k, i := range s.rows {
		clipped[k] = from.clipped[i]
		if s.sizes {
			clipped[k] = math.Abs(clipped[k])
		}
	}
	if s.sizes {
		floats.AddConst(-stat.Mean(clipped, nil), clipped)
	}
	squares := floats.Dot(clipped, clipped)
	s.unit[place] = 0 // if all residuals are zero, correlations are zero
	if squares > 0 {
		s.unit[place] = math.Sqrt(float64(len(s.rows)) / squares)
	}
}

// correlate writes the absolute correlations, times √n, of the shapes with the stored residuals
// [draws of a block][len(list)]. They are NaN for ignored columns.
func (s *shapes) correlate(columns int, observed, replicated [][]float64) {
	samples := 2 * drawsAtOnce
	sums := make([]float64, samples*len(s.list))
	shared, local := make([]float64, s.plan.SharedScratch()), make([]float64, s.plan.LocalScratch())
	s.plan.Run(kernel.Dense(sums, len(s.list), samples), kernel.Dense(s.values, len(s.list), len(s.rows)),
		kernel.Dense(s.clipped, samples, len(s.rows)).Transpose(), false, shared, local)
	for place, to := range observed {
		for k, shape := range s.list {
			if s.ignored[place*columns+shape.place] {
				to[k], replicated[place][k] = math.NaN(), math.NaN()
				continue
			}
			to[k] = math.Abs(sums[k*samples+2*place]) * s.unit[2*place]
			replicated[place][k] = math.Abs(sums[k*samples+2*place+1]) * s.unit[2*place+1]
		}
	}
}

func (c *checks) curvatureFinding(s *shape, mean float64) Finding {
	r := s.response
	share := mean * mean / float64(len(s.values))
	return Finding{
		What: fmt.Sprintf("curvature: %s along %s explains %.0f%% of the variance of the residuals of %s",
			s.name, s.column, 100*share, r.name),
		Where: "column " + s.column, Statistic: Number(mean), Verdict: verdictIf(share > poorCurvature),
		Advice: cmp.Or(c.remedies.Curvature, "a transform of the column, or its square as another column"),
	}
}

// sizesFinding describes the finding that the absolute values of residuals depend on a column.
func (c *checks) sizesFinding(s *shape, mean float64) Finding {
	size := mean / math.Sqrt(float64(len(s.values)))
	return Finding{
		What:  fmt.Sprintf("unequal spread: the size of the residuals of %s follows %s of %s (correlation %.2f)", s.response.name, s.name, s.column, size),
		Where: s.response.place(), Statistic: Number(size), Verdict: verdictIf(size > poorSerial),
		Advice: "the logarithm or the square root of the response",
	}
}

func newShapes(r *response, columns []Column, sizes bool, stride int) *shapes {
	s := &shapes{sizes: sizes, ignored: make([]bool, drawsAtOnce*len(columns))}
	if len(r.y) >= fewestRows && (!sizes || r.kind == Continuous) {
		for i := 0; i < len(r.y); i += stride {
			s.rows = append(s.rows, i)
		}
		for at, column := range columns {
			if column.Name != r.name && !column.Indicator {
				s.list = append(s.list, s.along(r, at, column)...)
			}
		}
	}
	s.values = slices.Concat(apply.To(s.list, func(shape shape) []float64 { return shape.values })...)
	samples := 2 * drawsAtOnce
	s.clipped, s.unit = make([]float64, samples*len(s.rows)), make([]float64, samples)
	s.plan = kernel.NewProductPlan[float64](kernel.Detect(), len(s.list), len(s.rows), samples, nil, nil)
	return s
}

func (s *shapes) along(r *response, place int, column Column) (list []shape) {
	x := distinct.At(column.Values, r.inTable(s.rows))
	if !differ(x, 3) {
		return nil
	}
	ranks := centredRanks(x)
	line := standardised(x)
	if s.sizes {
		line = standardised(ranks)
		slope := slices.Clone(line)
		floats.Scale(1/math.Sqrt(float64(len(x))), slope)
		list = append(list, shape{r, place, column.Name, "the ranks", slope})
	}
	square, ends, half := make([]float64, len(x)), make([]float64, len(x)), make([]float64, len(x))
	for i := range x {
		square[i] = line[i] * line[i]
		ends[i] = math.Abs(ranks[i])
		half[i] = float64(cmp.Compare(ranks[i], 0))
	}
	for _, candidate := range []struct {
		name   string
		values []float64
		sizes  bool // whether it is a shape for absolute values of residuals too
	}{{"a square", square, false}, {"the middle against both ends", ends, true}, {"a step at the median", half, false}} {
		if (candidate.sizes || !s.sizes) && orthogonalise(candidate.values, line) {
			list = append(list, shape{r, place, column.Name, candidate.name, candidate.values})
		}
	}
	return list
}

// standardised returns values with mean 0 and mean square 1.
func standardised(values []float64) []float64 {
	low, high := slices.Min(values), slices.Max(values)
	out := make([]float64, len(values))
	mean := 0.0
	for i, v := range values {
		out[i] = v/2 - low/2 // halved to avoid overflow
		out[i] /= high/2 - low/2
		mean += out[i] / float64(len(values))
	}
	floats.AddConst(-mean, out)
	unit := math.Sqrt(meanSquare(out))
	for i := range out {
		out[i] /= unit
	}
	return out
}

// orthogonalise subtracts from values their regression on a constant and on a standardised line,
// and scales them to unit length. It returns false if the remaining values are rounding errors.
func orthogonalise(values, line []float64) bool {
	n := float64(len(values))
	before := meanSquare(values) * n
	for range 2 { // twice, since the first subtraction loses digits
		var mean, slope float64
		for i, v := range values {
			mean += v / n
			slope += v * line[i] / n
		}
		for i := range values {
			values[i] -= mean + slope*line[i]
		}
	}
	after := meanSquare(values) * n
	const rounding = 1e-6 // relative rounding error of squares
	if !(after > rounding*before) {
		return false
	}
	for i := range values {
		values[i] /= math.Sqrt(after)
	}
	return true
}

// centredRanks returns the mid-ranks of values, scaled to [−1, 1].
func centredRanks(values []float64) []float64 {
	ranks, n := rank.Mid(values), float64(len(values))
	for i, r := range ranks {
		ranks[i] = (2*r - 1 - n) / n
	}
	return ranks
}

// differ reports whether there are at least a small number of different values.
func differ(values []float64, least int) bool {
	found := make([]float64, 0, least)
	for _, v := range values {
		if !slices.Contains(found, v) {
			if found = append(found, v); len(found) == least {
				return true
			}
		}
	}
	return false
}
