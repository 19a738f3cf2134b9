package varsel

import (
	"fmt"
	"math"

	"github.com/transdim/vti"
	"github.com/transdim/vti/modeldist"
	"github.com/transdim/vti/space"
)

// ModelFamily names a family of distributions q(m) over subsets of predictors.
type ModelFamily int

const (
	// AutoFamily is a table while it can hold the models, and a network beyond.
	AutoFamily ModelFamily = iota
	// TableFamily has one logit per model.
	TableFamily
	// AutoregressiveFamily decides predictor by predictor, with all conditional probabilities from one network.
	AutoregressiveFamily
)

var familyNames = [...]string{"auto", "table", "autoregressive"}

// String returns the name that [ParseModelFamily] reads.
func (f ModelFamily) String() string {
	if f < 0 || int(f) >= len(familyNames) {
		return fmt.Sprintf("ModelFamily(%d)", int(f))
	}
	return familyNames[f]
}

// ParseModelFamily reads auto, table or autoregressive.
func ParseModelFamily(s string) (ModelFamily, error) {
	for f, name := range familyNames {
		if s == name {
			return ModelFamily(f), nil
		}
	}
	return 0, fmt.Errorf("unknown family of q(m) %q; expected auto, table or autoregressive", s)
}

// MarshalText writes the name.
func (f ModelFamily) MarshalText() ([]byte, error) { return []byte(f.String()), nil }

// UnmarshalText reads what MarshalText wrote.
func (f *ModelFamily) UnmarshalText(text []byte) (err error) {
	*f, err = ParseModelFamily(string(text))
	return err
}

// NewModels returns q(m) of the family, started at the prior over models (for a betabinomial prior and a network, at independent
// inclusions with the prior's mean). Nil stands for the table, which the engine makes. A space that the family
// cannot hold is an error that says which can.
func (p *Problem) NewModels(family ModelFamily, seed uint64) (vti.ModelDistribution, error) {
	if p.Slots != nil {
		return p.Slots.newModels(seed)
	}
	count, ok := space.Count(p.Target.Space())
	fits := ok && count <= modeldist.DefaultLimit
	if family == TableFamily && !fits {
		return nil, fmt.Errorf("%d predictors make 2^%d models, and a table of q(m) holds at most 2^%d; the autoregressive family holds them",
			len(p.Design.Predictors), len(p.Design.Predictors), int(math.Log2(modeldist.DefaultLimit)))
	}
	if family != AutoregressiveFamily && fits {
		return nil, nil
	}
	config := modeldist.AutoregressiveConfig{Seed: seed}
	if in := p.Model.Prior.meanInclusion(len(p.Design.Predictors)); math.Abs(in-0.5) > 1e-9 {
		for range p.Design.Predictors {
			config.SiteLogPrior = append(config.SiteLogPrior, []float64{math.Log1p(-in), math.Log(in)})
		}
	}
	return modeldist.NewAutoregressive(p.Target.Space().Cards(), config)
}

// meanInclusion is the prior probability that a given predictor is in the model.
func (p Prior) meanInclusion(groups int) float64 {
	return p.meanSize(groups) / float64(groups)
}
