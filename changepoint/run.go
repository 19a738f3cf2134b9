package changepoint

import (
	gocontext "context"
	"fmt"
	"strings"

	"gonum.org/v1/gonum/floats"

	"github.com/transdim/vti"
	"github.com/transdim/vti/internal/apply"
	"github.com/transdim/vti/internal/english"
	"github.com/transdim/vti/internal/stream"
	"github.com/transdim/vti/internal/verdict"
	"github.com/transdim/vti/run"
)

// RunConfig configures Run. The zero value is ready to use.
type RunConfig struct {
	// Seed is the seed of the draws. Probabilities are exact sums, and do not depend on it.
	Seed uint64
	// Dir is the run directory, which must exist; "" keeps no files.
	Dir string
	// Status, if not nil, is called with a description of the present step.
	Status func(string)
}

// Limits on the number of draws, and on the number of operations for all draws. The model check
// needs at least fewestDraws.
const (
	mostDraws      = 10_000
	fewestDraws    = 1000
	drawOperations = 400_000_000
)

// levelPoints is the number of times at which the figure shows the level of events.
const levelPoints = 400

// Run finds the exact posterior, draws from it, checks the model and writes the run directory.
func Run(ctx gocontext.Context, problem *Problem, cfg RunConfig) (*Result, error) {
	cfg.Status = run.Silent(cfg.Status)
	clock := run.NewClock()
	cfg.Status("summing over all numbers and places of changes")
	post, err := problem.Posterior(ctx)
	if err != nil {
		return nil, err
	}
	from, to := problem.window()
	o := problem.Options
	result := &Result{
		Head:        run.NewHead("changepoints", cfg.Seed, cfg.Dir),
		Data:        DataSummary{Rows: problem.Rows(), Time: o.Time, Value: o.Value, Model: o.Kind.String(), From: Number(from), To: Number(to)},
		LogEvidence: Number(post.LogEvidence), Expected: Number(post.Expected()), Certificate: post.certificate(),
	}
	result.Counts = apply.UpTo(len(post.Probabilities), func(k int) Count {
		return Count{k, Number(post.Probabilities[k]), Number(post.LogEvidences[k])}
	})
	for i, p := range post.Anywhere() {
		low, high := post.interval(i + 1)
		result.Curve = append(result.Curve, CurvePoint{Number(low), Number(high), Number(p)})
	}
	cfg.Status("drawing from the posterior")
	count := drawOperations / int((post.Expected()+1)*float64(post.places.places()+1))
	draws := post.sample(max(fewestDraws, min(mostDraws, count)), stream.Rand(cfg.Seed, "draws"))
	result.Given = post.summariseGiven(floats.MaxIdx(post.Probabilities), stream.Rand(cfg.Seed, "segments"))
	result.Levels = post.levels(draws)
	result.Answer = result.answer()
	if result.ModelCheck, err = post.checkModel(ctx, draws, cfg.Seed); err != nil {
		return nil, err
	}
	if err := post.writeDraws(cfg.Dir, draws, cfg.Seed); err != nil {
		return nil, err
	}
	result.Seconds = clock.Seconds()
	return result, result.write(cfg.Dir)
}

// If the largest number of changes that the prior allows has a probability above edgeMass, the
// verdict is doubtful, because larger numbers might be probable too.
const edgeMass = 0.01

func (post *Posterior) certificate() CertificateReport {
	j := verdict.Judge(verdict.Measured{})
	j.Limit(post.Error, verdict.DoubtfulEventSE, verdict.FailedEventSE, "quadrature leaves an error of %.2g in the probability of a number of changes")
	if last := post.Probabilities[len(post.Probabilities)-1]; last > edgeMass {
		j.Lower(vti.Doubtful, "the largest number of changes, %d, has probability %.2g: more are likely, allow them with --max-changes", len(post.Probabilities)-1, last)
	}
	return CertificateReport{Verdict: j.Verdict, Basis: vti.ExactSum, Error: Number(post.Error), Reasons: j.Reasons}
}

// answer returns the first line of the output: the number of changes, and their places.
func (r *Result) answer() string {
	none := float64(r.Counts[0].Probability)
	most := r.Counts[r.Given.Changes]
	where := apply.To(r.Given.Places, func(place Place) string { return fmt.Sprintf("%.6g", float64(place.Joint)) })
	if none >= 0.5 {
		return fmt.Sprintf("No change: %s stays the same with probability %.3f.", r.subject(), none)
	}
	text := fmt.Sprintf("Most probably %s (probability %.3f; no change at all %s)", english.Count(most.Changes, "change"), float64(most.Probability), small(none))
	if len(where) > 0 {
		text += ", together most likely at " + strings.TrimSpace(r.Data.Time+" "+strings.Join(where, ", "))
	}
	return text + "."
}

// small formats a probability that may be tiny.
func small(p float64) string {
	switch {
	case p < 1e-300:
		return "below 1e-300"
	case p < 0.0005:
		return fmt.Sprintf("%.1g", p)
	}
	return fmt.Sprintf("%.3f", p)
}

func (r *Result) subject() string {
	switch r.Data.Model {
	case Events.String():
		return "the rate"
	case Both.String():
		return "the level and variance of " + r.Data.Value
	}
	return "the " + r.Data.Model + " of " + r.Data.Value
}
