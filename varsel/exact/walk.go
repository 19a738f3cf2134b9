package exact

import (
	"context"
	"math"
	"math/bits"
	"slices"
	"sync"

	"gonum.org/v1/gonum/mat"

	"github.com/transdim/vti/internal/parallel"
)

// walk finds the evidences of millions of models by adding one column at a time. A priori
// coefficient θ_j has mean μ_j and standard deviation s_j. With φ_j = (θ_j − θ0_j) / s_j and r = y
// − Xθ0, where θ0 is the same for all models, the posterior of φ in model m at noise σ has the
// precision M and the linear term b,
//
//	M = I + u S X'X S,   b = u S X'r + ν,   ν_j = (μ_j − θ0_j) / s_j,   u = 1/σ²,   S = diag s,
//
// restricted to the coordinates of m, and
//
//	log p(y | m, σ) = −n/2 log(2πσ²) − u r'r/2 − ½ Σ_m ν_j² − ½ log|M| + ½ b'M⁻¹b.
//
// Each further column appends a row to the Cholesky factor L of M and a number to L⁻¹b, at every σ
// of a grid. Sums of squares lose more digits than singular value decompositions, by which some
// evidences are therefore checked. θ0 is the mode of the model with only the columns that are in
// every model, so that r'r does not include the mean of the response.
type walk struct {
	*enumeration
	dim          int
	gram         []float64 // S X'X S [D·D]
	linear, nu   []float64 // S X'r and ν [D]
	u, base      []float64 // for each of T values of σ: 1/σ², and the log of its weight plus the terms that all models share
	coordinates  []int     // coordinates of the current model
	factor, z    []float64 // L with reciprocals on its diagonal [(i(i+1)/2 + a) T], and L⁻¹b [i T]
	ends         []ending  // for each number of leading coordinates of the current model
	mask         uint32
	pivot, score []float64
	terms        []float64
}

// ending holds log|M| and |L⁻¹b|² of a model at every σ [T], and Σ ν².
type ending struct {
	logDet, squares []float64
	nu              float64
}

const (
	// WalkedGroups is the largest number of predictors with which [Enumerate] decomposes the design
	// matrix of each model. With more predictors it walks from model to model by adding columns.
	WalkedGroups = 12
	// checkedModels is the number of most probable models that are decomposed, in addition to one
	// of the largest models, to check the walk. Log evidences must agree to roundedEvidence.
	checkedModels   = 16
	roundedEvidence = 1e-6
	// resolved is the distance of log σ below the log of the response's scale, six decimal digits,
	// to which the walk goes. Residuals of smaller scale drown in the rounding of sums of squares.
	resolved = 6 * math.Ln10
)

// walkStep returns the distance between values of log σ with which the trapezoidal rule resolves
// posteriors whose standard deviation is at least the argument least. For n rows the error of the
// rule decays as 2 |Γ((n + iω)/2)| / Γ(n/2) at ω = 2π/step, which for this step is below 1e-13 for
// every n. Determinants in the density act like a smaller n; normal terms of the log density add to
// its curvature, and where they dominate the error is the same.
func walkStep(least float64) float64 { return 1 / math.Sqrt(65+1.55/(least*least)) }

// newWalk prepares a walk over the values of log σ that matter in the smallest or largest model.
func (e *enumeration) newWalk() (*walk, error) {
	dim := len(e.PriorSD)
	w := &walk{enumeration: e, dim: dim, linear: make([]float64, dim), nu: make([]float64, dim)}
	least, err := e.posterior(e.Always)
	if err != nil {
		return nil, err
	}
	most, err := e.posterior(e.coordinates(e.largest()))
	if err != nil {
		return nil, err
	}
	low, high := min(least.logSigmas[0], most.logSigmas[0]), max(least.logSigmas[len(least.logSigmas)-1], most.logSigmas[len(most.logSigmas)-1])
	origin, mode := make([]float64, dim), make([]float64, len(e.Always)) // origin is θ0
	least.Mode(least.logSigmas[len(least.logSigmas)/2], mode)
	for k, j := range e.Always {
		origin[j] = mode[k]
	}
	scaled, rest := mat.NewDense(len(e.y), dim, nil), mat.NewVecDense(len(e.y), nil)
	for i, y := range e.y {
		rest.SetVec(i, y)
		for j, column := range e.columns {
			scaled.Set(i, j, column[i]*e.PriorSD[j])
			rest.SetVec(i, rest.AtVec(i)-column[i]*origin[j])
		}
	}
	var gram mat.Dense
	gram.Mul(scaled.T(), scaled)
	w.gram = gram.RawMatrix().Data
	mat.NewVecDense(dim, w.linear).MulVec(scaled.T(), rest)
	for j := range w.nu {
		w.nu[j] = (e.mean[j] - origin[j]) / e.PriorSD[j]
	}
	squares, rows := mat.Dot(rest, rest)+e.residual, float64(len(e.y)+e.more)
	step := 1.0
	if e.Noise.SD > 0 {
		step = walkStep(leastSD(rows, e.Noise))
		low = max(low, math.Log(squares/rows)/2-resolved) // if lower values matter, the function walked reports it
	}
	for x := low; x < high+step; x += step {
		weight := 0.0
		if e.Noise.SD > 0 {
			weight = e.Noise.logDensity(x) + math.Log(step)
		} else if x > low {
			break
		}
		u := math.Exp(-2 * x)
		w.u, w.base = append(w.u, u), append(w.base, weight-rows*(halfLog2Pi+x)-u*squares/2)
		if e.Noise.SD > 0 {
			e.nodes, e.step = append(e.nodes, x), step
		}
	}
	return w, nil
}

func (e *enumeration) largest() uint32 {
	return 1<<min(e.Prior.Limit(len(e.Groups)), len(e.Groups)) - 1
}

// walker returns a copy of w with separate memory, whose current model has no predictors.
func (w *walk) walker() *walk {
	copied, points := *w, len(w.u)
	copied.coordinates, copied.mask = nil, 0
	copied.factor, copied.z = make([]float64, w.dim*(w.dim+1)/2*points), make([]float64, w.dim*points)
	copied.pivot, copied.score, copied.terms = make([]float64, points), make([]float64, points), make([]float64, points)
	copied.ends = make([]ending, w.dim+1)
	for i := range copied.ends {
		copied.ends[i] = ending{logDet: make([]float64, points), squares: make([]float64, points)}
	}
	for _, j := range w.Always {
		copied.push(j)
	}
	return &copied
}

func (w *walk) push(j int) {
	points, k := len(w.u), len(w.coordinates)
	pointsOf := func(values []float64, i int) []float64 { return values[i*points : (i+1)*points] }
	gram, row := w.gram[j*w.dim:(j+1)*w.dim], w.factor[k*(k+1)/2*points:]
	for t, u := range w.u {
		w.pivot[t], w.score[t] = 1+gram[j]*u, w.linear[j]*u+w.nu[j]
	}
	for i, other := range w.coordinates {
		entry, lower, z, g := pointsOf(row, i), w.factor[i*(i+1)/2*points:], pointsOf(w.z, i), gram[other]
		for t, u := range w.u {
			entry[t] = g * u
		}
		for a := range i {
			before, l := pointsOf(row, a), pointsOf(lower, a)
			for t, v := range before {
				entry[t] -= l[t] * v
			}
		}
		diagonal := pointsOf(lower, i)
		for t, v := range entry {
			v *= diagonal[t]
			entry[t] = v
			w.pivot[t] -= v * v
			w.score[t] -= v * z[t]
		}
	}
	before, after := &w.ends[k], &w.ends[k+1]
	diagonal, z := pointsOf(row, k), pointsOf(w.z, k)
	for t, pivot := range w.pivot {
		pivot = max(pivot, 1) // smaller only by rounding, since M − I is positive semidefinite
		diagonal[t] = 1 / math.Sqrt(pivot)
		z[t] = w.score[t] * diagonal[t]
		after.logDet[t], after.squares[t] = before.logDet[t]+math.Log(pivot), before.squares[t]+z[t]*z[t]
	}
	after.nu = before.nu + w.nu[j]*w.nu[j]
	w.coordinates = append(w.coordinates, j)
}

// visit finds the evidences of the current model, and of its extensions by groups with numbers from
// first on. The groups before a group decide whether it is allowed, so that a model that is not
// allowed has no allowed extension.
func (w *walk) visit(first int, code []int32) {
	size := bits.OnesCount32(w.mask)
	if size > w.Prior.Limit(len(w.Groups)) || w.Allowed != nil && !w.Allowed(w.code(w.mask, code)) {
		return
	}
	end, best, sum := &w.ends[len(w.coordinates)], math.Inf(-1), 0.0
	for t, base := range w.base {
		w.terms[t] = base + (end.squares[t]-end.logDet[t]-end.nu)/2
		best = max(best, w.terms[t])
	}
	for _, term := range w.terms {
		sum += math.Exp(term - best)
	}
	w.logJoint[w.mask] = best + math.Log(sum) + w.logPriorOf(w.mask)
	for g := first; g < len(w.Groups); g++ {
		before := len(w.coordinates)
		w.mask |= 1 << g
		for _, j := range w.Groups[g] {
			w.push(j)
		}
		w.visit(g+1, code)
		w.mask &^= 1 << g
		w.coordinates = w.coordinates[:before]
	}
}

// walkAll computes logJoint by many walks. The models of one walk agree in the first WalkedGroups/2
// groups.
func (e *enumeration) walkAll(ctx context.Context) error {
	w, err := e.newWalk()
	if err != nil {
		return err
	}
	e.logJoint = slices.Repeat([]float64{math.Inf(-1)}, len(e.logJoint))
	var lock sync.Mutex // guards done and Progress
	done, heads := 0, 1<<(WalkedGroups/2)
	return parallel.Each(ctx, heads, func(int) func(head int) error {
		walker, code := w.walker(), make([]int32, len(e.Groups))
		fixed := len(walker.coordinates)
		return func(head int) error {
			walker.coordinates, walker.mask = walker.coordinates[:fixed], uint32(head)
			for g := range WalkedGroups / 2 {
				if head>>g&1 == 1 {
					for _, j := range e.Groups[g] {
						walker.push(j)
					}
				}
			}
			walker.visit(WalkedGroups/2, code)
			lock.Lock()
			defer lock.Unlock()
			if done += len(e.logJoint) / heads; e.Progress != nil {
				e.Progress(done, len(e.logJoint))
			}
			return nil
		}
	})
}

// walked reports whether the evidences of the walk are right up to rounding. It checks one of the
// largest models, which lose most digits, and the most probable models.
func (e *enumeration) walked() bool {
	for _, mask := range append([]uint32{e.largest()}, e.order[:min(checkedModels, len(e.order))]...) {
		want, err := e.logEvidence(mask)
		found := e.logJoint[mask] - e.logPriorOf(mask)
		if off := math.Abs(found - want); err != nil || !(off <= roundedEvidence+1e-12*math.Abs(want)) && !math.IsInf(found, -1) {
			return false
		}
	}
	return true
}
