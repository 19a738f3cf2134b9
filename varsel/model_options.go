package varsel

import (
	"cmp"
	"fmt"
	"math"

	"github.com/transdim/vti/internal/enum"
	"github.com/transdim/vti/likelihood"
	"github.com/transdim/vti/space"
	"github.com/transdim/vti/table"
	"github.com/transdim/vti/varsel/design"
	"github.com/transdim/vti/varsel/exact"
)

// ModelOptions holds the likelihood and the priors. The zero value is the Gaussian likelihood with
// unknown noise and default priors.
type ModelOptions struct {
	// Likelihood is the kind of the likelihood.
	Likelihood likelihood.Kind `json:"likelihood"`
	// Sigma is the known noise scale of the Gaussian and Student likelihoods, in the units of the
	// response; 0 means unknown.
	Sigma float64 `json:"sigma"`
	// Sigma1, Sigma2 and Outlier belong to the robust likelihood. Sigma1 is the noise scale of
	// inliers and Sigma2 the noise scale of outliers, both in the units of the response; Outlier is
	// the share of outliers. 0 stands for 1, 10 and 0.1, as in the VTI paper. With UnknownSigma1,
	// σ1 is inferred and only the ratio Sigma2/Sigma1 is used.
	Sigma1        float64 `json:"sigma1"`
	Sigma2        float64 `json:"sigma2"`
	Outlier       float64 `json:"outlier"`
	UnknownSigma1 bool    `json:"unknown_sigma1"`
	// Degrees are the degrees of freedom of the Student likelihood; 0 stands for 4.
	Degrees float64 `json:"degrees"`
	// SlabScale is the prior sd of a coefficient of a standardised column; 0 stands for 1.5.
	SlabScale float64 `json:"slab_scale"`
	// Slab is the prior of the coefficients in a model. SlabScale applies to the normal slab, the
	// default; other slabs need the Gaussian likelihood with unknown noise.
	Slab exact.Slab `json:"slab,omitzero"`
	// ResponseMean and ResponseSD are the mean and the standard deviation of a continuous response
	// to which its priors are scaled. For a positive response ResponseMean is the centre of the
	// prior of the intercept. If ResponseSD is 0, they are computed from the table. Simulations
	// that draw responses from the priors must fix both beforehand.
	ResponseMean float64 `json:"response_mean,omitempty"`
	ResponseSD   float64 `json:"response_sd,omitempty"`
	// Prior is the distribution over models.
	Prior Prior `json:"prior"`
	// Heredity is the rule for which parents an interaction needs in a model.
	Heredity Heredity `json:"heredity"`
	// Codes is the way in which models are encoded.
	Codes CodeKind `json:"codes"`
}

// manyMaxSize is the default largest size of a model if there are more than manyPredictors
// predictors. It limits the work; models of this size should have little posterior probability. On
// tables of 99 and 134 predictors half and twice this size change inclusion probabilities by up to
// 0.007, no more than another seed does (docs/benchmarks/constants.md).
const (
	manyPredictors = 64
	manyMaxSize    = 20
)

// ForMany returns o with a largest model size of 20 if there are more than 64 predictors. If chosen
// is true, it returns o unchanged: the user has set a limit or asked for no limit.
func (o ModelOptions) ForMany(predictors int, chosen bool) ModelOptions {
	if predictors > manyPredictors && !chosen {
		o.Prior.MaxSize = manyMaxSize
	}
	return o
}

// withDefaults replaces zeros by their defaults.
func (o ModelOptions) withDefaults() ModelOptions {
	o.Sigma1, o.Sigma2, o.Outlier = cmp.Or(o.Sigma1, 1), cmp.Or(o.Sigma2, 10), cmp.Or(o.Outlier, 0.1)
	o.Degrees, o.SlabScale = cmp.Or(o.Degrees, 4), cmp.Or(o.SlabScale, 1.5)
	o.Prior = o.Prior.WithDefaults()
	return o
}

// shape returns the known parameters of the likelihood.
func (o ModelOptions) shape() likelihood.Shape {
	return likelihood.Shape{Degrees: o.Degrees, Outlier: o.Outlier, Ratio: o.Sigma2 / o.Sigma1}
}

// Validate reports the first option that is out of its range.
func (o ModelOptions) Validate() error {
	o = o.withDefaults()
	for _, field := range []struct {
		name  string
		value float64
	}{{"sigma1", o.Sigma1}, {"sigma2", o.Sigma2}, {"degrees", o.Degrees}, {"slab-scale", o.SlabScale}} {
		if !(field.value > 0) || math.IsInf(field.value, 1) {
			return fmt.Errorf("%s: got %g, want a positive number", field.name, field.value)
		}
	}
	if !(o.ResponseSD >= 0) || math.IsInf(o.ResponseSD, 1) || math.IsNaN(o.ResponseMean) || math.IsInf(o.ResponseMean, 0) {
		return fmt.Errorf("mean and sd of the response: got %g and %g, want numbers, the second not negative", o.ResponseMean, o.ResponseSD)
	}
	if o.Sigma < 0 || math.IsNaN(o.Sigma) || math.IsInf(o.Sigma, 1) {
		return fmt.Errorf("sigma: got %g, want a positive number", o.Sigma)
	}
	if !(o.Outlier > 0 && o.Outlier < 1) {
		return fmt.Errorf("outlier: got %g, want a share strictly between 0 and 1", o.Outlier)
	}
	if o.Sigma != 0 && o.Likelihood != likelihood.GaussianKind && o.Likelihood != likelihood.StudentKind {
		return fmt.Errorf("sigma: the %s likelihood has no such scale (gaussian and student do)", o.Likelihood)
	}
	if o.Slab != (exact.Slab{}) && (!o.Likelihood.Conjugate() || o.Sigma != 0) {
		return fmt.Errorf("slab %s: want the gaussian likelihood with unknown sigma, on which g-priors are defined", o.Slab)
	}
	return o.Prior.Validate()
}

// CodeKind is a way to encode a model.
type CodeKind int

const (
	// AutoCodes stands for ListCodes if the size of models is limited and there are too many models
	// to list one by one, and for BitCodes otherwise.
	AutoCodes CodeKind = iota
	// BitCodes have one bit for each predictor. The flow, the learned approximation of the
	// parameters' posterior, has a coordinate for each column of the design.
	BitCodes
	// ListCodes list the predictors of a model. The flow has a block of coordinates for each
	// position in the list. ListCodes need a largest model size.
	ListCodes
)

var codeKinds = enum.New[CodeKind]("codes", "auto", "bits", "lists")

// String returns the name.
func (k CodeKind) String() string { return codeKinds.String(k) }

// MarshalText writes the text of String.
func (k CodeKind) MarshalText() ([]byte, error) { return codeKinds.Marshal(k) }

// UnmarshalText reads the text that MarshalText writes.
func (k *CodeKind) UnmarshalText(text []byte) error { return codeKinds.Unmarshal(text, k) }

// mostListed is the largest number of predictors whose models the engine lists one by one: 2^16
// models, the default of vti.CertifyConfig.
const mostListed = 16

// lists reports whether models of the given number of predictors are written as lists.
func (k CodeKind) lists(prior Prior, predictors int) bool {
	limited := prior.MaxSize > 0 && prior.MaxSize < predictors
	return limited && (k == ListCodes || k == AutoCodes && predictors > mostListed)
}

// These are aliases of types of package design.
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

// These are the kinds of a prior over models; see [space.PriorKind].
const (
	BetaBinomialPrior = space.BetaBinomialPrior
	UniformPrior      = space.UniformPrior
	BernoulliPrior    = space.BernoulliPrior
	ExpectedSizePrior = space.ExpectedSizePrior
	InclusionPrior    = space.InclusionPrior
)
