package run

import (
	"context"
	"math"
	"path/filepath"
	"time"

	"github.com/transdim/vti"
	"github.com/transdim/vti/gpu"
	"github.com/transdim/vti/internal/report"
	"github.com/transdim/vti/internal/rundir"
)

// Question is the question of a run to the engine.
type Question struct {
	// Fit configures training, as returned by [Training.Configure]. With FirstRound the engine
	// chooses the work ([vti.Solve]); without it trains for Steps and certifies once.
	Fit vti.Config
	// Untrained requests a certificate of the start of Fit, without training.
	Untrained bool
	Certify   vti.CertifyConfig
	// Precision, MaxTime and Status are the fields of [vti.SolveConfig].
	Precision float64
	MaxTime   time.Duration
	Status    func(text string)
	// Lacks is the field of [vti.SolveConfig].
	Lacks func(*vti.Certificate) string
	// Again certifies the checkpoint of an earlier run without training ([vti.Recertify]).
	Again bool
}

// Answer is the answer of the engine.
type Answer struct {
	Posterior   *vti.Posterior
	Certificate *vti.Certificate
	// Work is the work behind the answer; zero for a fixed amount of work.
	Work Work
}

// Work describes the work behind an answer, as in results.
type Work struct {
	// in order
	Rounds []Round `json:"rounds,omitempty"`
	// KL(p ‖ q) in nats, the distance of q alone; absent where the answer needs no draws of q
	Divergence *report.Number `json:"divergence,omitempty"`
	// how to improve an answer that misses the requested precision
	Advice string `json:"advice,omitempty"`
}

// Ask computes the answer, ends the training and marks the times on the clock.
func (t *Training) Ask(ctx context.Context, device *gpu.Device, target vti.Target, clock *Clock, q Question) (*Answer, error) {
	if q.Again {
		posterior, certificate, err := vti.Recertify(ctx, device, target, vti.SolveConfig{Fit: q.Fit, Certify: q.Certify, Precision: q.Precision})
		clock.Certified()
		return &Answer{Posterior: posterior, Certificate: certificate}, t.End(err)
	}
	if q.Fit.FirstRound == 0 {
		find := vti.Fit
		if q.Untrained {
			find = vti.Open
		}
		posterior, err := find(ctx, device, target, q.Fit)
		if err = t.End(err); err != nil {
			return nil, err
		}
		clock.Trained()
		certificate, err := posterior.Certify(ctx, q.Certify)
		clock.Certified()
		return &Answer{Posterior: posterior, Certificate: certificate}, err
	}
	solution, err := vti.Solve(ctx, device, target, vti.SolveConfig{
		Fit: q.Fit, Certify: q.Certify, Precision: q.Precision, MaxTime: q.MaxTime, Status: q.Status, Lacks: q.Lacks, Untrained: q.Untrained, AnswerOnly: true,
	})
	if err = t.End(err); err != nil {
		return nil, err
	}
	clock.Solved(solution.Training)
	work := Work{Advice: solution.Advice}
	if divergence := report.Number(solution.Divergence); !math.IsNaN(solution.Divergence) {
		work.Divergence = &divergence
	}
	for _, r := range solution.Rounds {
		work.Rounds = append(work.Rounds, roundOf(r))
	}
	if t.Checkpoint != "" {
		rows := report.Rows(work.Rounds, "work", "why", "steps", "full", "verdict", "khat", "ess", "draws", "shortage", "divergence")
		if err := rundir.WriteTables(filepath.Dir(t.Checkpoint), map[string][][]string{rundir.RoundsFile: rows}); err != nil {
			return nil, err
		}
	}
	return &Answer{solution.Posterior, solution.Certificate, work}, nil
}
