package varsel

import (
	"github.com/transdim/vti/space"
	"github.com/transdim/vti/table"
	"github.com/transdim/vti/varsel/design"
)

// Names of package design that are also names of this package.
type (
	// Design is a data set ready for inference; see [design.Design].
	Design = design.Design
	// DesignOptions sets the use of the columns of a table; see [design.Options].
	DesignOptions = design.Options
	// PredictorGroup names columns that enter and leave a model together.
	PredictorGroup = design.PredictorGroup
	// Scaling maps coefficients to the scale of the table and back; see [design.Scaling].
	Scaling = design.Scaling
)

// NewDesign builds the design matrix and response from a table; see [design.New].
func NewDesign(t *table.Table, opt DesignOptions) (*Design, error) { return design.New(t, opt) }

// Prior is a prior over the subsets of the selectable predictors; see [space.Prior].
type Prior = space.Prior

// The kinds of a prior over models; see [space.PriorKind].
const (
	BetaBinomialPrior = space.BetaBinomialPrior
	UniformPrior      = space.UniformPrior
	BernoulliPrior    = space.BernoulliPrior
	ExpectedSizePrior = space.ExpectedSizePrior
)
