package mixture

import (
	"fmt"
	"math"
)

// Options say what is asked of a table, and the priors: those of Richardson and Green (1997,
// section 2.4). The zero value of every number is its default. R is the range of the column.
type Options struct {
	// Column is the column of values.
	Column string `json:"column"`
	// MaxComponents is the largest number k of components, which is uniform (default 30).
	MaxComponents int `json:"max_components,omitempty"`
	// Weights are Dirichlet(Concentration) (default 1).
	Concentration float64 `json:"concentration,omitempty"`
	// Means are N(midrange, (MeanSD R)²), ordered (default 1).
	MeanSD float64 `json:"mean_sd,omitempty"`
	// Precisions 1/σ² are Gamma(PrecisionShape, β), and β is Gamma(ScaleShape, ScaleRate/R²)
	// (defaults 2, 0.2 and 10).
	PrecisionShape float64 `json:"precision_shape,omitempty"`
	ScaleShape     float64 `json:"scale_shape,omitempty"`
	ScaleRate      float64 `json:"scale_rate,omitempty"`
}

// MostComponents is the largest MaxComponents.
const MostComponents = 100

// withDefaults fills in what was left open.
func (o Options) withDefaults() (Options, error) {
	if o.Column == "" {
		return o, fmt.Errorf("want the column of values: --column")
	}
	if o.MaxComponents == 0 {
		o.MaxComponents = 30
	}
	if o.MaxComponents < 1 || o.MaxComponents > MostComponents {
		return o, fmt.Errorf("largest number of components: got %d, want 1 to %d", o.MaxComponents, MostComponents)
	}
	for _, v := range []struct {
		value    *float64
		standard float64
	}{{&o.Concentration, 1}, {&o.MeanSD, 1}, {&o.PrecisionShape, 2}, {&o.ScaleShape, 0.2}, {&o.ScaleRate, 10}} {
		if *v.value == 0 {
			*v.value = v.standard
		}
		if !(*v.value > 0) || math.IsInf(*v.value, 0) {
			return o, fmt.Errorf("priors: got %g, want a positive number", *v.value)
		}
	}
	return o, nil
}
