package regression

import (
	"fmt"
	"math"

	"gonum.org/v1/gonum/diff/fd"
	"gonum.org/v1/gonum/integrate/quad"
	"gonum.org/v1/gonum/mat"
	"gonum.org/v1/gonum/optimize"
)

// scaleRatio is log r(τ) and log d log r / dτ of scaleMap on the host.
func scaleRatio(tau float64) (logRatio, logSlope float64) {
	up, down := math.Max(softplusAt(tau), leastSoftplus), softplusAt(-tau)
	return math.Log(up) - down*down/2, math.Log(math.Exp(-down)/up + down*math.Exp(-softplusAt(tau)))
}

func softplusAt(x float64) float64 { return math.Max(x, 0) + math.Log1p(math.Exp(-math.Abs(x))) }

// partialAt is arctanh ρ of partialMap on the host, and the logarithm of its slope in z.
func partialAt(z, b float64) (w, logSlope float64) {
	root := math.Sqrt(1 + z*z/(8*b))
	return z * root / math.Sqrt(2*b), math.Log((1+z*z/(4*b))/root) - math.Log(2*b)/2
}

// logPriorOfSD is the log density of a standard deviation in units of its scale.
func logPriorOfSD(prior SDPrior, ratio float64) float64 {
	switch prior {
	case HalfNormalSD:
		return math.Ln2 - halfLog2Pi - ratio*ratio/2
	case HalfCauchySD:
		return math.Log(2/math.Pi) - math.Log1p(ratio*ratio)
	}
	return -ratio
}

// factorAt is Λ of a grouping at θ, row by row; columns that the model does not use are zero.
func (r *Regression) factorAt(g *varyingGroup, mask []bool, theta []float64) [][]float64 {
	return r.factorOf(g, mask, theta, func(coordinate int) float64 {
		logRatio, _ := scaleRatio(theta[coordinate])
		return math.Exp(logRatio) * r.coordinates[coordinate].unit
	})
}

// factorOf is factorAt with the standard deviations given by their coordinates.
func (r *Regression) factorOf(g *varyingGroup, mask []bool, theta []float64, sd func(coordinate int) float64) [][]float64 {
	rows := make([][]float64, len(g.Columns))
	for a := range rows {
		rows[a] = make([]float64, len(g.Columns))
		if !mask[g.sd[a]] {
			continue
		}
		rest := sd(g.sd[a])
		for b := range a {
			if at := g.partial[a][b]; at >= 0 && mask[at] {
				w, _ := partialAt(theta[at], r.coordinates[at].beta)
				rho := math.Tanh(w)
				rows[a][b] = rest * rho
				rest *= math.Sqrt(1 - rho*rho)
			}
		}
		rows[a][a] = rest
	}
	return rows
}

// noiseAt is σ at θ, on the working scale.
func (r *Regression) noiseAt(theta []float64) float64 {
	if r.noise < 0 {
		return 1
	}
	return math.Exp(theta[r.noise])
}

// moments are sums over rows that are white: Vᵀ C⁻¹ V, Vᵀ C⁻¹ y and yᵀ C⁻¹ y, and log |C|, for the
// covariance C of the rows given Λ and σ.
type moments struct {
	vv     *mat.SymDense
	vy     *mat.VecDense
	yy     float64
	logDet float64
}

// momentsAt computes them group by group.
func (d *grouped) momentsAt(factor [][]float64, sigma float64) moments {
	m := moments{mat.NewSymDense(max(d.width, 1), nil), mat.NewVecDense(max(d.width, 1), nil), 0, 2 * float64(d.rows) * math.Log(sigma)}
	add := func(v []float64, y float64) {
		m.yy += y * y
		for i := range d.width {
			m.vy.SetVec(i, m.vy.AtVec(i)+v[i]*y)
			for k := range i + 1 {
				m.vv.SetSym(i, k, m.vv.At(i, k)+v[i]*v[k])
			}
		}
	}
	row := make([]float64, d.width)
	for i, y := range d.rest {
		for k := range d.width {
			row[k] = d.restV.At(i, k) / sigma
		}
		add(row, y/sigma)
	}
	m.yy += d.residual / (sigma * sigma)
	covariance := mat.NewSymDense(max(d.q, 1), nil)
	block := mat.NewDense(max(d.q, 1), d.width+1, nil)
	var lower mat.TriDense
	for level := range d.levels {
		d.covarianceAt(level, factor, sigma, covariance)
		var cholesky mat.Cholesky
		if !cholesky.Factorize(covariance) {
			m.yy = math.Inf(1)
			return m
		}
		m.logDet += cholesky.LogDet()
		for a := range d.q {
			for k := range d.width {
				block.Set(a, k, d.v[a].At(level, k))
			}
			block.Set(a, d.width, d.y[a][level])
		}
		cholesky.LTo(&lower)
		for a := range d.q { // forward substitution, row by row
			for k := range d.width + 1 {
				sum := block.At(a, k)
				for b := range a {
					sum -= lower.At(a, b) * block.At(b, k)
				}
				block.Set(a, k, sum/lower.At(a, a))
			}
			add(block.RawRowView(a)[:d.width], block.At(a, d.width))
		}
	}
	return m
}

// covarianceAt is that of e of one level: σ² I + R^z Λ Λᵀ R^zᵀ.
func (d *grouped) covarianceAt(level int, factor [][]float64, sigma float64, covariance *mat.SymDense) {
	spread := mat.NewDense(d.q, d.q, nil)
	for a := range d.q {
		for c := range d.q {
			sum := 0.0
			for k := c; k < d.q; k++ {
				sum += d.z[a*d.q+k][level] * factor[k][c]
			}
			spread.Set(a, c, sum)
		}
	}
	covariance.SymOuterK(1, spread)
	for a := range d.q {
		covariance.SetSym(a, a, covariance.At(a, a)+sigma*sigma)
	}
}

// hyperparameters are the active coordinates that no normal prior and likelihood can integrate out:
// standard deviations, correlations and noise.
func (r *Regression) hyperparameters(mask []bool) (list []int) {
	for j, c := range r.coordinates {
		if mask[j] && (c.kind == sdCoordinate || c.kind == partialCoordinate || c.kind == noiseCoordinate) {
			list = append(list, j)
		}
	}
	return list
}

// logMarginal is log p(y, h | m) of a gaussian response, h the hyperparameters in θ: all effects
// are integrated out in closed form.
func (r *Regression) logMarginal(data *grouped, mask []bool, theta []float64) float64 {
	sigma := r.noiseAt(theta)
	var inner [][]float64
	spread := mat.NewDense(max(data.width, 1), max(data.width, 1), nil) // F of w = F v, v ~ N(0, I)
	at := 0
	mean := mat.NewVecDense(max(data.width, 1), nil)
	for j := range r.Frame.Columns {
		if mask[j] {
			spread.Set(j, j, r.coordinates[j].sd)
			mean.SetVec(j, r.coordinates[j].mean)
		}
		at++
	}
	for _, g := range r.groups {
		factor := r.factorAt(g, mask, theta)
		if g == r.inner {
			inner = factor
			continue
		}
		levels := len(g.Levels)
		for a := range g.Columns {
			for b := range a + 1 {
				for level := range levels {
					spread.Set(at+a*levels+level, at+b*levels+level, factor[a][b])
				}
			}
		}
		at += g.effects()
	}
	m := data.momentsAt(inner, sigma)
	var moved mat.VecDense // of y less its prior mean
	moved.MulVec(m.vv, mean)
	m.yy += mat.Dot(mean, &moved) - 2*mat.Dot(mean, m.vy)
	m.vy.SubVec(m.vy, &moved)
	var half, inside mat.Dense
	half.Mul(m.vv, spread)
	inside.Mul(spread.T(), &half)
	precision := mat.NewSymDense(max(data.width, 1), nil)
	for i := range precision.SymmetricDim() {
		for k := range i + 1 {
			precision.SetSym(i, k, (inside.At(i, k)+inside.At(k, i))/2)
		}
		precision.SetSym(i, i, precision.At(i, i)+1)
	}
	var right, solved mat.VecDense
	right.MulVec(spread.T(), m.vy)
	var cholesky mat.Cholesky
	if !cholesky.Factorize(precision) || cholesky.SolveVecTo(&solved, &right) != nil {
		return math.Inf(-1)
	}
	n := float64(len(r.y))
	logDensity := -n*halfLog2Pi - m.logDet/2 - (m.yy-mat.Dot(&right, &solved))/2 - cholesky.LogDet()/2
	return logDensity + r.logPriorOfHyperparameters(mask, theta)
}

// logPriorOfHyperparameters is the log prior density of the active ones.
func (r *Regression) logPriorOfHyperparameters(mask []bool, theta []float64) (sum float64) {
	for _, j := range r.hyperparameters(mask) {
		switch c := r.coordinates[j]; c.kind {
		case sdCoordinate:
			logRatio, logSlope := scaleRatio(theta[j])
			relative := c.unit / r.Options.SDScale
			sum += logPriorOfSD(r.Options.SDPrior, relative*math.Exp(logRatio)) + math.Log(relative) + logRatio + logSlope
		case partialCoordinate:
			w, logSlope := partialAt(theta[j], c.beta)
			logOne := 2 * (math.Ln2 - math.Abs(w) - math.Log1p(math.Exp(-2*math.Abs(w))))
			sum += c.beta*logOne + logSlope - logSymmetricBeta(c.beta)
		default:
			x := (theta[j] - c.mean) / c.sd
			sum -= x*x/2 + math.Log(c.sd) + halfLog2Pi
		}
	}
	return sum
}

// exactMaxHyperparameters and exactNodes bound the work of ExactLogEvidence.
const (
	exactMaxHyperparameters = 5
	exactNodes              = 13
)

// ExactLogEvidence is log p(y | m) of a gaussian response in the units of the table, without
// sampling: effects are integrated out in closed form, and up to five standard deviations,
// correlations and noise by a product of Gauss-Hermite rules around their mode, each with so many
// nodes (0 stands for 13).
func (r *Regression) ExactLogEvidence(code []int32, nodes int) (float64, error) {
	if r.Frame.Response != GaussianResponse {
		return 0, fmt.Errorf("exact evidences exist for the gaussian likelihood only, not for %s", r.Frame.Response)
	}
	if nodes == 0 {
		nodes = exactNodes
	}
	mask := r.space.MaskRow(code, nil)
	free := r.hyperparameters(mask)
	if len(free) > exactMaxHyperparameters {
		return 0, fmt.Errorf("%d standard deviations and correlations are too many to integrate over; at most %d can be", len(free), exactMaxHyperparameters)
	}
	data := newGrouped(r.y, r.wide(), r.inner)
	theta := make([]float64, r.Dim())
	density := func(h []float64) float64 {
		for i, j := range free {
			theta[j] = h[i]
		}
		return r.logMarginal(data, mask, theta)
	}
	if len(free) == 0 {
		return density(nil) + r.logJacobian, nil
	}
	integral, err := adaptiveHermite(density, len(free), nodes)
	return integral + r.logJacobian, err
}

// adaptiveHermite is log ∫ exp(f): a product Gauss-Hermite rule in the coordinates in which f has
// unit curvature at its mode.
func adaptiveHermite(f func([]float64) float64, dim, nodes int) (float64, error) {
	best, err := optimize.Minimize(optimize.Problem{Func: func(h []float64) float64 { return finiteOr(-f(h), 1e100) }}, make([]float64, dim),
		&optimize.Settings{FuncEvaluations: 4000}, &optimize.NelderMead{})
	if err != nil {
		return 0, err
	}
	hessian := mat.NewSymDense(dim, nil)
	fd.Hessian(hessian, func(h []float64) float64 { return -f(h) }, best.X, &fd.Settings{Step: 1e-3})
	var eigen mat.EigenSym
	if !eigen.Factorize(hessian, true) {
		return 0, fmt.Errorf("the curvature at the mode has no eigenvalues")
	}
	var vectors mat.Dense
	eigen.VectorsTo(&vectors)
	logVolume := 0.0
	for i, value := range eigen.Values(nil) {
		width := 1 / math.Sqrt(math.Max(value, 0.05)) // no wider than what the priors allow
		logVolume += math.Log(width)
		for k := range dim {
			vectors.Set(k, i, vectors.At(k, i)*width)
		}
	}
	// ∫ g(x) dx with g(x) = exp(f(mode + W x)) |W|: nodes √2 t and weights w e^(t²) √2 of the rule
	// for e^(−t²).
	t, w := make([]float64, nodes), make([]float64, nodes)
	quad.Hermite{}.FixedLocations(t, w, math.Inf(-1), math.Inf(1))
	place := make([]int, dim)
	h := make([]float64, dim)
	var values []float64
	for {
		copy(h, best.X)
		logWeight := logVolume
		for i, at := range place {
			logWeight += math.Log(w[at]) + t[at]*t[at] + math.Ln2/2
			for k := range dim {
				h[k] += vectors.At(k, i) * t[at] * math.Sqrt2
			}
		}
		values = append(values, finiteOr(f(h), math.Inf(-1))+logWeight)
		i := dim - 1
		for ; i >= 0; i-- {
			if place[i]++; place[i] < nodes {
				break
			}
			place[i] = 0
		}
		if i < 0 {
			return logSumOf(values), nil
		}
	}
}

func finiteOr(x, fallback float64) float64 {
	if math.IsNaN(x) || math.IsInf(x, 0) {
		return fallback
	}
	return x
}

// logSumOf is log Σ exp(x), −Inf for nothing.
func logSumOf(values []float64) float64 {
	largest := math.Inf(-1)
	for _, v := range values {
		largest = math.Max(largest, v)
	}
	if math.IsInf(largest, 0) {
		return largest
	}
	sum := 0.0
	for _, v := range values {
		sum += math.Exp(v - largest)
	}
	return largest + math.Log(sum)
}

// predictorAt is the linear predictor [n] at θ on the working scale, without the effects of the
// inner grouping.
func (r *Regression) predictorAt(mask []bool, theta []float64) []float64 {
	eta := make([]float64, len(r.y))
	copy(eta, r.offset)
	for i := range eta {
		for j := range r.Frame.Columns {
			if mask[j] {
				eta[i] += r.x.At(i, j) * theta[j]
			}
		}
	}
	for _, g := range r.groups {
		if g == r.inner {
			continue
		}
		factor := r.factorAt(g, mask, theta)
		for i, level := range g.Index {
			for a := range factor {
				for c := range a + 1 {
					eta[i] += g.z.At(i, a) * factor[a][c] * theta[g.first+c*len(g.Levels)+level]
				}
			}
		}
	}
	return eta
}
