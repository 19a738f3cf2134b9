package mixture

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
