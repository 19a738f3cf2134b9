package varsel

import "github.com/transdim/vti/space"

// Prior is a prior over the subsets of the selectable predictors; see [space.Prior].
type Prior = space.Prior

// The kinds of a prior over models; see [space.PriorKind].
const (
	BetaBinomialPrior = space.BetaBinomialPrior
	UniformPrior      = space.UniformPrior
	BernoulliPrior    = space.BernoulliPrior
	ExpectedSizePrior = space.ExpectedSizePrior
)
