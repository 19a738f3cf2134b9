package mixture

import "math"

// Coordinates of a mixture of k components, unbounded and nested: a model uses the first k blocks.
//
//	block 1      log β, mean, log variance
//	block j > 1  stick j−1, log increment of the mean over the mean of component j−1, log variance
//
// The sticks divide the weights: component j takes the share expit(s_j − log(k−j)) of the weight
// left by the components before it, so that all sticks at 0 are equal weights for every k.
const blockSize = 3

// Dim is the number of coordinates of all blocks.
func (p *Problem) Dim() int { return blockSize * p.Options.MaxComponents }

// stateOf returns the state at coordinates [3k] and the logarithm of a Jacobian determinant: of the
// weights but the last, means, variances and β with respect to the coordinates.
func stateOf(theta []float64) (s state, logJacobian float64) {
	k := len(theta) / blockSize
	s = state{make([]component, k), []float64{math.Exp(theta[0])}}
	logJacobian = theta[0]
	logRest := 0.0
	for j := range k {
		s.components[j].variance = math.Exp(theta[3*j+2])
		logJacobian += theta[3*j+2]
		if j == 0 {
			s.components[0].mean = theta[1]
			continue
		}
		x := theta[3*j] - math.Log(float64(k-j))
		logShare, logLeft := -log1pExp(-x), -log1pExp(x)
		s.components[j-1].weight = math.Exp(logRest + logShare)
		s.components[j].mean = s.components[j-1].mean + math.Exp(theta[3*j+1])
		// d weight / d stick = rest · share · (1 − share)
		logJacobian += logRest + logShare + logLeft + theta[3*j+1]
		logRest += logLeft
	}
	s.components[k-1].weight = math.Exp(logRest)
	return s, logJacobian
}

// log1pExp is log(1 + exp x).
func log1pExp(x float64) float64 {
	if x > 0 {
		return x + math.Log1p(math.Exp(-x))
	}
	return math.Log1p(math.Exp(x))
}
