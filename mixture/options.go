package mixture

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"slices"

	"github.com/transdim/vti/run"
)

// Options sets the columns and the priors, which are the priors of Richardson and Green (1997,
// section 2.4). A number that is 0 stands for its default. R denotes the range of a column.
type Options struct {
	// Columns are the columns of values: one column, or several for Multivariate.
	Columns []string `json:"columns"`
	// Family is the distribution of the rows of a component.
	Family Family `json:"family"`
	// MaxComponents is the largest number k of components (default 30). The prior of k is uniform.
	MaxComponents int `json:"max_components,omitempty"`
	// Concentration is the parameter δ of the Dirichlet prior of the weights (default 1).
	Concentration float64 `json:"concentration,omitempty"`
	// MeanSD sets the prior of the means, N(midrange, (MeanSD R)²) restricted to ascending means
	// (default 1), with R the range of the column.
	MeanSD float64 `json:"mean_sd,omitempty"`
	// PrecisionShape, ScaleShape and ScaleRate set the prior of precisions: 1/σ² ~
	// Gamma(PrecisionShape, β), β ~ Gamma(ScaleShape, ScaleRate/R²) (defaults 2, 0.2 and 10).
	PrecisionShape float64 `json:"precision_shape,omitempty"`
	ScaleShape     float64 `json:"scale_shape,omitempty"`
	ScaleRate      float64 `json:"scale_rate,omitempty"`
	// DF are the degrees of freedom of Student components (default 4).
	DF float64 `json:"df,omitempty"`
	// RateShape and RateExposure set the prior of Poisson rates, Gamma(RateShape, RateExposure).
	// RateShape is 1 by default. RateExposure is by default RateShape divided by the mean count.
	RateShape    float64 `json:"rate_shape,omitempty"`
	RateExposure float64 `json:"rate_exposure,omitempty"`
	// Range, if not 0, replaces the range of the columns in the priors. The midrange of the columns
	// in the priors is then replaced by 0.
	Range float64 `json:"range,omitempty"`
}

// Limits that bound the work.
const (
	// MostComponents is the largest MaxComponents.
	MostComponents = 100
	// MostColumns is the largest number of columns.
	MostColumns = 10
)

// withDefaults fills in defaults, and returns an error for options that contradict each other.
func (o Options) withDefaults() (Options, error) {
	if len(o.Columns) == 0 || slices.Contains(o.Columns, "") {
		return o, errors.New("want the column of values: --column")
	}
	if o.Family == Normal && len(o.Columns) > 1 {
		o.Family = Multivariate
	}
	several := o.Family == Multivariate
	switch {
	case several && len(o.Columns) == 1:
		return o, errors.New("a multivariate mixture wants at least two columns: --column a,b")
	case !several && len(o.Columns) > 1:
		return o, fmt.Errorf("a mixture of the family %s takes one column, got %d", o.Family, len(o.Columns))
	case len(o.Columns) > MostColumns:
		return o, fmt.Errorf("got %d columns, want at most %d", len(o.Columns), MostColumns)
	case o.Family != Student && o.DF != 0:
		return o, fmt.Errorf("degrees of freedom belong to the family student, not to %s", o.Family)
	case o.Family != Poisson && (o.RateShape != 0 || o.RateExposure != 0):
		return o, fmt.Errorf("the prior of rates belongs to the family poisson, not to %s", o.Family)
	case o.Family == Poisson && (o.MeanSD != 0 || o.PrecisionShape != 0 || o.ScaleShape != 0 || o.ScaleRate != 0):
		return o, errors.New("priors of means and variances do not belong to the family poisson: --rate-shape, --rate-exposure")
	}
	for c, name := range o.Columns {
		if slices.Contains(o.Columns[:c], name) {
			return o, fmt.Errorf("column %q is named twice", name)
		}
	}
	o.MaxComponents = cmp.Or(o.MaxComponents, 30)
	if o.MaxComponents < 1 || o.MaxComponents > MostComponents {
		return o, fmt.Errorf("largest number of components: got %d, want 1 to %d", o.MaxComponents, MostComponents)
	}
	type prior struct {
		value    *float64
		standard float64
	}
	priors := []prior{{&o.Concentration, 1}}
	if o.Family == Poisson {
		priors = append(priors, prior{&o.RateShape, 1})
	} else {
		priors = append(priors, prior{&o.MeanSD, 1}, prior{&o.PrecisionShape, 2}, prior{&o.ScaleShape, 0.2}, prior{&o.ScaleRate, 10})
	}
	if o.Family == Student {
		priors = append(priors, prior{&o.DF, 4})
	}
	for _, v := range priors {
		*v.value = cmp.Or(*v.value, v.standard)
		if !(*v.value > 0) || math.IsInf(*v.value, 0) {
			return o, fmt.Errorf("priors: got %g, want a positive number", *v.value)
		}
	}
	if !(o.RateExposure >= 0) || !(o.Range >= 0) || math.IsInf(o.RateExposure, 0) || math.IsInf(o.Range, 0) {
		return o, errors.New("priors: want positive numbers")
	}
	return o, nil
}

// Record holds all settings of a run.
type Record struct {
	run.Asked[Options]
	// Sweeps and Error are the fields of SampleConfig with these names.
	Sweeps int     `json:"sweeps,omitempty"`
	Error  float64 `json:"error,omitempty"`
}
