package vti

import (
	"cmp"
	"fmt"
	"time"

	"github.com/transdim/vti/internal/budget"
	"github.com/transdim/vti/internal/memory"
	"github.com/transdim/vti/models"
	"github.com/transdim/vti/shard"
	"github.com/transdim/vti/space"
)

// maxListed is the largest space whose models are evaluated one by one, in pilot runs and by
// default in certification: leastDraws of each model make two million draws.
const maxListed = 1 << 16

// CertifyConfig limits the work of a certification. The zero value is a good default.
type CertifyConfig struct {
	// MaxModels is the largest space whose models are weighted one by one; 0 stands for 65,536.
	// Larger spaces are weighted jointly, with models drawn from q(m).
	MaxModels int
	// Draws is the number of draws beyond the first few of every model; 0 stands for 262,144.
	// Chains, if needed, take at most one iteration for 32 draws.
	Draws int
	// Tolerance stops early: the standard errors of every probability and of the log evidences of
	// the ten best models are then below it. 0 stands for 0.002.
	Tolerance float64
	// Confirm checks weights by tempered chains (chains.go) even if they look reliable. It is right
	// for posteriors that may have several modes: weights cannot show a mode where no draw fell.
	// Solve sets it unless the target is a UnimodalTarget.
	Confirm bool
	// NoChains certifies by weights alone, for targets on which chains cannot work.
	NoChains bool
	// Short lets chains end after some thousand effective draws if the weights are trusted by
	// themselves and agree with the chains; otherwise chains have full length. It suits data sets
	// whose kind of posterior is known from experience: short chains find fewer modes.
	Short bool
	// Until, if not zero, is the time after which an imprecise sum over models begins no more
	// draws.
	Until time.Time
	// Progress, if not nil, is called as draws accumulate, with an upper bound of their total.
	Progress func(done, total int)
	// Shard, if not nil, is the part of this process among several that make one certificate. Each
	// ends with the certificate of a single process, to the bit.
	Shard *shard.Shard
	// ChainGroups is the number of groups of tempered chains; 0 stands for 1. Each group burns in
	// by itself, so that several can run at the same time.
	ChainGroups int

	// Solve sets the following fields. stream, "certify" by default, begins the stream names.
	stream string
	// precision, if not 0, is the standard error of every probability at which draws end.
	precision float64
	// glance asks for a certificate of few draws. It sets a table q(m) to the resulting estimates.
	glance bool
	// late, if not nil, reports whether the time is over, which ends a certificate of few draws.
	late func() bool
	// keepModels leaves q(m) unchanged, even at a glance and where parameters integrate out.
	keepModels bool
	// byDraws asks for weights of q even if evidences are known or estimated without it.
	byDraws bool
	// witnesses come from earlier certificates of the same target.
	witnesses witnesses
}

// overModels returns the settings of a certificate over models alone.
func (c CertifyConfig) overModels() models.Config {
	return models.Config{
		Stream: c.stream, Draws: c.Draws, Precision: c.precision, Glance: c.glance, KeepModels: c.keepModels, Late: c.late, Progress: c.Progress,
	}
}

func (c CertifyConfig) withDefaults() CertifyConfig {
	c.MaxModels = cmp.Or(c.MaxModels, maxListed)
	c.Draws = cmp.Or(c.Draws, 1<<18)
	c.Tolerance = cmp.Or(c.Tolerance, 0.002)
	c.stream = cmp.Or(c.stream, "certify")
	if until := c.Until; !until.IsZero() {
		c.late = func() bool { return budget.Passed(until) }
	}
	return c
}

// CheckSize returns an error if the draws and models do not fit in the memory of this machine.
// Certify calls it; a caller that trains first can call it before.
func (c CertifyConfig) CheckSize(target Target) error {
	c = c.withDefaults()
	if c.Draws < 0 || c.MaxModels < 0 {
		return fmt.Errorf("vti.CertifyConfig: got %d draws and at most %d models, want none of them negative", c.Draws, c.MaxModels)
	}
	sp := target.Space()
	draw := 8 * (3 + 5) // the slice of a code, both densities, weights and the number of the model
	if known := knownOf(target).Evidences; known == nil || !known.Exact() {
		draw += 8 * sp.Dim()
	}
	if err := memory.Check(fmt.Sprintf("vti.CertifyConfig: Draws %d", c.Draws), float64(c.Draws)*float64(draw)); err != nil {
		return err
	}
	count, ok := space.Count(sp)
	if !ok || count > c.MaxModels {
		return nil
	}
	model := 8*11 + 4*len(sp.Cards()) // a ModelEstimate and its code
	return memory.Check(fmt.Sprintf("vti.CertifyConfig: MaxModels %d, which lists %d models,", c.MaxModels, count), float64(count)*float64(model))
}
