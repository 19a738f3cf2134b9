package vti

import (
	"fmt"
	"time"

	"github.com/transdim/vti/internal/budget"
	"github.com/transdim/vti/internal/memory"
	"github.com/transdim/vti/models"
	"github.com/transdim/vti/shard"
	"github.com/transdim/vti/space"
)

// maxListed is the largest space whose models are evaluated one by one, in pilot runs and by
// default in certification. Chosen by hand: at leastDraws of each, two million draws.
const maxListed = 1 << 16

// CertifyConfig says how much work certification may do. The zero value is a good default.
type CertifyConfig struct {
	// MaxModels is the largest space whose models are weighted one by one; 0 stands for 65,536.
	// Larger spaces are weighted jointly, with models drawn from q(m).
	MaxModels int
	// Draws is the number of draws spent beyond the first few of every model; 0 stands for
	// 262,144. Chains, if it comes to them, take at most one iteration for 32 draws.
	Draws int
	// Tolerance stops early when the standard errors of the ten best models' log evidences and of
	// every model's probability are below it; 0 stands for 0.002.
	Tolerance float64
	// Confirm checks weights by tempered chains (chains.go) even if they look reliable:
	// right for posteriors that may have several modes, since weights cannot show a mode where no
	// draw fell. Solve sets it unless the target is a UnimodalTarget.
	Confirm bool
	// NoChains makes weights the whole certificate, where chains over models and parameters are out
	// of the question.
	NoChains bool
	// Short lets chains end after some thousand effective draws if the weights are trusted on their
	// own and agree with the chains; otherwise chains have full length. It is for data sets of a
	// kind whose posteriors are known from experience: short chains find fewer modes.
	Short bool
	// Until, if not zero, is when no more draws are begun for a sum over models that is not precise
	// yet.
	Until time.Time
	// Progress, if not nil, is called as draws accumulate, with the number expected in all (an
	// upper bound).
	Progress func(done, total int)
	// Shard, if not nil, is the part of this process among several that make one certificate: each
	// of them ends with that of one process alone, to the bit.
	Shard *shard.Shard
	// ChainGroups is the number of groups of tempered chains, if it comes to them; 0 stands for 1.
	// Each group burns in by itself, so that more of them can run at the same time.
	ChainGroups int

	// What Solve asks for. stream begins the names of the random streams; "" stands for "certify".
	stream string
	// precision, if not 0, is the standard error of every probability at which draws are enough.
	precision float64
	// glance asks for a certificate of few draws, and sets q(m) to what it finds where that is a
	// table.
	glance bool
	// late, if not nil, reports whether the time is over: a certificate of few draws then ends with
	// what it has.
	late func() bool
	// keepModels leaves q(m) as it is even so, and where parameters integrate out.
	keepModels bool
	// byDraws asks for weights of q even where evidences are known or estimated without it.
	byDraws bool
	// witnesses are what earlier certificates of the same target have found.
	witnesses witnesses
}

// overModels is what it asks of a certificate over models alone.
func (c CertifyConfig) overModels() models.Config {
	return models.Config{
		Stream: c.stream, Draws: c.Draws, Precision: c.precision, Glance: c.glance, KeepModels: c.keepModels, Late: c.late, Progress: c.Progress,
	}
}

func (c CertifyConfig) withDefaults() CertifyConfig {
	setDefault(&c.MaxModels, maxListed)
	setDefault(&c.Draws, 1<<18)
	setDefault(&c.Tolerance, 0.002)
	setDefault(&c.stream, "certify")
	if until := c.Until; !until.IsZero() {
		c.late = func() bool { return budget.Passed(until) }
	}
	return c
}

// CheckSize refuses numbers of draws and models that do not fit in the memory of this machine, for
// the posterior of a target. Certify calls it; callers that train first can call it before.
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
