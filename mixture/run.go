package mixture

import (
	gocontext "context"
	"fmt"
	"math"
	"slices"

	"github.com/transdim/vti"
	"github.com/transdim/vti/internal/english"
	"github.com/transdim/vti/internal/verdict"
	"github.com/transdim/vti/run"
)

// RunConfig configures Run. The zero value is ready to use.
type RunConfig struct {
	// Sample sets the length of sampling.
	Sample SampleConfig
	// Dir is the run directory, which must exist; "" keeps no files.
	Dir string
}

// Run samples the posterior by two methods, compares them, checks the model and writes files.
func Run(ctx gocontext.Context, problem *Problem, cfg RunConfig) (*Result, error) {
	clock := run.NewClock()
	s, err := problem.Sample(ctx, cfg.Sample)
	if err != nil {
		return nil, err
	}
	probability, se := s.combined()
	o, most := problem.Options, 0
	result := &Result{
		Head: run.NewHead("mixture", cfg.Sample.Seed, cfg.Dir), Certificate: s.certificate(),
		Data: DataSummary{problem.Rows(), o.Columns, o.Family.String()},
	}
	for k, p := range probability {
		result.Counts = append(result.Counts, Count{
			Components: k + 1, Probability: Number(p), SE: Number(se[k]),
			Jumps: Number(s.jumping.probability[k]), Partitions: Number(s.cluster.probability[k]), Occupied: Number(s.occupied[k]),
		})
		result.Expected += Number(float64(k+1) * p)
		if p > probability[most] {
			most = k
		}
	}
	result.Density = s.densities()
	result.Given, result.Rows = s.summariseGiven(most + 1)
	result.Answer = result.answer()
	if result.Certificate.Verdict != vti.Failed {
		result.ModelCheck = s.checkModel(cfg.Sample.Seed)
	}
	if err := s.writeDraws(cfg.Dir, cfg.Sample.Seed); err != nil {
		return nil, err
	}
	result.Seconds = clock.Seconds()
	return result, result.write(cfg.Dir)
}

// farApart is the difference between the two methods, in standard errors, above which the verdict
// is doubtful. The largest of a dozen standard normal numbers exceeds it in 1 of 12,000 runs.
// Standard errors, which come from the means of few rounds, are only accurate to a tenth. None of
// 160 answers on simulated tables has a larger difference (docs/benchmarks/constants.md).
const farApart = 4.5

// certificate returns the verdict on the computation. It judges the mixing of both methods and
// whether they agree.
func (s *Sample) certificate() CertificateReport {
	_, se := s.combined()
	largest := slices.Max(se)
	j := verdict.Judge(verdict.Measured{
		Chains: &verdict.Chains{RHat: math.Max(s.jumping.rHat, s.cluster.rHat)},
		ESS:    math.Min(s.jumping.ess, s.cluster.ess), Draws: samplers * s.Sweeps / traceEvery, Event: "a number of components'", EventSE: largest,
	})
	sigmas, at := s.disagreement()
	if sigmas > farApart {
		j.Lower(vti.Doubtful, "reversible jump and partitions differ by %.1f standard errors in the probability of %s", sigmas, english.Count(at, "component"))
	}
	s.judgeQuestion(j)
	return CertificateReport{
		Verdict: j.Verdict, Basis: vti.Chains, Jumps: s.jumping.report(samplers, s.Sweeps), Partitions: s.cluster.report(samplers, s.Sweeps),
		Difference: Number(sigmas), LargestSE: Number(largest), Reasons: j.Reasons,
	}
}

// judgeQuestion lowers the verdict where the table, or the limit on the number of components, makes
// the answer doubtful even without sampling errors.
func (s *Sample) judgeQuestion(j *verdict.Judgement) {
	if last := len(s.jumping.probability) - 1; s.jumping.probability[last] > 0.01 {
		j.Lower(vti.Doubtful, "the largest number of components, %d, has probability %.2g: more are likely, allow them with --max-components", last+1, s.jumping.probability[last])
	}
	spikes := s.spiked()
	if spikes.share <= spikeShare {
		return
	}
	level, bound := vti.Doubtful, "its density is bounded by the prior alone"
	if spikes.infinite {
		bound = "narrower ones have ever more density, without a bound, and more draws are no help"
	}
	if spikes.hopeless() {
		level = vti.Failed
	}
	value, rows := spikes.ties.most()
	j.Lower(level, "%s has equal values (%.4g in %s), and with probability %.2g a component describes nothing else: %s; give values that are not rounded, or leave out those that stand for something else",
		spikes.column.name, spikes.column.value(value), english.Count(rows, "row"), spikes.share, bound)
}

func (e *estimate) report(samplers, sweeps int) MethodReport {
	return MethodReport{samplers, sweeps, Number(e.rHat), Number(e.ess), Number(e.largest())}
}

// answer returns the first line of the output: the number of components.
func (r *Result) answer() string {
	most := r.Counts[r.Given.Components-1]
	// Extend an interval around the most probable number until its probability is 95 percent.
	low, high, mass := most.Components, most.Components, float64(most.Probability)
	for mass < 0.95 {
		below, above := -1.0, -1.0
		if low > 1 {
			below = float64(r.Counts[low-2].Probability)
		}
		if high < len(r.Counts) {
			above = float64(r.Counts[high].Probability)
		}
		if below < 0 && above < 0 {
			break
		}
		if below >= above {
			low--
			mass += below
		} else {
			high++
			mass += above
		}
	}
	text := fmt.Sprintf("Most probably %s (probability %.3f)", english.Count(most.Components, "component"), float64(most.Probability))
	if high > low {
		text += fmt.Sprintf("; %d to %d with probability %.2f", low, high, mass)
	}
	if most.Components == 1 {
		return text + "."
	}
	one := fmt.Sprintf("%.2g", float64(r.Counts[0].Probability))
	if r.Counts[0].Probability < 1e-5 { // too small to be estimated from this number of draws
		one = "below 1e-5"
	}
	return text + "; one alone: " + one + "."
}
