package changepoint

import (
	gocontext "context"
	"fmt"
	"math"
	"math/rand/v2"
	"sort"

	"github.com/transdim/vti/internal/apply"
	"github.com/transdim/vti/internal/stream"
	"github.com/transdim/vti/modelcheck"
	"gonum.org/v1/gonum/stat"
	"gonum.org/v1/gonum/stat/distuv"
)

func (post *Posterior) checkModel(ctx gocontext.Context, draws []draw, seed uint64) (*modelcheck.Report, error) {
	random := stream.Rand(seed, "model check")
	if post.moments != nil {
		return post.checkEvents(draws, random), ctx.Err()
	}
	p := post.problem
	in := modelcheck.RegressionInput{
		Kind:     modelcheck.Continuous,
		Response: modelcheck.Column{Name: p.Options.Value, Values: apply.To(p.y, func(y float64) float64 { return p.centre + p.scale*y })},
		Rows:     modelcheck.RowNames{Numbers: p.numbers, Unit: p.unit},
		Checked:  modelcheck.CheckedRows(len(p.y), modelcheck.MostChecked),
		Remedies: modelcheck.Remedies{
			HeavyTails: "--shortest 3, which keeps single rows from being segments", Overdispersion: "--model both",
			Counts: "--model rate", Curvature: "--model slope", Dependence: "vti order, which asks how rows depend on those before",
		},
	}
	if p.Options.Kind == Rate {
		in.Kind = modelcheck.Count
	}
	rows := in.Checked
	in.Draw = func(d int, mean, sd, replicate []float64) {
		one := draws[d*len(draws)/modelcheck.MinDraws]
		bounds := post.bounds(one.places)
		for at, j := 0, 0; at < len(rows); at++ {
			for bounds[j+1] <= rows[at] {
				j++
			}
			l := one.levels[j]
			mean[at] = p.centre + p.scale*(l.mean+l.slope*post.along(bounds[j], bounds[j+1], p.times[rows[at]]))
			sd[at] = p.scale * l.sd
			if in.Kind == modelcheck.Count {
				replicate[at] = distuv.Poisson{Lambda: l.mean, Src: random}.Rand()
			} else {
				replicate[at] = mean[at] + sd[at]*random.NormFloat64()
			}
		}
	}
	report, err := modelcheck.Regression(ctx, in)
	return &report, err
}

// checkEvents checks the assumption of a Poisson process. By the time-rescaling theorem the
// expected numbers of events between neighbouring events are then independent exponential
// variables.
func (post *Posterior) checkEvents(draws []draw, random *rand.Rand) *modelcheck.Report {
	const replicated = modelcheck.MinDraws
	n := len(post.problem.times)
	gaps, replicate := make([]float64, n-1), make([]float64, n-1)
	names := [2]string{"uneven events: gaps between events vary", "dependent events: gaps between events follow gaps of their kind, the correlation is"}
	var atLeast [2]int
	var statistic [2]float64
	for d := range replicated {
		post.rescale(draws[d*len(draws)/replicated], gaps)
		for i := range replicate {
			replicate[i] = random.ExpFloat64()
		}
		for s, f := range [2]func([]float64) float64{variation, dependence} {
			observed, other := f(gaps), f(replicate)
			statistic[s] += observed / replicated
			if math.Abs(other) >= math.Abs(observed) {
				atLeast[s]++
			}
		}
	}
	report := &modelcheck.Report{Findings: []modelcheck.Finding{}}
	p := [2]float64{float64(atLeast[0]+1) / (replicated + 1), float64(atLeast[1]+1) / (replicated + 1)}
	order := []int{0, 1}
	sort.Slice(order, func(a, b int) bool { return p[order[a]] < p[order[b]] })
	for rank, s := range order {
		if adjusted := p[s] * float64(2-rank); adjusted > modelcheck.Level { // Holm
			break
		}
		report.Verdict = modelcheck.Questionable
		report.Findings = append(report.Findings, modelcheck.Finding{
			What: fmt.Sprintf("%s %.2f", names[s], statistic[s]), Where: "column " + post.problem.Options.Time, Statistic: Number(statistic[s]),
			P: Number(p[s] * float64(2-rank)), Advice: "read rates as averages: events cluster, or repel each other, within segments", Verdict: modelcheck.Questionable,
		})
	}
	return report
}

// rescale writes the expected number of events, under a draw, between events i and i+1 to gaps[i].
func (post *Posterior) rescale(d draw, gaps []float64) {
	bounds := post.bounds(d.places)
	// cumulated returns the expected number of events up to a time.
	cumulated := func(time float64) float64 {
		total := 0.0
		for j, l := range d.levels {
			from, to := post.moments.times[bounds[j]], post.moments.times[bounds[j+1]]
			if time <= from {
				break
			}
			total += l.mean * (math.Min(time, to) - from)
		}
		return total
	}
	last := cumulated(post.problem.times[0])
	for i := range gaps {
		next := cumulated(post.problem.times[i+1])
		gaps[i], last = next-last, next
	}
}

// variation returns the log of the coefficient of variation of gaps, which is about 0 for
// exponential gaps.
func variation(gaps []float64) float64 {
	mean, variance := stat.PopMeanVariance(gaps, nil)
	return 0.5 * math.Log(variance/(mean*mean))
}

// dependence returns the correlation of 1 − exp(−gap) between neighbouring gaps.
func dependence(gaps []float64) float64 {
	u := apply.To(gaps, func(g float64) float64 { return -math.Expm1(-g) })
	mean, variance := stat.PopMeanVariance(u, nil)
	product := 0.0
	for i := 1; i < len(u); i++ {
		product += (u[i] - mean) * (u[i-1] - mean)
	}
	return product / (variance * float64(len(u)))
}
