package cosmic

import (
	"fmt"
	"math"

	"gonum.org/v1/gonum/mat"
)

// MaxCoupledDim is the largest Dim for which a Precision may have entries off its diagonal: the
// anchor factorises a matrix of Dim rows for every row of a batch, at D³/3 multiplications, 87,000
// at this bound.
const MaxCoupledDim = 64

// standardised is the quadratic -½ θᵀHθ + bᵀθ of a configuration in units U, a diagonal matrix, in
// which the precision U H U has unit diagonal.
type standardised struct {
	logUnit   []float64 // log U_i = -½ log H_ii
	linear    []float64 // U b
	couplings []float64 // U H U without its diagonal [D·D]; nil: all zero
}

// standardised returns the quadratic of the configuration, or the zero value if it has none.
func (c Config) standardised() (s standardised) {
	if c.Precision == nil {
		return s
	}
	s.logUnit, s.linear = make([]float64, c.Dim), make([]float64, c.Dim)
	couplings, coupled := make([]float64, c.Dim*c.Dim), false
	for i := range c.Dim {
		s.logUnit[i] = -math.Log(c.Precision[i*c.Dim+i]) / 2
		if c.Linear != nil {
			s.linear[i] = math.Exp(s.logUnit[i]) * c.Linear[i]
		}
	}
	for k, h := range c.Precision {
		if i, j := k/c.Dim, k%c.Dim; i != j && h != 0 {
			couplings[k] = h * math.Exp(s.logUnit[i]+s.logUnit[j])
			coupled = true
		}
	}
	if coupled {
		s.couplings = couplings
	}
	return s
}

func (c Config) validateQuadratic() error {
	if c.Precision == nil {
		if c.Linear != nil {
			return fmt.Errorf("cosmic: Linear needs a Precision, got none")
		}
		return nil
	}
	if err := validateVector("Precision", "Dim² =", c.Precision, c.Dim*c.Dim); err != nil {
		return err
	}
	if c.Linear != nil {
		if err := validateVector("Linear", "Dim =", c.Linear, c.Dim); err != nil {
			return err
		}
	}
	for i := range c.Dim {
		if h := c.Precision[i*c.Dim+i]; !(h > 0) {
			return fmt.Errorf("cosmic: Precision[%d,%d] must be positive, got %v", i, i, h)
		}
		for j := range i {
			if a, b := c.Precision[i*c.Dim+j], c.Precision[j*c.Dim+i]; a != b {
				return fmt.Errorf("cosmic: Precision must be symmetric, got %v at [%d,%d] and %v at [%d,%d]", a, i, j, b, j, i)
			}
		}
	}
	s := c.standardised()
	if s.couplings == nil {
		return nil
	}
	if c.Dim > MaxCoupledDim {
		return fmt.Errorf("cosmic: Precision must be diagonal where Dim is above %d, got Dim = %d", MaxCoupledDim, c.Dim)
	}
	scaled := mat.NewSymDense(c.Dim, s.couplings)
	for i := range c.Dim {
		scaled.SetSym(i, i, 1)
	}
	if !new(mat.Cholesky).Factorize(scaled) {
		return fmt.Errorf("cosmic: Precision is not positive definite")
	}
	return nil
}

func validateVector(name, expected string, values []float64, size int) error {
	if len(values) != size {
		return fmt.Errorf("cosmic: got %s of %d values, want %s %d", name, len(values), expected, size)
	}
	for i, v := range values {
		if math.IsNaN(v) || math.IsInf(v, 0) {
			return fmt.Errorf("cosmic: %s[%d] is not finite: %v", name, i, v)
		}
	}
	return nil
}
