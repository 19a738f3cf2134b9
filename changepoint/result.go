package changepoint

import (
	"cmp"
	"slices"

	"github.com/transdim/vti"
	"github.com/transdim/vti/internal/rank"
	"github.com/transdim/vti/internal/report"
	"github.com/transdim/vti/run"
	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/stat"
)

// Number is a float64 that JSON shows as null when it is not finite.
type Number = report.Number

// Result is the answer in terms of the user's table: the object that --json prints.
type Result struct {
	run.Head
	Data        DataSummary       `json:"data"`
	Certificate CertificateReport `json:"certificate"`
	// LogEvidence is the log evidence over all numbers of changes, in nats.
	LogEvidence Number `json:"log_evidence"`
	// Counts has an entry for each number of changes, from 0.
	Counts []Count `json:"changes"`
	// Expected is the posterior mean of the number of changes.
	Expected Number `json:"expected_changes"`
	// Given describes places and levels given the most probable number of changes.
	Given Given `json:"given_most_probable"`
	// Curve holds the probability of a change at each place, averaged over the number of changes.
	Curve []CurvePoint `json:"curve"`
	// Levels is the level along time, averaged over numbers and places of changes.
	Levels []LevelPoint `json:"levels"`
}

// DataSummary describes the data.
type DataSummary struct {
	// Rows is the number of rows or events. Time and Value are names of columns, and Model is the
	// name of the kind.
	Rows  int    `json:"rows"`
	Time  string `json:"time"`
	Value string `json:"value,omitempty"`
	Model string `json:"model"`
	// From and To are the first and the last time.
	From Number `json:"from"`
	To   Number `json:"to"`
}

// CertificateReport is the verdict on the computation.
type CertificateReport struct {
	// Verdict is the verdict, and Basis the kind of computation that gave the answer.
	Verdict vti.Verdict `json:"verdict"`
	Basis   vti.Basis   `json:"basis"`
	// Error bounds the error that quadrature causes in the probability of any number of changes.
	Error Number `json:"quadrature_error"`
	// Reasons explain a lowered verdict.
	Reasons []string `json:"reasons,omitempty"`
}

// Count is a number of changes with its probability.
type Count struct {
	// Probability is the posterior probability of this number of changes.
	Changes     int    `json:"changes"`
	Probability Number `json:"probability"`
	LogEvidence Number `json:"log_evidence"` // log p(data | this number of changes)
}

// Given describes places and segments given a number of changes.
type Given struct {
	// Changes is the number of changes.
	Changes  int       `json:"changes"`
	Places   []Place   `json:"places"`
	Segments []Segment `json:"segments"`
}

// Place describes the distribution of the place of one change.
type Place struct {
	// Joint is the place of this change in the jointly most probable set of places.
	Joint Number `json:"joint"`
	// Mode is the most probable place of this change alone. In a series the change lies between the
	// row at Before and the row at Mode.
	Mode   Number `json:"mode"`
	Before Number `json:"before"`
	// Median is the posterior median of the place.
	Median Number `json:"median"`
	// Q025 and Q975 are the ends of the central 95 percent interval.
	Q025 Number `json:"q025"`
	Q975 Number `json:"q975"`
	// Set is the smallest set of places that holds the change with a probability of at least
	// CredibleMass, as intervals. Probability is the probability of Set.
	Set         [][2]Number `json:"credible_set"`
	Probability Number      `json:"set_probability"`
}

// Segment describes the state of a series between two changes.
type Segment struct {
	Mean Summary `json:"mean"` // mean of a row, or events per unit of time
	// SD is the standard deviation of a row about its mean.
	SD *Summary `json:"sd,omitempty"`
	// Slope is the change of the mean per unit of time.
	Slope *Summary `json:"slope,omitempty"`
}

// Summary holds the mean, the standard deviation and the 2.5 and 97.5 percent quantiles of a
// marginal distribution.
type Summary struct {
	Mean Number `json:"mean"`
	SD   Number `json:"sd"`
	Q025 Number `json:"q025"`
	Q975 Number `json:"q975"`
}

// CurvePoint is the probability of a change at one candidate place: between two rows of a series,
// or in an interval of time for events.
type CurvePoint struct {
	// From and To are the times of the two rows, or the ends of the interval. Probability is the
	// posterior probability of a change between them.
	From        Number `json:"from"`
	To          Number `json:"to"`
	Probability Number `json:"probability"`
}

// LevelPoint describes the level at one time: the mean of a row, the standard deviation of a row
// for the model Variance, or the rate of events.
type LevelPoint struct {
	// Mean is the posterior mean of the level at Time; Q025 and Q975 are the ends of its central 95
	// percent interval.
	Time Number `json:"time"`
	Mean Number `json:"mean"`
	Q025 Number `json:"q025"`
	Q975 Number `json:"q975"`
	// Observed is the value of the row. It is nil for events, and where the level is a standard
	// deviation.
	Observed *Number `json:"observed,omitempty"`
}

// ExitStatus returns the exit status for the result: 3 when the answer must not be used, else 0.
func (r *Result) ExitStatus() int { return r.Certificate.Verdict.ExitStatus() }

// CredibleMass is the probability of credible sets.
const CredibleMass = 0.95

// summarize returns the summary of values, which it sorts.
func summarize(values []float64) Summary {
	low, _, high := report.Central(values)
	mean, sd := stat.PopMeanStdDev(values, nil)
	return Summary{Number(mean), Number(sd), low, high}
}

// interval returns the interval of time of boundary i, 1 ≤ i ≤ N, in which a change at i lies.
func (post *Posterior) interval(i int) (from, to float64) {
	if post.moments != nil {
		return post.moments.cells[i-1], post.moments.cells[i]
	}
	return post.problem.times[i-1], post.problem.times[i]
}

// boundaryTime returns the time of boundary i. In a series this is the time of the first row after
// the boundary.
func (post *Posterior) boundaryTime(i int) Number {
	if post.moments != nil {
		return Number(post.moments.times[i])
	}
	return Number(post.problem.times[i])
}

func (post *Posterior) describe(probabilities []float64) Place {
	density := slices.Clone(probabilities)
	if post.moments != nil {
		for i := range density {
			from, to := post.interval(i + 1)
			density[i] /= to - from
		}
	}
	timeOf := func(i int) Number { return post.boundaryTime(i + 1) }
	order := rank.Order(len(probabilities), func(a, b int) int { return cmp.Compare(density[b], density[a]) })
	in := make([]bool, len(probabilities)+1)
	place := Place{Mode: timeOf(order[0]), Before: timeOf(order[0])}
	if post.moments == nil {
		place.Before = Number(post.problem.times[order[0]])
	}
	for _, i := range order {
		if place.Probability >= CredibleMass {
			break
		}
		place.Probability += Number(probabilities[i])
		in[i] = true
	}
	for i := 0; i < len(probabilities); i++ {
		if !in[i] {
			continue
		}
		from, last := i, i
		for ; in[i+1]; i++ {
			last = i + 1
		}
		part := [2]Number{timeOf(from), timeOf(last)}
		if post.moments != nil {
			low, _ := post.interval(from + 1)
			_, high := post.interval(last + 1)
			part = [2]Number{Number(low), Number(high)}
		}
		place.Set = append(place.Set, part)
	}
	cumulated := floats.CumSum(make([]float64, len(probabilities)), probabilities)
	quantile := func(level float64) Number {
		at, _ := slices.BinarySearch(cumulated, level)
		return timeOf(min(at, len(cumulated)-1))
	}
	place.Q025, place.Median, place.Q975 = quantile(0.025), quantile(0.5), quantile(0.975)
	return place
}
