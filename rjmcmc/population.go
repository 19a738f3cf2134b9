package rjmcmc

// population holds R states, one per row, row-major: first the chains of the posterior, then their
// copies at each further temperature.
type population struct {
	sites, dim int
	codes      []int32   // [R*S]
	theta      []float64 // [R*D]
	mask       []bool    // [R*D]
	// base is log p(m) g(θ); tilt is log η(θ | m) − log g(θ), which the inverse temperature β
	// multiplies (tempering.go). [R]
	base, tilt []float64
	logDensity []float64 // base + β tilt [R]
	// precision [R*D*D] and linear [R*D] hold the approximation of each row's model by a
	// QuadraticTarget. They are nil for other targets, and if the field models holds the
	// approximations of all models.
	precision, linear []float64
	models            *approximations
	ladder            *ladder
}

func newPopulation(rows, sites, dim int, l *ladder) *population {
	return &population{
		sites: sites, dim: dim, ladder: l,
		codes: make([]int32, rows*sites), theta: make([]float64, rows*dim),
		mask: make([]bool, rows*dim), base: make([]float64, rows), tilt: make([]float64, rows), logDensity: make([]float64, rows),
	}
}

func (p *population) row(c int) (code []int32, theta []float64, mask []bool) {
	return p.codes[c*p.sites : (c+1)*p.sites], p.theta[c*p.dim : (c+1)*p.dim], p.mask[c*p.dim : (c+1)*p.dim]
}

func (p *population) rows(b *block) (codes []int32, mask []bool, theta []float64) {
	return p.codes[b.first*p.sites : b.last*p.sites], p.mask[b.first*p.dim : b.last*p.dim], p.theta[b.first*p.dim : b.last*p.dim]
}

// copyRow copies row c to dst, without the approximation of its model.
func (p *population) copyRow(dst *population, c int) {
	code, theta, mask := dst.row(c)
	fromCode, fromTheta, fromMask := p.row(c)
	copy(code, fromCode)
	copy(theta, fromTheta)
	copy(mask, fromMask)
	dst.base[c], dst.tilt[c], dst.logDensity[c] = p.base[c], p.tilt[c], p.logDensity[c]
}

func (p *population) approximation(c int) (precision, linear []float64) {
	d, row, all, each := p.dim, c, p.precision, p.linear
	if p.models != nil {
		code, _, _ := p.row(c)
		row, all, each = indexOf(p.models.cards, code), p.models.precision, p.models.linear
	}
	return all[row*d*d : (row+1)*d*d], each[row*d : (row+1)*d]
}

func (p *population) copyApproximation(dst *population, c int) {
	if d := p.dim; p.precision != nil {
		copy(dst.linear[c*d:(c+1)*d], p.linear[c*d:])
		copy(dst.precision[c*d*d:(c+1)*d*d], p.precision[c*d*d:])
	}
}

func (p *population) exchangeRows(a, b int) {
	codeA, thetaA, maskA := p.row(a)
	codeB, thetaB, maskB := p.row(b)
	exchange(codeA, codeB)
	exchange(thetaA, thetaB)
	exchange(maskA, maskB)
	p.base[a], p.base[b], p.tilt[a], p.tilt[b] = p.base[b], p.base[a], p.tilt[b], p.tilt[a]
	for _, row := range []int{a, b} {
		p.logDensity[row] = p.ladder.temper(row, p.base[row], p.tilt[row])
	}
	if d := p.dim; p.precision != nil {
		exchange(p.linear[a*d:(a+1)*d], p.linear[b*d:(b+1)*d])
		exchange(p.precision[a*d*d:(a+1)*d*d], p.precision[b*d*d:(b+1)*d*d])
	}
}

func exchange[T any](a, b []T) {
	for i := range a {
		a[i], b[i] = b[i], a[i]
	}
}

// curvature returns the diagonal entry (i, i) of the precision of the quadratic approximation of
// row c, and slope returns entry i of its linear part. Each is a weighted sum with the inverse
// temperature β of the row: weight 1 − β for a normal density in place of g, weight β for the
// approximation of η.
func (p *population) curvature(c, i int) float64 {
	beta := p.ladder.inverseTemperature(c)
	precision, _ := p.approximation(c)
	value := beta * precision[i*p.dim+i]
	if beta < 1 {
		value += (1 - beta) * p.ladder.flattest.precision(i)
	}
	return value
}

func (p *population) slope(c, i int) float64 {
	beta := p.ladder.inverseTemperature(c)
	_, linear := p.approximation(c)
	value := beta * linear[i]
	if beta < 1 {
		value += (1 - beta) * p.ladder.flattest.centre[i] * p.ladder.flattest.precision(i)
	}
	return value
}
