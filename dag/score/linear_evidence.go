package score

import (
	"errors"
	"math"
	"slices"
	"sync"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"

	dgraph "github.com/transdim/vti/dag/graph"
	"github.com/transdim/vti/dag/tables"
	"github.com/transdim/vti/internal/line"
	"github.com/transdim/vti/internal/mode"
)

var HalfLog2Pi = math.Log(2*math.Pi) / 2

// LinearStats are the sufficient statistics of one node.
type LinearStats struct {
	node, rows int
	Gram       *mat.SymDense // Σ x xᵀ over the rows that count for the node, centred [N,N]
	LogSD      float64       // log standard deviation of the node: the prior mean of log σ
	// root is R with RᵀR = Gram by rows [N·N], which has the digits that sums of squares lose. Few
	// families need it.
	root func() []float64
}

func NewLinearStats(d *tables.Data, node int) *LinearStats {
	s := &LinearStats{node: node, Gram: mat.NewSymDense(d.Nodes(), nil), LogSD: d.LogSD(node)}
	values := mat.NewVecDense(d.Nodes(), nil)
	for row := range d.Rows() {
		if d.Counts(row, node) {
			s.rows++
			d.RowFor(node, row, values.RawVector().Data)
			s.Gram.SymRankOne(s.Gram, 1, values)
		}
	}
	s.root = sync.OnceValue(func() []float64 { return RootOfGram(d, node) })
	return s
}

// column is that of R.
func (s *LinearStats) column(i int) (values []float64) {
	root, nodes := s.root(), s.Gram.SymmetricDim()
	for row := range nodes {
		values = append(values, root[row*nodes+i])
	}
	return values
}

// LogEvidence is log p(x_j | x_pa): sigma is the noise scale, 0 if it is to be integrated over its
// prior.
func (s *LinearStats) LogEvidence(parents dgraph.Set, sigma, priorSD float64) float64 {
	given := s.Spectrum(parents)
	if sigma > 0 {
		return given.LogEvidence(math.Log(sigma), priorSD)
	}
	return given.integrate(s.LogSD, priorSD)
}

// spectrum is a regression of the node on its parents along the singular vectors of X_pa, X_pa =
// Σ_k √v_k a_k b_kᵀ, where every noise scale is a sum of terms of one sign: differences of large
// numbers would leave nothing where parents interpolate the node, as they do when rows are few.
type spectrum struct {
	rows    int
	Outside float64    // |x_j|² less the squares along all a_k: what no weights explain
	Values  []float64  // v_k
	squares []float64  // (a_kᵀx_j)²
	Vectors *mat.Dense // b_k by columns; nil without parents
	Signed  []float64  // a_kᵀx_j √v_k = b_kᵀX_paᵀx_j
}

// Limits beyond which the Gram matrix has lost digits that the table has. Chosen so that what is
// lost stays below 1e-9 nats for 1,000 rows: float64 has 1e-16, of which n/2 times the inverse of
// the limit is lost.
const (
	// least share of |x_j|² outside the parents
	leastOutside = 1e-3
	// least ratio of the smallest to the largest eigenvalue
	leastCondition = 1e-4
	// columns of float64 are known to 1e-16 of their size: less outside them is rounding, and
	// counts as this share of |x_j|²
	roundedOff = 1e-28
)

// Spectrum is that of a family. Its numbers are NaN if the table has values whose squares overflow.
func (s *LinearStats) Spectrum(parents dgraph.Set) spectrum {
	total := math.Max(s.Gram.At(s.node, s.node), math.SmallestNonzeroFloat64/roundedOff)
	out := spectrum{rows: s.rows, Outside: total}
	of := parents.List()
	if len(of) == 0 {
		return out
	}
	if !s.fromGram(of, &out) || !(out.Outside >= leastOutside*total) {
		out = s.fromColumns(of)
	}
	out.Outside = math.Max(out.Outside, roundedOff*total)
	return out
}

// fromGram fills a spectrum from the eigenvalues of X_paᵀX_pa, and reports whether these have the
// digits for it.
func (s *LinearStats) fromGram(of []int, out *spectrum) bool {
	gram, right := mat.NewSymDense(len(of), nil), make([]float64, len(of))
	for a, i := range of {
		right[a] = s.Gram.At(i, s.node)
		for b := range a + 1 {
			gram.SetSym(a, b, s.Gram.At(i, of[b]))
		}
	}
	var eigen mat.EigenSym
	if !eigen.Factorize(gram, true) {
		return false
	}
	out.Values = eigen.Values(nil) // ascending
	if !(out.Values[0] >= leastCondition*out.Values[len(of)-1]) {
		return false
	}
	out.Vectors = new(mat.Dense)
	eigen.VectorsTo(out.Vectors)
	var loadings mat.VecDense
	loadings.MulVec(out.Vectors.T(), mat.NewVecDense(len(right), right))
	out.Signed, out.squares = loadings.RawVector().Data, make([]float64, len(of))
	for k, value := range out.Values {
		out.squares[k] = Square(out.Signed[k]) / value
		out.Outside -= out.squares[k]
	}
	return true
}

// fromColumns is the spectrum from the columns themselves, with the digits that they have whatever
// their scales and however nearly collinear they are.
func (s *LinearStats) fromColumns(of []int) spectrum {
	columns := make([][]float64, 0, len(of)+1)
	for _, i := range append(slices.Clone(of), s.node) {
		columns = append(columns, s.column(i))
	}
	triangulate(columns)
	rest := columns[len(of)][:len(of)+1] // the node along the parents, and last what is outside
	out := spectrum{
		rows: s.rows, Outside: Square(rest[len(of)]),
		Values: make([]float64, len(of)), squares: make([]float64, len(of)), Signed: make([]float64, len(of)),
		Vectors: mat.NewDense(len(of), len(of), nil),
	}
	rest = rest[:len(of)]
	left := columns[:len(of)]
	for k := range left {
		left[k] = left[k][:len(of)]
	}
	for k, direction := range orthogonalize(left) {
		out.Vectors.SetCol(k, direction.right)
		if direction.size == 0 {
			continue
		}
		along := floats.Dot(left[k], rest) / direction.size
		floats.AddScaled(rest, -along/direction.size, left[k])
		out.Values[k], out.squares[k], out.Signed[k] = Square(direction.size), Square(along), along*direction.size
	}
	out.Outside += floats.Dot(rest, rest) // along directions that the parents do not span
	return out
}

// LogEvidence is log N(x_j; 0, σ² I + σ0² X_pa X_paᵀ).
func (s spectrum) LogEvidence(logSigma, priorSD float64) float64 {
	precision := math.Exp(-2 * logSigma)
	sum := -float64(s.rows)*(logSigma+HalfLog2Pi) - s.Outside*precision/2
	ratio, logDet, product := precision*priorSD*priorSD, 0.0, 1.0
	for k, value := range s.Values {
		factor := 1 + value*ratio
		sum -= s.squares[k] * precision / (2 * factor)
		if product *= factor; product > 1e200 { // one logarithm for many factors
			logDet += math.Log(product)
			product = 1
		}
	}
	return sum - (logDet+math.Log(product))/2
}

// slope is the first derivative of logEvidence in log σ, and the second.
func (s spectrum) slope(logSigma, priorSD float64) (first, second float64) {
	precision := math.Exp(-2 * logSigma)
	ratio := precision * priorSD * priorSD
	first, second = s.Outside*precision-float64(s.rows), -2*s.Outside*precision
	for k, value := range s.Values {
		// With f = 1 + v σ0²/σ² and share = 1 − 1/f: d/dlogσ of log f is −2 share, of share it is
		// −2 share/f, of 1/(σ² f) it is −2/(σ² f²).
		left := 1 / (1 + value*ratio)
		share := 1 - left
		explained := s.squares[k] * precision * left * left
		first += explained + share
		second += 2*explained*(share-left) - 2*share*left
	}
	return first, second
}

// logPosterior is logEvidence with the prior of log σ, whose mean is logSD.
func (s spectrum) logPosterior(logSigma, logSD, priorSD float64) float64 {
	return s.LogEvidence(logSigma, priorSD) - Square((logSigma-logSD)/LogSigmaSD)/2 - math.Log(LogSigmaSD) - HalfLog2Pi
}

// mode climbs from a start to a mode of the posterior of log σ and returns it with −1 times the
// second derivative there, which is at least that of the prior.
func (s spectrum) mode(start, logSD, priorSD float64) (peak, curvature float64) {
	at := []float64{start}
	mode.Climb(at, func(x []float64) float64 { return s.logPosterior(x[0], logSD, priorSD) }, func(x, step []float64) (float64, bool) {
		first, second := s.slope(x[0], priorSD)
		first -= (x[0] - logSD) / Square(LogSigmaSD)
		curvature = math.Max(-second, 0) + 1/Square(LogSigmaSD)
		step[0] = first / curvature
		return first * step[0], true
	}, mode.Options{Share: func(_, step []float64) float64 { return 1 / math.Abs(step[0]) }})
	return at[0], curvature
}

// HighestMode is the mode of the posterior of log σ with the largest density, as mode returns it.
func (s spectrum) HighestMode(logSD, priorSD float64) (peak, curvature float64) {
	low, high, curvatures := s.modes(logSD, priorSD)
	if s.logPosterior(low, logSD, priorSD) > s.logPosterior(high, logSD, priorSD) {
		return low, curvatures[0]
	}
	return high, curvatures[1]
}

// modes climbs from below and from above. The density can have two modes, one where little is
// noise; it has none below the noise that all parents leave, nor above the node itself.
func (s spectrum) modes(logSD, priorSD float64) (low, high float64, curvatures [2]float64) {
	rows := float64(s.rows)
	low, curvatures[0] = s.mode(math.Min(logSD, math.Log(s.Outside/rows)/2), logSD, priorSD)
	high, curvatures[1] = s.mode(math.Max(logSD, math.Log((s.Outside+floats.Sum(s.squares))/rows)/2), logSD, priorSD)
	return low, high, curvatures
}

// overNoise is the integral of the posterior of log σ, with nodes that are at most spacing of 0.7
// standard deviations apart, as the curvature at the modes gives them.
func (s spectrum) overNoise(logSD, priorSD, spacing float64) (*line.Integral[struct{}], error) {
	low, high, curvatures := s.modes(logSD, priorSD)
	if math.IsNaN(low) || math.IsNaN(high) {
		return nil, errors.New("squares overflow")
	}
	const widest = 0.2 // of densities that are not normal, as of few rows
	step := spacing * math.Min(0.7/math.Sqrt(slices.Max(curvatures[:])), widest)
	return line.Of(line.Options{From: math.Min(low, high), To: math.Max(low, high), Step: step}, func(logSigma float64) float64 {
		return s.logPosterior(logSigma, logSD, priorSD)
	})
}

// integrate is log ∫ exp(logEvidence) over the prior of log σ, NaN where squares overflow.
func (s spectrum) integrate(logSD, priorSD float64) float64 {
	over, err := s.overNoise(logSD, priorSD, 1)
	if err != nil {
		return math.NaN()
	}
	return over.Log
}

// RootOfGram returns R [N·N] with RᵀR = Σ x xᵀ over the rows that count for a node, as its
// mechanism sees them, or over all if it is −1, from a QR decomposition: sums of squares of
// residuals keep their digits, as differences of entries of the Gram matrix would not.
func RootOfGram(d *tables.Data, node int) []float64 {
	nodes := d.Nodes()
	x := mat.NewDense(max(d.Rows(), nodes), nodes, nil) // rows of zeros change nothing
	next := 0
	for row := range d.Rows() {
		switch {
		case node < 0:
			x.SetRow(next, d.X.RawRowView(row))
		case d.Counts(row, node):
			d.RowFor(node, row, x.RawRowView(next))
		default:
			continue
		}
		next++
	}
	var qr mat.QR
	qr.Factorize(x)
	var r mat.Dense
	qr.RTo(&r)
	root := make([]float64, 0, nodes*nodes)
	for i := range nodes {
		root = append(root, r.RawRowView(i)...)
	}
	return root
}
