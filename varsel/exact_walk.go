package varsel

import (
	"math"
	"math/bits"

	"gonum.org/v1/gonum/mat"
	"gonum.org/v1/gonum/stat/combin"

	"github.com/transdim/vti/varsel/design"
)

// exactSpace is what all walkers share. With φ_j = (θ_j − θ0_j) / PriorSD_j and y' = y − Xθ0, the
// posterior of φ in model m at noise σ has precision and linear term (S = diag PriorSD)
//
//	M = I + S X'X S / σ²,   b = S X'y' / σ² + ν,   ν_j = (PriorMean_j − θ0_j) / PriorSD_j,
//
// restricted to the coordinates of m, and with u = 1/σ²
//
//	log p(y | m, σ) = −n/2 log(2πσ²) − u y'y'/2 − ½ Σ_m ν_j² − ½ log|M| + ½ b'M⁻¹b.
//
// θ0 is zero for selectable coordinates; for the others any value gives the same answer, and the
// one that fits y removes the cancellation between the last term and u y'y'/2.
type exactSpace struct {
	always []int
	groups [][]int
	dim    int
	rows   int

	gram     []float64 // S X'X S [D*D]
	linear   []float64 // S X'y' [D]
	nu       []float64 // ν [D]
	squares  float64   // y'y'
	logPrior []float64 // log p(m) by size [G+1]
	limit    int       // the largest size of a model
	heredity *heredity // nil: none

	// The grid over log σ: T points with the logarithm of their weights, u = 1/σ², and what is
	// added to ½b'M⁻¹b − ½log|M| − ½Σν².
	logSigma, logWeight, precision, base []float64

	// The reported coefficient is outShift_j + outScale_j φ_j; that of the level coordinate, if
	// there is one, is levelShift + Σ_j levelWeight_j φ_j.
	outScale, outShift []float64
	level              int
	levelWeight        []float64
	levelShift         float64
}

func newExactSpace(p *ExactProblem) *exactSpace {
	n, dim := p.X.Dims()
	s := &exactSpace{
		always: p.Always, groups: p.Groups, dim: dim, rows: n, logPrior: p.Prior.LogProbs(len(p.Groups)), limit: p.Prior.Limit(len(p.Groups)),
		heredity: p.heredity,
		linear:   make([]float64, dim), nu: make([]float64, dim), level: -1,
		outScale: make([]float64, dim), outShift: make([]float64, dim),
	}
	if s.heredity != nil {
		for size := range s.logPrior {
			s.logPrior[size] -= s.heredity.logMass
		}
	}
	scaled := mat.NewDense(n, dim, nil) // X S
	scaled.Apply(func(_, j int, v float64) float64 { return v * p.PriorSD[j] }, p.X)
	var gram mat.Dense
	gram.Mul(scaled.T(), scaled)
	s.gram = gram.RawMatrix().Data

	origin := fitAlways(p, s.gram, scaled) // θ0
	residual := mat.NewVecDense(n, nil)
	residual.MulVec(p.X, mat.NewVecDense(dim, origin))
	residual.SubVec(mat.NewVecDense(n, p.Y), residual)
	s.squares = mat.Dot(residual, residual)
	linear := mat.NewVecDense(dim, s.linear)
	linear.MulVec(scaled.T(), residual)
	for j := range s.nu {
		s.nu[j] = -origin[j] / p.PriorSD[j]
		if p.PriorMean != nil {
			s.nu[j] += p.PriorMean[j] / p.PriorSD[j]
		}
	}

	scaling := p.Scaling
	if scaling == nil {
		identity := design.NewScaling(dim)
		scaling = &identity
	}
	for j := range dim {
		s.outScale[j] = scaling.YSD / scaling.SD[j] * p.PriorSD[j]
		s.outShift[j] = scaling.YSD / scaling.SD[j] * origin[j]
	}
	if scaling.Level >= 0 {
		s.level = scaling.Level
		s.levelWeight, s.levelShift = scaling.LevelWeights()
		for j := range s.levelWeight {
			s.levelShift += s.levelWeight[j] * origin[j]
			s.levelWeight[j] *= p.PriorSD[j]
		}
	}
	return s
}

// count is the number of models that the prior does not exclude.
func (s *exactSpace) count() (n int) {
	if s.heredity != nil {
		uniform := Prior{Kind: UniformPrior, MaxSize: s.limit}
		logMass, _ := s.heredity.mass(uniform) // there are at most 25 predictors
		return int(math.Round(math.Exp(logMass - uniform.LogProbs(len(s.groups))[0])))
	}
	for size := range s.limit + 1 {
		n += combin.Binomial(len(s.groups), size)
	}
	return n
}

// finite reports whether the sums of squares did not overflow.
func (s *exactSpace) finite() bool {
	total := s.squares
	for _, v := range s.gram {
		total += math.Abs(v)
	}
	for j, v := range s.linear {
		total += math.Abs(v) + s.nu[j]*s.nu[j]
	}
	return !math.IsNaN(total) && !math.IsInf(total, 0)
}

// fitAlways returns θ0: the always coordinates at their posterior mean with nothing else in the
// model, for a noise of the size of the response, and zeros.
func fitAlways(p *ExactProblem, gram []float64, scaled *mat.Dense) []float64 {
	dim := len(p.PriorSD)
	origin := make([]float64, dim)
	k := len(p.Always)
	if k == 0 {
		return origin
	}
	y := mat.NewVecDense(len(p.Y), p.Y)
	variance := p.Sigma * p.Sigma
	if variance == 0 {
		variance = mat.Dot(y, y) / float64(len(p.Y))
	}
	if variance == 0 {
		return origin
	}
	precision := mat.NewSymDense(k, nil)
	linear := mat.NewVecDense(k, nil)
	for a, i := range p.Always {
		for b, j := range p.Always[:a+1] {
			precision.SetSym(a, b, gram[i*dim+j])
		}
		precision.SetSym(a, a, precision.At(a, a)+variance)
		linear.SetVec(a, mat.Dot(scaled.ColView(i), y))
	}
	var cholesky mat.Cholesky
	var phi mat.VecDense
	if !cholesky.Factorize(precision) || cholesky.SolveVecTo(&phi, linear) != nil {
		return origin // only rounding suffers
	}
	for a, j := range p.Always {
		origin[j] = p.PriorSD[j] * phi.AtVec(a)
	}
	return origin
}

// setGrid fixes the points over log σ and the logarithm of their weights.
func (s *exactSpace) setGrid(logSigma, logWeight []float64) {
	s.logSigma, s.logWeight = logSigma, logWeight
	s.precision = make([]float64, len(logSigma))
	s.base = make([]float64, len(logSigma))
	for t, v := range logSigma {
		s.precision[t] = math.Exp(-2 * v)
		s.base[t] = logWeight[t] - float64(s.rows)*(halfLog2Pi+v) - 0.5*s.squares*s.precision[t]
	}
}

// walker visits models depth first. Its rows are R = L⁻¹, where LL' is M restricted to the active
// coordinates: a new coordinate j appends to L the row (ℓ', d) with ℓ = R M_j, d² = M_jj − ℓ'ℓ,
// and to R the row (−ℓ'R, 1)/d. With z = R b,
//
//	log|M| = Σ 2 log d,   b'M⁻¹b = |z|²,   E φ = R'z,   diag M⁻¹ = column sums of R²,
//
// so each of them grows by one term per row. Every quantity has one value per point of the grid
// over log σ, stored contiguously.
type walker struct {
	*exactSpace
	coordinates []int     // active, in the order of the rows
	inverse     []float64 // R: entry (i, a), a ≤ i, at (i(i+1)/2 + a) T
	z           []float64 // [D*T]
	frames      []frame   // one per group on the path, and the always coordinates first
	depth       int
	mask        uint32

	ell, row, pivot, score []float64 // scratch
	// posterior weights of the grid points of the last model visited
	weights   []float64
	low, high int // the range of those that are not negligible

	sums *exactSums
	top  *topList
}

// frame is what a model adds to that of its parent; restoring it undoes the last group.
type frame struct {
	mean, variance           []float64 // of φ for the active coordinates, [D*T]
	levelMean, levelVariance []float64 // of the level coefficient, less levelShift, [T]
	logDet, quadratic        []float64 // log|M| and |z|² [T]
	nuSquares                float64
}

func newWalker(s *exactSpace) *walker {
	points, dim := len(s.logSigma), s.dim
	w := &walker{
		exactSpace: s, inverse: make([]float64, dim*(dim+1)/2*points), z: make([]float64, dim*points),
		ell: make([]float64, dim*points), row: make([]float64, dim*points),
		pivot: make([]float64, points), score: make([]float64, points), weights: make([]float64, points),
	}
	for range len(s.groups) + 1 {
		w.frames = append(w.frames, frame{
			mean: make([]float64, dim*points), variance: make([]float64, dim*points),
			levelMean: make([]float64, points), levelVariance: make([]float64, points),
			logDet: make([]float64, points), quadratic: make([]float64, points),
		})
	}
	for _, j := range s.always {
		w.appendCoordinate(j)
	}
	return w
}

// begin clears the sums; models below the threshold need not be listed.
func (w *walker) begin(threshold float64, limit int) {
	w.sums = newExactSums(w.exactSpace)
	w.top = newTopList(limit)
	w.top.floor = threshold
}

// enumerateTask visits every model whose first split decisions are the bits of task.
func (w *walker) enumerateTask(task, split int) {
	if bits.OnesCount(uint(task)) > w.limit {
		return
	}
	for g := range split {
		if task>>g&1 == 1 && !w.heredity.allowed(g, func(parent int) bool { return task>>parent&1 == 1 }) {
			return
		}
	}
	pushed := 0
	for g := range split {
		if task>>g&1 == 1 {
			w.push(g)
			pushed++
		}
	}
	w.enumerateFrom(split)
	for range pushed {
		w.pop()
	}
}

// enumerateFrom visits the current model and all that add groups from first on.
func (w *walker) enumerateFrom(first int) {
	w.visit()
	if w.depth == w.limit {
		return
	}
	for g := first; g < len(w.groups); g++ {
		if !w.heredity.allowed(g, func(parent int) bool { return w.mask>>parent&1 == 1 }) {
			continue
		}
		w.push(g)
		w.enumerateFrom(g + 1)
		w.pop()
	}
}

// push adds a group.
func (w *walker) push(g int) {
	parent, child := &w.frames[w.depth], &w.frames[w.depth+1]
	active := len(w.coordinates) * len(w.logSigma)
	copy(child.mean, parent.mean[:active])
	copy(child.variance, parent.variance[:active])
	copy(child.levelMean, parent.levelMean)
	copy(child.levelVariance, parent.levelVariance)
	copy(child.logDet, parent.logDet)
	copy(child.quadratic, parent.quadratic)
	child.nuSquares = parent.nuSquares
	w.depth++
	w.mask |= 1 << g
	for _, j := range w.groups[g] {
		w.appendCoordinate(j)
	}
}

// pop removes the group pushed last.
func (w *walker) pop() {
	g := bits.Len32(w.mask) - 1 // groups are pushed in increasing order
	w.mask &^= 1 << g
	w.depth--
	w.coordinates = w.coordinates[:len(w.coordinates)-len(w.groups[g])]
}

// appendCoordinate grows the factor by one row and the current frame by one term.
func (w *walker) appendCoordinate(j int) {
	points := len(w.logSigma)
	k := len(w.coordinates)
	f := &w.frames[w.depth]
	gram := w.gram[j*w.dim : (j+1)*w.dim]
	at := func(values []float64, i int) []float64 { return values[i*points : (i+1)*points] }

	for t, u := range w.precision {
		w.pivot[t] = 1 + gram[j]*u
		w.score[t] = w.linear[j]*u + w.nu[j]
	}
	clear(w.row[:(k+1)*points])
	for i := range k {
		ell := at(w.ell, i)
		clear(ell)
		entries := w.inverse[i*(i+1)/2*points:]
		for a, other := range w.coordinates[:i+1] {
			c := gram[other]
			for t, r := range at(entries, a) {
				ell[t] += c * r
			}
		}
		z := at(w.z, i)
		for t, u := range w.precision {
			ell[t] *= u
			w.pivot[t] -= ell[t] * ell[t]
			w.score[t] -= ell[t] * z[t]
		}
		for a := range i + 1 {
			row := at(w.row, a)
			for t, r := range at(entries, a) {
				row[t] -= ell[t] * r
			}
		}
	}
	z := at(w.z, k)
	for t := range points {
		// M − I is positive semidefinite, so d² ≥ 1 but for rounding.
		square := max(w.pivot[t], 1)
		w.pivot[t] = 1 / math.Sqrt(square)
		f.logDet[t] += math.Log(square)
		z[t] = w.score[t] * w.pivot[t]
		f.quadratic[t] += z[t] * z[t]
		w.row[k*points+t] = 1
	}
	f.nuSquares += w.nu[j] * w.nu[j]
	w.coordinates = append(w.coordinates, j)

	clear(at(f.mean, k))
	clear(at(f.variance, k))
	clear(w.score) // now the weighted sum of the new row, for the level coefficient
	entries := w.inverse[k*(k+1)/2*points:]
	for a, other := range w.coordinates {
		row, entry, mean, variance := at(w.row, a), at(entries, a), at(f.mean, a), at(f.variance, a)
		var weight float64
		if w.level >= 0 {
			weight = w.levelWeight[other]
		}
		for t, d := range w.pivot {
			r := row[t] * d
			entry[t] = r
			mean[t] += r * z[t]
			variance[t] += r * r
			w.score[t] += weight * r
		}
	}
	if w.level >= 0 {
		for t, v := range w.score {
			f.levelMean[t] += v * z[t]
			f.levelVariance[t] += v * v
		}
	}
}

// logEvidence returns log p(y | m) of the current model and leaves in weights, from low to high,
// the posterior weights of the grid points, relative to the largest.
func (w *walker) logEvidence() (log, sum float64) {
	f := &w.frames[w.depth]
	best := math.Inf(-1)
	for t, base := range w.base {
		w.weights[t] = base + 0.5*(f.quadratic[t]-f.logDet[t]-f.nuSquares)
		best = max(best, w.weights[t])
	}
	const negligible = -42 // e^-42 is below rounding even when summed over the grid
	w.low, w.high = len(w.weights), 0
	for t, v := range w.weights {
		v -= best
		if v < negligible {
			w.weights[t] = 0
			continue
		}
		w.weights[t] = math.Exp(v)
		sum += w.weights[t]
		w.low, w.high = min(w.low, t), t+1
	}
	return best + math.Log(sum), sum
}

// visit adds the current model to the sums and the list.
func (w *walker) visit() {
	log, sum := w.logEvidence()
	logJoint := log + w.logPrior[w.depth]
	w.top.add(topEntry{logJoint, w.mask})
	scale := w.sums.weight(logJoint) / sum
	if scale == 0 {
		return
	}
	w.sums.add(w, scale)
}
