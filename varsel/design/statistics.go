package design

import (
	"cmp"
	"fmt"
	"math"
	"slices"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"

	"github.com/transdim/vti/internal/apply"
	"github.com/transdim/vti/internal/dense"
	"github.com/transdim/vti/internal/sparse"
	"github.com/transdim/vti/table"
)

// Statistics holds the sufficient statistics of a Gaussian regression with an intercept, given
// which the posterior does not depend on the rows.
type Statistics struct {
	// Names holds the names of the p predictors.
	Names []string
	Rows  int // n, the number of rows
	// Correlations holds the correlations of the predictors [p·p], and Along their correlations
	// with the response [p].
	Correlations, Along []float64
	// SD holds the standard deviations of the predictors, divided by the standard deviation of the
	// response. It is nil if they are not known.
	SD []float64
	// Shrink is a weight s. The correlations R are replaced by (1−s) R + s I. Shrink must be set
	// before the design is made.
	Shrink float64
	// LDSamples is the number of rows behind Correlations if they come from other rows than Along
	// (a reference sample), and 0 otherwise.
	LDSamples int
	// Linear holds the inner products of the response with the columns of the design, the intercept
	// first [1+p].
	Linear []float64
	// Explained is the share of the response's variance that all predictors explain together. It
	// exceeds 1 only if the statistics come from different samples.
	Explained float64
	// Apart lists the dropped duplicates whose correlation with the response differs from the
	// correlation between the response and the predictor that they duplicate.
	Apart []string
}

const (
	// asymmetric is the largest accepted difference between a correlation and its mirror image, and
	// unequal the largest accepted distance of a diagonal entry from 1. They are wide enough for
	// numbers in single precision and in text of six digits.
	asymmetric, unequal = 1e-5, 1e-3
	// leastPivot is the smallest share of a predictor's variance that other predictors may leave
	// unexplained; with a smaller share the predictor counts as their linear function. The limit is
	// a thousand times the rounding error of some thousand predictors.
	leastPivot = 1e-11
	// leastLeft is the largest accepted difference between correlations and the inner products of
	// the design made from them. It is also the smallest share of the response's variance that all
	// predictors leave unexplained: a smaller share, from statistics that contradict each other, is
	// raised to it, so that every model has a density.
	leastLeft = 1e-9
	// leastLeftOfModel is the smallest share of the squares of the response that a model may leave
	// unexplained. Ten digits of this share are then right.
	leastLeftOfModel = 1e-5
	// roundedZ is the largest accepted difference between z-scores of duplicates, which may be
	// rounded to two decimals.
	roundedZ = 0.0101
)

// ReadStatistics reads the statistics of a regression with the given number of rows. The table
// scores has a row for each predictor. Its first column holds the name. The column z holds the t
// statistic of the regression on this predictor alone; two columns beta and se may replace it, with
// the coefficient of this regression and its standard error. The table ld holds the correlations of
// the predictors. It has a row and a column for each predictor, named in its header.
func ReadStatistics(scores, ld *table.Table, rows int) (*Statistics, error) {
	if rows < 3 {
		return nil, fmt.Errorf("%s: got %d samples, want the number behind the statistics, at least 3", scores.Path, rows)
	}
	names := scores.Names()
	first, err := scores.Lookup(names[0])
	if err != nil {
		return nil, err
	}
	s := &Statistics{Rows: rows}
	for i := range scores.Rows() {
		s.Names = append(s.Names, first.Text(i))
	}
	if err := s.readMatrix(ld); err != nil {
		return nil, err
	}
	var se []float64
	wanted := "z"
	if slices.Contains(names, "beta") && slices.Contains(names, "se") {
		wanted = "beta"
		if se, err = scores.NumbersOf("se", "a positive number"); err != nil {
			return nil, err
		}
	}
	if !slices.Contains(names, wanted) {
		return nil, fmt.Errorf("%s: want a column z, or beta and se, beside the names in the first", scores.Path)
	}
	if s.Along, err = scores.NumbersOf(wanted, "a number"); err != nil {
		return nil, err
	}
	for j, z := range s.Along {
		if se != nil {
			z /= se[j]
		}
		if math.IsNaN(z) || math.IsInf(z, 0) || se != nil && se[j] < 0 {
			return nil, fmt.Errorf("%s: %q: got beta %g and se %g, want a positive se", scores.Path, s.Names[j], s.Along[j], se[j])
		}
		spread := math.Sqrt(float64(rows) - 2 + z*z)
		if s.Along[j] = z / spread; se != nil {
			s.SD = append(s.SD, 1/(se[j]*spread))
		}
	}
	return s, nil
}

// readMatrix reads the correlations, and orders them as Names.
func (s *Statistics) readMatrix(ld *table.Table) error {
	p := len(s.Names)
	columnOf, names := map[string]int{}, ld.Names()
	if first, err := ld.Lookup(names[0]); err == nil && first.Kind == table.Factor && len(names) == p+1 {
		names = names[1:] // the first column holds the names of the rows, as R writes them
	}
	for k, name := range names {
		columnOf[name] = k
	}
	if len(columnOf) != p || ld.Rows() != p {
		return fmt.Errorf("%s: got %d rows and %d columns, want %d of each, one for each predictor", ld.Path, ld.Rows(), len(columnOf), p)
	}
	s.Correlations = make([]float64, p*p)
	place := make([]int, p)
	for j, name := range s.Names {
		k, ok := columnOf[name]
		if !ok {
			return fmt.Errorf("%s: no column is named %q, as a predictor of the statistics is", ld.Path, name)
		}
		delete(columnOf, name) // so that a repeated name is an error
		place[j] = k
	}
	for j, name := range s.Names {
		column, err := ld.NumbersOf(name, "a number")
		if err != nil {
			return err
		}
		for i := range p {
			s.Correlations[i*p+j] = column[place[i]]
		}
	}
	for i := range p {
		d := &s.Correlations[i*p+i]
		if !(math.Abs(*d-1) <= unequal) {
			return fmt.Errorf("%s: the diagonal at %q is %g, want correlations, with 1 there", ld.Path, s.Names[i], *d)
		}
		*d = 1
		for j := range i {
			a, b := &s.Correlations[i*p+j], &s.Correlations[j*p+i]
			if !(math.Abs(*a-*b) <= asymmetric) {
				return fmt.Errorf("%s: not symmetric: %q with %q is %g, and %g the other way", ld.Path, s.Names[i], s.Names[j], *a, *b)
			}
			*a = (*a + *b) / 2
			*b = *a
		}
	}
	return nil
}

// OfStatistics returns the design that represents statistics: its X and Y are few rows with the
// same inner products as the rows behind the statistics. It overwrites the correlations.
func OfStatistics(path string, s *Statistics, opt Options) (*Design, error) {
	d := &Design{Path: path, Target: opt.Target, Likelihood: opt.Likelihood, Statistics: s, Always: []int{0}, Names: []string{FreeName(InterceptName, s.Names)}}
	if err := d.shrink(opt.DropDegenerate); err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	p, root := len(s.Names), math.Sqrt(float64(s.Rows-1))
	if p == 0 {
		return nil, fmt.Errorf("%s: no predictor is left to select from", path)
	}
	factor, order, left := sparse.FactorizePivoted(slices.Clone(s.Correlations), p, leastPivot)
	rows := len(factor)
	d.X, d.Y, d.Scaling = mat.NewDense(1+rows, p+1, nil), make([]float64, 1+rows), NewScaling(p+1)
	d.X.Set(0, 0, math.Sqrt(float64(s.Rows)))
	rest := make([]float64, p) // products with the response, less the part of the rows of X so far
	floats.AddScaled(rest, root, s.Along)
	for k, row := range factor {
		floats.AddScaled(d.X.RawRowView(1 + k)[1:], root, row)
		d.Y[1+k] = rest[order[k]] / row[order[k]]
		floats.AddScaled(rest, -d.Y[1+k], row)
		s.Explained += d.Y[1+k] * d.Y[1+k] / root / root
	}
	s.Linear = make([]float64, 1+p)
	for j, r := range s.Along {
		s.Linear[1+j] = root * (root*r - rest[j])
	}
	if !(left <= leastLeft) {
		return nil, fmt.Errorf("%s: the correlations are not positive semidefinite (by about %.2g); want more digits of them, or correlations of one sample, or --ld-shrink %.0e, which trusts them less", path, left, 2*left)
	}
	d.Scaling.Level, d.Scaling.LevelValue = 0, 1
	for j, name := range s.Names {
		d.Names = append(d.Names, name)
		d.Predictors = append(d.Predictors, Predictor{Name: name, Coordinates: []int{1 + j}})
		if s.SD != nil {
			d.Scaling.SD[1+j] = s.SD[j]
		}
	}
	return d, nil
}

// Of returns the correlation of two columns of the design, which are not the intercept.
func (s *Statistics) Of(j, k int) float64 { return s.Correlations[(j-1)*len(s.Names)+k-1] }

// Inner returns the inner product of two columns of the design. Column 0 is the intercept.
func (s *Statistics) Inner(j, k int) float64 {
	switch {
	case j > 0 && k > 0:
		return float64(s.Rows-1) * s.Of(j, k)
	case j == k:
		return float64(s.Rows)
	}
	return 0
}

// Products returns the inner products of the columns of the design.
func (s *Statistics) Products() *Products {
	row := func(j int) []float64 {
		return apply.UpTo(len(s.Linear), func(k int) float64 { return s.Inner(j, k) })
	}
	return &Products{Inner: s.Inner, Row: row, Stored: true, Linear: s.Linear, squares: float64(s.Rows-1) * s.Explained, beyond: s.unexplained(), leastPivot: leastPivot, leastLeft: leastLeftOfModel}
}

// shrink shrinks the correlations, as Statistics.Shrink says. If drop is set it drops duplicates;
// otherwise duplicates are an error.
func (d *Design) shrink(drop bool) error {
	s := d.Statistics
	p := len(s.Names)
	var kept []int
	for i := range p {
		original := -1
		for j := range i {
			r := (1 - s.Shrink) * s.Correlations[i*p+j]
			s.Correlations[i*p+j], s.Correlations[j*p+i] = r, r
			if original < 0 && math.Abs(r) > 1-collinearTol {
				original = j
			}
		}
		if original < 0 {
			kept = append(kept, i)
			continue
		}
		d.Dropped = append(d.Dropped, Dropped{s.Names[i], fmt.Sprintf("is %q up to shift and scale", s.Names[original]), s.Names[original]})
		sign := math.Copysign(1, s.Correlations[i*p+original])
		if math.Abs(s.Along[i]-sign*s.Along[original])*math.Sqrt(float64(s.Rows)) > roundedZ {
			s.Apart = append(s.Apart, s.Names[i])
		}
	}
	switch {
	case len(d.Dropped) == 0:
		return nil
	case !drop:
		return fmt.Errorf("%w: %q %s, and %d more", ErrDegenerate, d.Dropped[0].Name, d.Dropped[0].Reason, len(d.Dropped)-1)
	}
	for a, i := range kept {
		for b, j := range kept {
			s.Correlations[a*len(kept)+b] = s.Correlations[i*p+j]
		}
		s.Names[a], s.Along[a] = s.Names[i], s.Along[i]
		if s.SD != nil {
			s.SD[a] = s.SD[i]
		}
	}
	s.Correlations, s.Names, s.Along = s.Correlations[:len(kept)*len(kept)], s.Names[:len(kept)], s.Along[:len(kept)]
	return nil
}

// Residual returns the number of observations beyond the rows of X, and their sum of squares, which
// does not depend on coefficients. Both are 0 for a design made from rows of data.
func (d *Design) Residual() (more int, squares float64) {
	s := d.Statistics
	if s == nil {
		return 0, 0
	}
	return s.Rows - len(d.Y), s.unexplained()
}

// unexplained returns the sum of squares of the response that no coefficients reduce.
func (s *Statistics) unexplained() float64 {
	return float64(s.Rows-1) * math.Max(1-s.Explained, leastLeft)
}

// Given returns the weights with which correlations between other predictors and the response
// predict the correlation between predictor j and the response. The other predictors are those
// listed in also, and others up to the number most, with the largest correlations with j. The
// result variance is the share of the variance of j that the other predictors do not explain.
func (s *Statistics) Given(j, most int, also []int) (weights []float64, others []int, variance float64) {
	p := len(s.Names)
	row := s.Correlations[j*p : (j+1)*p]
	least := 0.0 // absolute correlation between j and the last of others
	for k, r := range row {
		if r = math.Abs(r); k == j || len(others) == most && r <= least {
			continue
		}
		at, _ := slices.BinarySearchFunc(others, r, func(other int, r float64) int { return cmp.Compare(r, math.Abs(row[other])) })
		others = slices.Insert(others, at, k)[:min(len(others)+1, most)]
		least = math.Abs(row[others[len(others)-1]])
	}
	for _, k := range also {
		if k != j && !slices.Contains(others, k) {
			others = append(others, k)
		}
	}
	n := len(others)
	matrix := make([]float64, n*n)
	for a, k := range others {
		for b := range a {
			matrix[a*n+b] = s.Correlations[k*p+others[b]]
		}
		matrix[a*n+a] = 1 + ridge
		weights = append(weights, row[k])
	}
	factor, ok := dense.Factorize(matrix, n, 0)
	if !ok {
		return nil, nil, 1
	}
	factor.Solve(weights)
	variance = 1
	for a, k := range others {
		variance -= weights[a] * row[k]
	}
	return weights, others, variance
}

// ridge is added to the variances of the other predictors in [Statistics.Given], since some may be
// duplicates. It is a thousand times the rounding error of their correlation.
const ridge = 1e-10
