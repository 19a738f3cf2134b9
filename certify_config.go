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

// maxListed is the largest number of models that are evaluated one by one, in pilot runs and by
// default in certification. With leastDraws (32) draws of each model this takes two million draws.
const maxListed = 1 << 16

// CertifyConfig holds the numbers of draws and other limits of the work of Certify, and the choice
// of its checks. The zero value is a good default.
type CertifyConfig struct {
	// MaxModels is the largest number of models in a space whose models are weighted one by one; 0
	// stands for 65,536. In larger spaces models are drawn from q(m), and models and parameters are
	// weighted jointly.
	MaxModels int
	// Draws is the number of draws in addition to the first draws, an equal number for every model;
	// 0 stands for 262,144. Tempered chains, if needed, run for at most one iteration per 32 draws.
	Draws int
	// Tolerance is the standard error at which drawing stops early: when no probability of a model
	// has a larger standard error, and no log evidence of the ten most probable models has a
	// standard error above five times Tolerance. 0 stands for 0.002.
	Tolerance float64
	// Confirm requests a check of weights by tempered chains even if the weights look reliable. It
	// should be set for posteriors that may have several modes, because weights cannot show a mode
	// where no draw fell. Solve sets it unless the target is a UnimodalTarget.
	Confirm bool
	// NoChains requests certification by weights alone, for targets on which chains do not work.
	NoChains bool
	// Short lets chains end after about a thousand effective draws if the weights are trusted
	// without chains and agree with the chains. Otherwise chains have their full length. It suits
	// posteriors of a kind known from experience, because short chains find fewer modes.
	Short bool
	// Until, if not zero, is the time after which a sum over models starts no further rounds of
	// draws, even if it is imprecise.
	Until time.Time
	// Progress, if not nil, is called at intervals with the number of draws done and an upper bound
	// of the total number.
	Progress func(done, total int)
	// Shard, if not nil, says which part of the work this process does, if several processes
	// compute a certificate together. Each process ends with the same certificate, to the bit, as a
	// process that works alone.
	Shard *shard.Shard
	// ChainGroups is the number of groups of tempered chains; 0 stands for 1. Each group has its
	// own burn-in, so that several groups can run at the same time.
	ChainGroups int

	// Solve sets the following fields. stream is the prefix of the names of the random streams,
	// "certify" by default.
	stream string
	// precision, if not 0, is the requested standard error of probabilities: drawing ends when no
	// probability has a larger standard error.
	precision float64
	// preliminary requests a certificate of few draws. If q(m) is a table, it is set to the result.
	preliminary bool
	// birthsNext says that birth-death chains will follow if weights are not good enough.
	birthsNext bool
	// late, if not nil, reports whether the time is over, which ends a certificate of few draws.
	late func() bool
	// keepModels leaves q(m) unchanged, even where a preliminary certificate or chains over models
	// alone would set it.
	keepModels bool
	// byDraws requests weights of draws from q even if evidences can be found without q.
	byDraws bool
	// witnesses holds points with posterior mass that earlier certificates of the target found.
	witnesses witnesses
}

// lists reports whether the models of a space are weighted one by one.
func (c CertifyConfig) lists(sp space.Space) bool {
	count, ok := space.CountModels(sp)
	return ok && count <= c.MaxModels
}

// overModels returns the settings for package models, which certifies by evidences of models,
// without draws of the flow.
func (c CertifyConfig) overModels() models.Config {
	return models.Config{
		Stream: c.stream, Draws: c.Draws, Precision: c.precision, Preliminary: c.preliminary, KeepModels: c.keepModels, BirthsNext: c.birthsNext,
		Late: c.late, Progress: c.Progress,
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

// CheckSize returns an error if the draws and models of a certification do not fit in the memory of
// this machine. Certify calls it. A caller that trains first can call it before training.
func (c CertifyConfig) CheckSize(target Target) error {
	c = c.withDefaults()
	if c.Draws < 0 || c.MaxModels < 0 {
		return fmt.Errorf("vti.CertifyConfig: got %d draws and at most %d models, want none of them negative", c.Draws, c.MaxModels)
	}
	sp := target.Space()
	draw := 8 * (3 + 5) // bytes of the slice header of a code, both log densities, weights and the number of the model
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
