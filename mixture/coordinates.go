package mixture

// Coordinates of a mixture of k components are unbounded and nested: a model with k components uses
// the first k blocks.
//
//	block 1      log β, mean, log variance
//	block j > 1  stick j−1, log increment of the mean over the mean of component j−1, log variance
//
// The sticks s_1, …, s_{k−1} divide the weights: component j takes the share expit(s_j − log(k−j))
// of the weight left by the components before it, so that for every k the weights are equal if all
// sticks are 0.
const blockSize = 3

// Dim returns the number of coordinates in all blocks.
func (p *Problem) Dim() int { return blockSize * p.Options.MaxComponents }
