package rjmcmc

import (
	"fmt"

	"github.com/transdim/vti/internal/memory"
)

// checkSize returns an error if a run needs more memory than the machine has, on a space of the
// given size. Defaults must be filled in. The argument quadratics says whether each row holds a
// quadratic approximation of its model.
func (c Config) checkSize(sites, dim int, quadratics bool) error {
	const stream = 64 // bytes of a random stream with its source, and of the pointers to them
	state := 4*float64(sites) + 9*float64(dim)
	row := stream + 2*(state+24)
	if quadratics {
		row += 2 * 8 * float64(dim) * float64(dim+1)
	}
	chains := float64(c.Chains)
	rows := chains * float64(c.Temperatures)
	kept := chains * (state + 8) // bytes of the draws of an iteration
	if c.Temperatures > 1 {
		kept += 8 * rows
	}
	if err := memory.Check(fmt.Sprintf("rjmcmc: Chains %d with Temperatures %d", c.Chains, c.Temperatures), rows*row); err != nil {
		return err
	}
	subject := fmt.Sprintf("rjmcmc: keeping every %d-th of Iterations %d of Chains %d", c.Thin, c.Iterations, c.Chains)
	return memory.Check(subject, float64(c.Iterations/c.Thin)*kept)
}
