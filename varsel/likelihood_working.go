package varsel

import "math"

// leastCurvature is the share of the cautious curvature that the curvature of a heavy-tailed log
// density is taken for where it is smaller: a row that looks like an outlier has none, or a
// negative one.
const leastCurvature = 0.2

func (l gaussian) logDensityAt(eta []float64, scale float64) float64 {
	squares := l.residual
	for i, y := range l.y {
		squares += (y - eta[i]) * (y - eta[i])
	}
	return -squares/(2*scale*scale) - float64(l.rows)*math.Log(scale)
}

func (l gaussian) working(eta []float64, scale float64, _ bool) (weights, response []float64) {
	return quadraticRows(len(l.y), func(i int) (float64, float64) { return 1 / (scale * scale), l.y[i] })
}

func (l robust) logDensityAt(eta []float64, scale float64) (sum float64) {
	for i, y := range l.y {
		r := (y - eta[i]) / scale
		sum += logAddExpOf(math.Log1p(-l.outlier)-r*r/2, math.Log(l.outlier/l.ratio)-r*r/(2*l.ratio*l.ratio))
	}
	return sum - float64(len(l.y))*math.Log(scale)
}

func (l robust) working(eta []float64, scale float64, cautious bool) (weights, response []float64) {
	return quadraticRows(len(l.y), func(i int) (float64, float64) {
		r := (l.y[i] - eta[i]) / scale
		narrow, wide := 1.0, 1/(l.ratio*l.ratio)
		logOdds := math.Log(l.outlier/l.ratio/(1-l.outlier)) + r*r*(narrow-wide)/2
		outlier := 1 / (1 + math.Exp(-logOdds))
		mean := (1-outlier)*narrow + outlier*wide // of the precision, given the residual
		variance := outlier * (1 - outlier) * (narrow - wide) * (narrow - wide)
		return heavyRow(eta[i], r*scale, mean/(scale*scale), (mean-variance*r*r)/(scale*scale), cautious)
	})
}

func (l student) logDensityAt(eta []float64, scale float64) (sum float64) {
	for i, y := range l.y {
		r := (y - eta[i]) / scale
		sum -= (l.degrees + 1) / 2 * math.Log1p(r*r/l.degrees)
	}
	return sum - float64(len(l.y))*math.Log(scale)
}

func (l student) working(eta []float64, scale float64, cautious bool) (weights, response []float64) {
	return quadraticRows(len(l.y), func(i int) (float64, float64) {
		r := l.y[i] - eta[i]
		total := l.degrees*scale*scale + r*r
		return heavyRow(eta[i], r, (l.degrees+1)/total, (l.degrees+1)*(l.degrees*scale*scale-r*r)/(total*total), cautious)
	})
}

// heavyRow is the row of a likelihood with heavy tails: residual r, cautious weight and curvature
// of its log density.
func heavyRow(eta, r, weight, curvature float64, cautious bool) (float64, float64) {
	if cautious {
		return weight, eta + r
	}
	curvature = math.Max(curvature, leastCurvature*weight)
	return curvature, eta + weight*r/curvature
}

func (l logistic) logDensityAt(eta []float64, _ float64) (sum float64) {
	for i, y := range l.y {
		sum += y*eta[i] - math.Max(eta[i], 0) - math.Log1p(math.Exp(-math.Abs(eta[i])))
	}
	return sum
}

func (l logistic) working(eta []float64, _ float64, cautious bool) (weights, response []float64) {
	return quadraticRows(len(l.y), func(i int) (float64, float64) {
		mean := 1 / (1 + math.Exp(-eta[i]))
		weight := math.Max(mean*(1-mean), 1e-6)
		if cautious { // the quadratic of Jaakkola and Jordan, which lies below
			weight = 0.25
			if half := eta[i] / 2; math.Abs(half) > 1e-6 {
				weight = math.Tanh(half) / (4 * half)
			}
		}
		return weight, eta[i] + (l.y[i]-mean)/weight
	})
}

func (l poisson) logDensityAt(eta []float64, _ float64) (sum float64) {
	for i, y := range l.y {
		sum += y*eta[i] - math.Exp(eta[i])
	}
	return sum
}

// working starts from the counts themselves where eta is far below them: a quadratic at a small
// mean overshoots.
func (l poisson) working(eta []float64, _ float64, cautious bool) (weights, response []float64) {
	return quadraticRows(len(l.y), func(i int) (float64, float64) {
		mean := math.Max(math.Exp(eta[i]), 1e-6)
		if cautious && l.y[i] > mean {
			return l.y[i], eta[i] + math.Min(math.Log((l.y[i]+0.5)/mean), (l.y[i]-mean)/mean)
		}
		return mean, eta[i] + (l.y[i]-mean)/mean
	})
}

// quadraticRows collects weight and response of each of n rows.
func quadraticRows(n int, row func(i int) (weight, response float64)) (weights, response []float64) {
	weights, response = make([]float64, n), make([]float64, n)
	for i := range n {
		weights[i], response[i] = row(i)
	}
	return weights, response
}

func logAddExpOf(a, b float64) float64 {
	return math.Max(a, b) + math.Log1p(math.Exp(-math.Abs(a-b)))
}
