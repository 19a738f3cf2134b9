package mixture

import "math"

// state is a mixture on the working scale: components in the order of their means.
type state struct {
	weight, mean, variance []float64
	beta                   float64
}

func (s *state) size() int { return len(s.weight) }

func (s *state) clone() state {
	return state{append([]float64(nil), s.weight...), append([]float64(nil), s.mean...), append([]float64(nil), s.variance...), s.beta}
}

// ordered reports whether means increase strictly.
func (s *state) ordered() bool {
	for j := 1; j < len(s.mean); j++ {
		if !(s.mean[j] > s.mean[j-1]) {
			return false
		}
	}
	return true
}

// logPrior is log p(k, weights, means, variances, β), in the coordinates of the state, the
// Dirichlet with respect to all weights but the last.
func (p *Problem) logPrior(s *state) float64 {
	k, d := float64(s.size()), p.Options.Concentration
	total := -math.Log(float64(p.Options.MaxComponents)) + logGamma(k+1) + logGamma(k*d) - k*logGamma(d) + p.logScale(s.beta)
	for j := range s.weight {
		total += (d-1)*math.Log(s.weight[j]) + p.logMean(s.mean[j]) + p.logVariance(s.variance[j], s.beta)
	}
	return total
}

// logMean is the log prior density of a mean without the factor for the order.
func (p *Problem) logMean(mean float64) float64 {
	sd := p.Options.MeanSD
	return -0.5*math.Log(2*math.Pi*sd*sd) - 0.5*mean*mean/(sd*sd)
}

// logVariance is the log prior density of a variance.
func (p *Problem) logVariance(variance, beta float64) float64 {
	a := p.Options.PrecisionShape
	return a*math.Log(beta) - logGamma(a) - (a+1)*math.Log(variance) - beta/variance
}

// logScale is the log prior density of β.
func (p *Problem) logScale(beta float64) float64 {
	g, h := p.Options.ScaleShape, p.Options.ScaleRate
	return g*math.Log(h) - logGamma(g) + (g-1)*math.Log(beta) - h*beta
}

// logLikelihood is log p(y | state).
func (p *Problem) logLikelihood(s *state) float64 {
	total := 0.0
	logs := make([]float64, s.size())
	for _, y := range p.y {
		largest := math.Inf(-1)
		for j := range logs {
			logs[j] = logComponent(s.weight[j], s.mean[j], s.variance[j], y)
			largest = math.Max(largest, logs[j])
		}
		sum := 0.0
		for _, l := range logs {
			sum += math.Exp(l - largest)
		}
		total += largest + math.Log(sum)
	}
	return total
}

func logComponent(weight, mean, variance, y float64) float64 {
	return math.Log(weight) - 0.5*math.Log(2*math.Pi*variance) - 0.5*(y-mean)*(y-mean)/variance
}

func logGamma(x float64) float64 {
	v, _ := math.Lgamma(x)
	return v
}
