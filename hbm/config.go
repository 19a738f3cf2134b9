package hbm

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"time"

	"github.com/gomlx/gomlx/pkg/core/dtypes"

	vti "github.com/transdim/vti"
	"github.com/transdim/vti/cosmic"
)

// Config holds the settings of Fit. A plate is a set of members over which variables are repeated,
// such as groups. The zero value of Config is a good default for models of up to some ten thousand
// members.
type Config struct {
	// Family is the variational family.
	Family Family
	// Covariance is the form of the covariance of Branch, AmortizedBranch and Joint.
	Covariance Covariance
	// Encoding is the number of entries of an encoding, by which a member differs from other
	// members in the families PAVIF, PAVIE and ADAVI. 0 stands for two entries for each
	// unconstrained number of the variable, and four more.
	Encoding int
	// Products adds to the inputs of encoders the products of any two numbers among a datum and the
	// constants in its density. It is for models that are linear in constants.
	Products bool
	// Encoder sets the sizes of the networks that compute encodings from the data.
	Encoder EncoderConfig
	// Flow is the architecture of the conditional flows of PAVIF, PAVIE and ADAVI; Fit fills in Dim
	// and Features. If Kind and all sizes are zero, it is a spline of one layer with one block of
	// 16 units.
	Flow cosmic.Config
	// Batch is the number of members of a plate in a training step, drawn without replacement (PAVI
	// section 4.2). For a plate nested in one other plate, it is the largest number of members
	// drawn from each selected member of the outer plate. For a plate nested in several plates,
	// members are drawn from all of its members, and a step uses the members of the outer plates to
	// which the drawn members belong. A plate without an entry in Batch is used whole, except for
	// members that belong to unselected members of an outer plate.
	Batch map[*Plate]int
	// Amortize is the number of data sets, simulated from the model, in each step of training a
	// family that encodes data, with one draw for each. The data given to Fit are then only the
	// constants, and Posterior.On infers from any data. 0 trains on the given data.
	Amortize int
	// Simulate, if not nil, makes the data sets of Amortize: values of observed variables
	// [plates..., sets, event...], and of constants for each set or one for all sets. Over a space
	// of models, the argument codes names the model of each set; otherwise it is nil. The sets need
	// not follow the model: the family is trained to be near the posterior given each set. The same
	// arguments must give the same sets. With Thin, the argument left says which members of a plate
	// a step uses; nil stands for all. If Simulate is nil, the model is simulated.
	Simulate func(ctx context.Context, sets int, codes [][]int32, seed uint64, name string, left map[*Plate][]bool) (Values, error)
	// Thin makes each step of training with Amortize use only a random part of the members of each
	// plate, as if the plate had no other members. The fraction used is drawn between ThinnestShare
	// and 1. So the family learns to infer from data of many sizes.
	Thin bool
	// Draws is the number of Monte Carlo draws of each variable in a step. 0 stands for 8 to 64
	// draws, fewer if more members take part in a step.
	Draws int
	// Steps is the number of training steps; 0 stands for 2,000.
	Steps int
	// LearningRate is the largest step of Adam, reached after a short warm-up and then lowered to
	// zero along a cosine; 0 stands for 0.05. The weights of networks, in flows and in encoders,
	// take a twentieth of it.
	LearningRate float64
	// Seed is the root of every random stream.
	Seed uint64
	// DType is the float type of the computation: Float32 (also for the zero value) or Float64.
	// Sums over members are always Float64.
	DType dtypes.DType
	// Checkpoint names the file for the state of training; "" writes none. It is written every 500
	// steps, and also after two seconds and then at intervals that double up to half a minute. The
	// last step is always stored.
	Checkpoint string
	// Until, if not zero, is the time at which training ends, with the step in progress.
	Until time.Time
	// Resume continues from the state in Checkpoint instead of starting anew.
	Resume bool
	// LogEvery is the number of steps between calls of Progress; 0 stands for 100.
	LogEvery int
	// Progress, if not nil, is called after the first step, every LogEvery steps and after the
	// last. The loss is minus the ELBO estimated from the members in the step (PAVI eq. 6). The
	// entropy of the distribution of models is NaN, because no such distribution is trained.
	Progress func(vti.Info)
}

// ThinnestShare is the smallest fraction of the members of a plate that a step uses with
// Config.Thin.
const ThinnestShare = 0.25

// Covariance is the form of the covariance of the normal distributions of Branch, AmortizedBranch
// and Joint. Together they are the nine families of Agrawal and Domke (2021), table 1.
type Covariance int

const (
	// DenseCovariance allows all latent numbers to depend on each other, so far as the family does.
	DenseCovariance Covariance = iota
	// BlockCovariance makes latent variables independent of each other. The numbers of a member,
	// and with Joint of all members of a variable, may depend on each other.
	BlockCovariance
	// DiagonalCovariance makes all latent numbers independent of each other.
	DiagonalCovariance
)

// EncoderConfig sets the sizes of the networks that compute encodings from the data in the families
// PAVIE, ADAVI and AmortizedBranch. Zeros stand for the defaults.
type EncoderConfig struct {
	// Units is the number of units of each hidden layer, and of features of a datum. Default 32. A
	// family can only be as good as what it reads from the data: for regressions of each member on
	// ten predictors, which depend on 65 sums over the data, 128 units come much nearer to the
	// posterior than 32 (docs/papers/branch.md).
	Units int `json:"units"`
	// Attention makes set transformers of the encoders of PAVIE, as in ADAVI, in place of deep
	// sets. They find clusters in the data of a member, which means of features do not show.
	Attention bool `json:"attention"`
	// Heads is the number of heads of attention, which must divide Units, and Points the number of
	// learned points through which the members of a set exchange information (inducing points of a
	// set transformer). Defaults 4 and 8.
	Heads  int `json:"heads"`
	Points int `json:"points"`
}

func (e EncoderConfig) withDefaults() EncoderConfig {
	e.Units, e.Heads, e.Points = cmp.Or(e.Units, 32), cmp.Or(e.Heads, 4), cmp.Or(e.Points, 8)
	return e
}

// Validate returns an error for the first field out of its range.
func (c Config) Validate() error {
	for _, field := range []struct {
		name  string
		value float64
	}{
		{"Encoding", float64(c.Encoding)}, {"Amortize", float64(c.Amortize)}, {"Draws", float64(c.Draws)}, {"Steps", float64(c.Steps)}, {"LearningRate", c.LearningRate},
		{"LogEvery", float64(c.LogEvery)}, {"Encoder.Units", float64(c.Encoder.Units)}, {"Encoder.Heads", float64(c.Encoder.Heads)}, {"Encoder.Points", float64(c.Encoder.Points)},
	} {
		if field.value < 0 || math.IsNaN(field.value) {
			return fmt.Errorf("hbm.Config: got %s %g, want a number that is not negative", field.name, field.value)
		}
	}
	if err := families.Check(c.Family); err != nil {
		return fmt.Errorf("hbm.Config: %w", err)
	}
	if c.Covariance < DenseCovariance || c.Covariance > DiagonalCovariance {
		return fmt.Errorf("hbm.Config: got Covariance %d, want DenseCovariance, BlockCovariance or DiagonalCovariance", c.Covariance)
	}
	if c.Covariance != DenseCovariance && c.Family != Branch && c.Family != AmortizedBranch && c.Family != Joint {
		return fmt.Errorf("hbm.Config: got a Covariance with family %v, want none, or one of %v, %v and %v", c.Family, Branch, AmortizedBranch, Joint)
	}
	if e := c.Encoder.withDefaults(); e.Units%e.Heads != 0 {
		return fmt.Errorf("hbm.Config: got an Encoder with %d units and %d heads, want a number of heads that divides the number of units", e.Units, e.Heads)
	}
	if c.Amortize > 0 && c.Family != PAVIE && c.Family != ADAVI {
		return fmt.Errorf("hbm.Config: got Amortize with family %v, want one that computes all encodings from the data, %v or %v", c.Family, PAVIE, ADAVI)
	}
	if c.Amortize > 0 && c.Draws > 0 && c.Draws != c.Amortize {
		return fmt.Errorf("hbm.Config: got %d Draws, want as many as Amortize has data sets, %d", c.Draws, c.Amortize)
	}
	if c.Resume && c.Checkpoint == "" {
		return errors.New("hbm.Config: Resume needs Checkpoint, the file to continue from")
	}
	if c.DType != dtypes.InvalidDType && c.DType != dtypes.Float32 && c.DType != dtypes.Float64 {
		return fmt.Errorf("hbm.Config: got DType %s, want Float32 or Float64", c.DType)
	}
	return nil
}

// WithDefaults returns the configuration with every zero replaced by its default.
func (c Config) WithDefaults() Config {
	if c.Amortize > 0 {
		c.Draws = c.Amortize
	}
	c.Steps = cmp.Or(c.Steps, 2000)
	c.LearningRate = cmp.Or(c.LearningRate, 0.05)
	c.DType = cmp.Or(c.DType, dtypes.Float32)
	c.LogEvery = cmp.Or(c.LogEvery, 100)
	if c.Flow.Layers == 0 && c.Flow.Blocks == 0 && c.Flow.Hidden == 0 && c.Flow.Kind == cosmic.Affine {
		c.Flow.Kind, c.Flow.Layers, c.Flow.Blocks, c.Flow.Hidden = cosmic.Spline, 1, 1, 16
	}
	return c
}
