package order

import (
	gocontext "context"
	"errors"
	"fmt"
	"strings"

	"github.com/transdim/vti"
	"github.com/transdim/vti/internal/apply"
	"github.com/transdim/vti/internal/english"
	"github.com/transdim/vti/internal/stream"
	"github.com/transdim/vti/internal/verdict"
	"github.com/transdim/vti/modelcheck"
	"github.com/transdim/vti/run"
)

// RunConfig configures Run. The zero value is ready to use.
type RunConfig struct {
	// Seed is the random seed of the draws. Probabilities of orders do not depend on it.
	Seed uint64
	// Dir is the run directory, which must exist; "" keeps no files.
	Dir string
}

// drawn is the number of draws. Means over the draws have errors of a hundredth of a posterior
// standard deviation.
const drawn = 10_000

// largestShare is the largest probability that the largest order, MaxOrder, may have in a trusted
// answer. With a larger probability, still larger orders might be probable too.
const largestShare = 0.1

// Run sums over all models, draws from the posterior, checks the model and writes the files of the
// run.
func Run(ctx gocontext.Context, problem *Problem, cfg RunConfig) (*Result, error) {
	clock := run.NewClock()
	o := problem.Options
	post, err := problem.posterior(ctx, drawn, stream.Rand(cfg.Seed, "draws"))
	if errors.Is(err, errExact) {
		return nil, &run.Unanswerable{Err: fmt.Errorf("%s: column %q: %w", problem.Path, o.Value, err)}
	}
	if err != nil {
		return nil, err
	}
	j := verdict.Judge(verdict.Measured{})
	if last := post.orders[len(post.orders)-1]; last.Probability > largestShare {
		j.Lower(vti.Doubtful, "the largest order, %d, has probability %.2g: larger ones are likely, allow them with --max-order", last.Order, float64(last.Probability))
	}
	r := &Result{
		Head:        run.NewHead("order", cfg.Seed, cfg.Dir),
		Data:        DataSummary{problem.Rows(), o.Value, o.Time, o.Kind.String()},
		Certificate: CertificateReport{Verdict: j.Verdict, Basis: vti.ExactSum, Reasons: j.Reasons},
		Orders:      post.orders,
	}
	if o.UnitRoot > 0 {
		r.UnitRoot = new(Number(post.unitRoot))
	}
	if post.knots != nil {
		r.Knots = apply.UpTo(len(problem.knots.places), func(j int) Knot {
			return Knot{Number(problem.knots.places[j]), Number(post.knots.inclusion[j])}
		})
	}
	if o.Kind != Autoregression {
		r.Curve = post.curve()
	}
	r.Coefficients = post.coefficients()
	r.Answer = post.answer()
	if r.ModelCheck, err = post.checkModel(ctx, cfg.Seed); err != nil {
		return nil, err
	}
	if err := post.writeDraws(cfg); err != nil {
		return nil, err
	}
	r.Seconds = clock.Seconds()
	return r, r.write(cfg.Dir)
}

// answer returns the first line of the output, a sentence on the most probable order.
func (post *posterior) answer() string {
	most := post.orders[post.most()]
	share, none := float64(most.Probability), float64(post.orders[0].Probability)
	switch post.problem.Options.Kind {
	case Polynomial:
		if most.Order == 0 {
			return fmt.Sprintf("Most probably a constant (probability %.3f).", share)
		}
		return fmt.Sprintf("Most probably a polynomial of degree %d (probability %.3f); a constant: %.2g.", most.Order, share, none)
	case Spline:
		places := apply.To(most.Knots, func(knot Number) string { return fmt.Sprintf("%.6g", float64(knot)) })
		if most.Order == 0 {
			return fmt.Sprintf("Most probably no knot (probability %.3f).", share)
		}
		where := ""
		if len(places) > 0 {
			where = ", together most likely at " + post.problem.Options.Time + " " + strings.Join(places, ", ")
		}
		return fmt.Sprintf("Most probably %s (probability %.3f; none: %.2g)%s.", english.Count(most.Order, "knot"), share, none, where)
	}
	text := fmt.Sprintf("Most probably order %d (probability %.3f); order 0, no dependence at all: %.2g", most.Order, share, none)
	if most.Order == 0 {
		text = fmt.Sprintf("Most probably order 0, no dependence at all (probability %.3f)", share)
	}
	if post.problem.Options.UnitRoot > 0 {
		text += fmt.Sprintf("; a unit root: %.3g", post.unitRoot)
	}
	return text + "."
}

func (post *posterior) coefficients() (rows []Coefficient) {
	p, most := post.problem, post.most()
	levels := apply.To(post.draws, p.ofLevels)
	collect := func(name string, value func(d draw) float64, has int) {
		var all, present []float64
		for _, d := range levels {
			all = append(all, value(d))
			if d.fit.order == most && has <= most {
				present = append(present, value(d))
			}
		}
		rows = append(rows, coefficient(name, all, present))
	}
	collect("mean at the means of the columns", func(d draw) float64 { return d.intercept }, 0)
	if p.knots == nil {
		for j, name := range p.levels.names {
			collect(name, func(d draw) float64 {
				if j < len(d.coefficients) {
					return d.coefficients[j]
				}
				return 0
			}, j+1)
		}
	}
	collect("sigma", func(d draw) float64 { return d.sigma }, 0)
	return rows
}

func (post *posterior) checkModel(ctx gocontext.Context, seed uint64) (*modelcheck.Report, error) {
	p, random := post.problem, stream.Rand(seed, "model check")
	in := modelcheck.RegressionInput{
		Kind: modelcheck.Continuous, Response: modelcheck.Column{Name: p.Options.Value, Values: p.levels.y},
		Rows:     modelcheck.RowNames{Numbers: p.numbers, Unit: p.unit},
		Checked:  modelcheck.CheckedRows(p.Rows(), modelcheck.MostChecked),
		Remedies: modelcheck.Remedies{Dependence: "a larger --max-order, or vti changepoints", Curvature: "--model spline"},
	}
	in.Draw = func(d int, mean, sd, replicate []float64) {
		one := post.draws[d*len(post.draws)/modelcheck.MinDraws]
		for k, i := range in.Checked {
			mean[k] = one.intercept
			for c, j := range one.fit.columns {
				mean[k] += one.coefficients[c] * one.fit.design.x.At(i, j)
			}
			if one.fit.unitRoot { // the response is a difference: add the previous level to its mean
				mean[k] += p.levels.y[i] - one.fit.design.y[i]
			}
			sd[k] = one.sigma
			replicate[k] = mean[k] + sd[k]*random.NormFloat64()
		}
	}
	report, err := modelcheck.Regression(ctx, in)
	return &report, err
}
