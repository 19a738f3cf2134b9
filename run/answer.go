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

// Question holds the settings of the training and the certificates of a run.
type Question struct {
	// Fit configures training, as returned by [Training.Configure]. If its field FirstRound is set,
	// [vti.Solve] chooses the amount of work. If FirstRound is 0, the run trains for Fit.Steps
	// steps and certifies once.
	Fit vti.Config
	// Untrained requests a certificate of the starting point of Fit, without training.
	Untrained bool
	// Certify configures certificates.
	Certify vti.CertifyConfig
	// Precision, MaxTime and Status are the fields of [vti.SolveConfig] with these names.
	Precision float64
	MaxTime   time.Duration
	Status    func(text string)
	// Lacks is the field of [vti.SolveConfig] with this name.
	Lacks func(*vti.Certificate) string
	// Again requests a new certificate of the checkpoint that an earlier run has left, without
	// further training ([vti.Recertify]).
	Again bool
}

// Answer is the answer to a Question.
type Answer struct {
	// Posterior is the trained approximation, and Certificate the certified posterior.
	Posterior   *vti.Posterior
	Certificate *vti.Certificate
	// Work describes the work behind the answer. It is zero if the amount of work was fixed.
	Work Work
}

// Work describes the work behind an answer, in the form in which results store it.
type Work struct {
	// Rounds holds the rounds of vti.Solve in order.
	Rounds []Round `json:"rounds,omitempty"`
	// Divergence is the Kullback–Leibler divergence KL(p ‖ q), in nats, between the posterior p and
	// the approximation q that importance weights correct. It is absent if the answer comes from a
	// sum or integral without draws of q.
	Divergence *report.Number `json:"divergence,omitempty"`
	// Advice is a text on how to improve an answer that is not trusted or misses the requested
	// precision.
	Advice string `json:"advice,omitempty"`
}

// Ask computes the answer to the question q, closes the trace (Training.End) and records on clock
// when training and certification ended.
func (t *Training) Ask(ctx context.Context, device *gpu.Device, target vti.Target, clock *Clock, q Question) (*Answer, error) {
	if q.Again {
		posterior, certificate, err := vti.Recertify(ctx, device, target, vti.SolveConfig{Fit: q.Fit, Certify: q.Certify, Precision: q.Precision, AnswerOnly: true})
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
