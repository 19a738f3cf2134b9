package query

import (
	gocontext "context"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/stat"

	dgraph "github.com/transdim/vti/dag/graph"
	"github.com/transdim/vti/dag/score"
	"github.com/transdim/vti/internal/apply"
	"github.com/transdim/vti/internal/logsum"
	"github.com/transdim/vti/internal/report"
)

// Answer is the answer of a run to a [Query], averaged over graphs and parameters.
type Answer struct {
	// Schema names the schema of the object, with its version. RunDir is the directory of the run,
	// Query the text of the query and Target the node whose distribution is asked for. Verdict says
	// how far the answer of the run can be trusted.
	Schema  string `json:"schema"`
	RunDir  string `json:"run_dir"`
	Query   string `json:"query"`
	Target  string `json:"target"`
	Verdict string `json:"verdict"`
	// Draws is the number of draws of graphs with parameters, and Graphs the number of different
	// graphs among them. The draws are weighted by the probability of the observations in the
	// query, and Effective is their effective number with these weights.
	Draws     int           `json:"draws"`
	Graphs    int           `json:"graphs"`
	Effective report.Number `json:"effective_draws"`
	// Probabilities holds the answer about probabilities, with one entry for each value asked for.
	Probabilities []ProbabilityAnswer `json:"probabilities,omitempty"`
	// Expectation is the answer about a mean; nil for probabilities.
	Expectation *ExpectationAnswer `json:"expectation,omitempty"`
	// Notes states why the answer may be uncertain or limited.
	Notes []string `json:"notes,omitempty"`
}

// ProbabilityAnswer is the probability that the node has a value, or that it is above or below a
// value.
type ProbabilityAnswer struct {
	// Value is the level, or < or > with a number.
	Value string `json:"value"`
	// Prob is the probability for a new row. Graphs and parameters are weighted by their posterior
	// probability given the table and the observations in this row. SE is the Monte Carlo standard
	// error of Prob.
	Prob report.Number `json:"prob"`
	SE   report.Number `json:"prob_se"`
	Spread
}

// ExpectationAnswer is the answer about the mean of a node.
type ExpectationAnswer struct {
	// Mean is the mean for a new row, with the weights described in ProbabilityAnswer, and SE its
	// Monte Carlo standard error. PredictiveSD is the standard deviation of the value in a new row,
	// and PredictiveQ05 and PredictiveQ95 are the ends of its central 90% interval.
	Mean          report.Number `json:"expected"`
	SE            report.Number `json:"expected_se"`
	PredictiveSD  report.Number `json:"predictive_sd"`
	PredictiveQ05 report.Number `json:"predictive_q05"`
	PredictiveQ95 report.Number `json:"predictive_q95"`
	Spread
}

// Spread is the uncertainty of a probability or a mean: its posterior mean, standard deviation and
// central 90% interval over graphs and parameters given the table. SDGraphs is the part of the
// standard deviation that is between graphs. SDGraphs is null if no graph was drawn twice.
type Spread struct {
	PosteriorMean report.Number `json:"posterior_mean"`
	SD            report.Number `json:"posterior_sd"`
	SDGraphs      report.Number `json:"posterior_sd_between_graphs"`
	Q05           report.Number `json:"posterior_q05"`
	Q95           report.Number `json:"posterior_q95"`
}

// rareEvidence is the number of effective draws below which an answer has a note that it is
// uncertain. With fewer draws the error of a mean exceeds a tenth of a standard deviation.
const rareEvidence = 100

// Ask answers a query from draws of graphs with parameters. The argument independent is the
// effective number of the draws.
func Ask(p *score.Problem, ctx gocontext.Context, text string, d score.Sample, independent float64, random *rand.Rand) (*Answer, error) {
	q, err := ParseQuery(text)
	if err != nil {
		return nil, err
	}
	r, err := resolve(p, q)
	if err != nil {
		return nil, err
	}
	a := &Answer{Schema: "vti/query/1", Query: text, Target: p.Data.Names[r.target], Draws: len(d.Parents), Graphs: len(d.Count())}
	if err := answerQuery(p, ctx, a, r, d, independent, random); err != nil {
		return nil, err
	}
	if a.Effective < rareEvidence {
		a.Notes = append(a.Notes, fmt.Sprintf("what is observed is improbable under most graphs and parameters: the answer rests on %.0f effective draws", float64(a.Effective)))
	}
	return a, nil
}

func answerQuery(p *score.Problem, ctx gocontext.Context, a *Answer, r resolvedQuery, d score.Sample, independent float64, random *rand.Rand) error {
	answerer := newAnswerer(p, r)
	answers := make([]conditional, len(d.Parents))
	for k := range d.Parents {
		if err := ctx.Err(); err != nil {
			return fmt.Errorf("stopped: %w", err)
		}
		var err error
		if answers[k], err = answerer.under(d.Parents[k], d.Thetas[k], random); err != nil {
			return err
		}
	}
	weights := apply.To(answers, func(one conditional) float64 { return one.logEvidence })
	if math.IsInf(floats.Max(weights), -1) {
		return fmt.Errorf("what is observed has no probability under any graph")
	}
	logsum.Shares(weights)
	a.Effective = report.Number(independent / floats.Dot(weights, weights) / float64(len(answers)))
	graphs := graphNumbers(d)
	if p.Data.Category(r.target) {
		for level, name := range p.Data.Levels[r.target] {
			if r.sign != "" && level != int(r.value) {
				continue
			}
			means, spread := make([]float64, len(answers)), make([]float64, len(answers))
			for k, one := range answers {
				means[k], spread[k] = one.mean[level], one.drawn[level]
			}
			mean, se := weightedMean(means, weights, independent)
			a.Probabilities = append(a.Probabilities, ProbabilityAnswer{name, mean, se, spreadOf(spread, graphs)})
		}
		return nil
	}
	answerNumbers(a, r, answers, weights, graphs, independent)
	return nil
}

// conditional is the distribution of the target for one graph, given observations and
// interventions.
type conditional struct {
	logEvidence float64 // log probability or density of the observations
	// For a categorical node both lists hold the probabilities of its levels. Field mean uses the
	// posterior means of the tables of conditional probabilities, and field drawn uses tables drawn
	// from their posterior. For a numeric node, mean holds the mean, and drawn is nil.
	mean, drawn []float64
	sd          float64         // standard deviation of a number
	rows        []score.Outcome // distributions in the simulated rows, for mixed tables
}

// below returns the probability that a number times sign, 1 or −1, is at most x times sign.
func (c *conditional) below(x, sign float64) (p float64) {
	if c.rows == nil {
		return normalBelow(sign*x, sign*c.mean[0], c.sd)
	}
	for _, row := range c.rows {
		p += row.Weight * normalBelow(sign*x, sign*row.Mean, row.SD)
	}
	return p
}

// answerer answers a query for one graph with its parameters.
type answerer interface {
	under(parents []dgraph.Set, theta [][]float64, random *rand.Rand) (conditional, error)
}

func newAnswerer(p *score.Problem, r resolvedQuery) answerer {
	switch {
	case p.Model.Mechanism.ByColumns():
		return newGivenMixed(p, r)
	case p.Data.Discrete():
		return newGivenLevels(p, r)
	}
	return newGivenNumbers(p, r)
}

// graphNumbers numbers the different graphs among draws, and returns each draw's number.
func graphNumbers(d score.Sample) (numbers []int) {
	place := map[string]int{}
	for _, parents := range d.Parents {
		key := fmt.Sprint(parents)
		at, seen := place[key]
		if !seen {
			at = len(place)
			place[key] = at
		}
		numbers = append(numbers, at)
	}
	return numbers
}

// weightedMean returns Σ w x for weights w that add up to one, and its standard error. The argument
// independent is the effective number of draws before weighting.
func weightedMean(x, weights []float64, independent float64) (mean, se report.Number) {
	sum, squares := floats.Dot(weights, x), 0.0
	for k, w := range weights {
		squares += dgraph.Square(w * (x[k] - sum))
	}
	return report.Number(sum), report.Number(math.Sqrt(squares * float64(len(x)) / independent))
}

// spreadOf summarises values over draws; graphs holds a number for the graph of each draw.
func spreadOf(values []float64, graphs []int) (s Spread) {
	sums, counts := make([]float64, len(values)), make([]float64, len(values))
	for k, g := range graphs {
		sums[g] += values[k]
		counts[g]++
	}
	mean, variance := stat.PopMeanVariance(values, nil)
	between := 0.0
	for g, count := range counts {
		if count > 0 {
			between += count * dgraph.Square(sums[g]/count-mean) / float64(len(values))
		}
	}
	// The means of the values by graph differ by chance too, because each mean is over few draws.
	// This part of the variance follows from the variance within graphs, and is subtracted.
	within, degrees, different := 0.0, 0.0, 0.0
	for k, g := range graphs {
		within += dgraph.Square(values[k] - sums[g]/counts[g])
	}
	for _, count := range counts {
		if count > 0 {
			degrees += count - 1
			different++
		}
	}
	between -= within / degrees * different / float64(len(values)) // NaN where no graph was drawn twice
	sorted := slices.Sorted(slices.Values(values))
	return Spread{
		PosteriorMean: report.Number(mean), SD: report.Number(math.Sqrt(variance)), SDGraphs: report.Number(math.Sqrt(math.Max(between, 0))),
		Q05: report.Number(stat.Quantile(0.05, stat.Empirical, sorted, nil)), Q95: report.Number(stat.Quantile(0.95, stat.Empirical, sorted, nil)),
	}
}
