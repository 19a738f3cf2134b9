package mixture

import "math"

// Coordinates of a mixture of k components, unbounded and nested: a model uses the first k blocks.
//
//	block 1      log β, mean, log variance
//	block j > 1  stick j−1, log increment of the mean over that of component j−1, log variance
//
// The sticks divide the weights: component j takes the share expit(s_j − log(k−j)) of what
// components before it leave, so that all sticks at 0 are equal weights for every k.
const blockSize = 3

// Dim is the number of coordinates of all blocks.
func (p *Problem) Dim() int { return blockSize * p.Options.MaxComponents }

// coordinates are those of a state, [3k].
func (s *state) coordinates() []float64 {
	k := s.size()
	theta := make([]float64, blockSize*k)
	theta[0], theta[1], theta[2] = math.Log(s.beta), s.mean[0], math.Log(s.variance[0])
	rest := 1.0
	for j := 1; j < k; j++ {
		after := 0.0 // the weight of the components after stick j, without cancellation
		for _, w := range s.weight[j:] {
			after += w
		}
		theta[3*j] = math.Log(s.weight[j-1]/after) + math.Log(float64(k-j))
		theta[3*j+1] = math.Log(s.mean[j] - s.mean[j-1])
		theta[3*j+2] = math.Log(s.variance[j])
		rest = after
	}
	_ = rest
	return theta
}

// stateOf is the state at coordinates [3k], with the logarithm of the Jacobian determinant of the
// weights but the last, means, variances and β with respect to the coordinates.
func stateOf(theta []float64) (s state, logJacobian float64) {
	k := len(theta) / blockSize
	s = state{weight: make([]float64, k), mean: make([]float64, k), variance: make([]float64, k), beta: math.Exp(theta[0])}
	logJacobian = theta[0]
	logRest := 0.0
	for j := range k {
		s.variance[j] = math.Exp(theta[3*j+2])
		logJacobian += theta[3*j+2]
		if j == 0 {
			s.mean[0] = theta[1]
			continue
		}
		x := theta[3*j] - math.Log(float64(k-j))
		logShare, logLeft := -log1pExp(-x), -log1pExp(x)
		s.weight[j-1] = math.Exp(logRest + logShare)
		s.mean[j] = s.mean[j-1] + math.Exp(theta[3*j+1])
		// d weight / d stick = rest · share · (1 − share)
		logJacobian += logRest + logShare + logLeft + theta[3*j+1]
		logRest += logLeft
	}
	s.weight[k-1] = math.Exp(logRest)
	return s, logJacobian
}

// log1pExp is log(1 + exp x).
func log1pExp(x float64) float64 {
	if x > 0 {
		return x + math.Log1p(math.Exp(-x))
	}
	return math.Log1p(math.Exp(x))
}

// LogJoint is log p(k, θ, y) at coordinates [3k], on the working scale.
func (p *Problem) LogJoint(theta []float64) float64 {
	s, logJacobian := stateOf(theta)
	return p.logPrior(&s) + p.logLikelihood(&s) + logJacobian
}
