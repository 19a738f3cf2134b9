package varsel

import (
	"fmt"
	"math"
	"strconv"
	"strings"

	"github.com/gomlx/gomlx/pkg/core/graph"
	"gonum.org/v1/gonum/mathext"
)

// PriorKind names a prior over the subsets of G selectable predictors.
type PriorKind int

const (
	// UniformPrior gives every model the same probability, 2^−G.
	UniformPrior PriorKind = iota
	// BernoulliPrior includes each predictor independently with probability Pi.
	BernoulliPrior
	// BetaBinomialPrior includes each independently with a common probability that is Beta(A, B).
	BetaBinomialPrior
)

// Prior is a prior over models. It depends on a model only through its size, the number of
// predictors in it. The zero value is uniform.
type Prior struct {
	Kind PriorKind
	// Pi is the inclusion probability of a BernoulliPrior, strictly between 0 and 1.
	Pi float64
	// A and B are the positive shapes of a BetaBinomialPrior.
	A, B float64
}

// ParsePrior reads uniform, bernoulli:π or betabinomial:a,b.
func ParsePrior(s string) (Prior, error) {
	const expected = "expected uniform, bernoulli:π (0 < π < 1) or betabinomial:a,b (a, b > 0)"
	name, rest, _ := strings.Cut(s, ":")
	counts := map[string]int{"uniform": 0, "bernoulli": 1, "betabinomial": 2}
	count, known := counts[name]
	if !known {
		return Prior{}, fmt.Errorf("unknown model prior %q; %s", s, expected)
	}
	var numbers []float64
	if rest != "" {
		for _, field := range strings.Split(rest, ",") {
			v, err := strconv.ParseFloat(strings.TrimSpace(field), 64)
			if err != nil {
				return Prior{}, fmt.Errorf("model prior %q: %q is not a number; %s", s, field, expected)
			}
			numbers = append(numbers, v)
		}
	}
	if len(numbers) != count {
		return Prior{}, fmt.Errorf("model prior %q: found %d numbers where %s takes %d; %s", s, len(numbers), name, count, expected)
	}
	var p Prior
	switch name {
	case "bernoulli":
		p = Prior{Kind: BernoulliPrior, Pi: numbers[0]}
	case "betabinomial":
		p = Prior{Kind: BetaBinomialPrior, A: numbers[0], B: numbers[1]}
	}
	return p, p.Validate()
}

// String returns the text that ParsePrior reads.
func (p Prior) String() string {
	switch p.Kind {
	case UniformPrior:
		return "uniform"
	case BernoulliPrior:
		return fmt.Sprintf("bernoulli:%v", p.Pi)
	case BetaBinomialPrior:
		return fmt.Sprintf("betabinomial:%v,%v", p.A, p.B)
	}
	return fmt.Sprintf("Prior(%d)", int(p.Kind))
}

// Validate reports a parameter outside its range.
func (p Prior) Validate() error {
	positive := func(v float64) bool { return v > 0 && !math.IsInf(v, 1) }
	switch p.Kind {
	case UniformPrior:
		return nil
	case BernoulliPrior:
		if !(p.Pi > 0 && p.Pi < 1) {
			return fmt.Errorf("model prior %s: expected an inclusion probability strictly between 0 and 1, found %v", p, p.Pi)
		}
		return nil
	case BetaBinomialPrior:
		if !positive(p.A) || !positive(p.B) {
			return fmt.Errorf("model prior %s: expected two positive shapes, found %v and %v", p, p.A, p.B)
		}
		return nil
	}
	return fmt.Errorf("model prior: unknown kind %d", int(p.Kind))
}

// LogProbs returns log p(m) for models of size 0 to groups: the probability of one such model, not
// of the size.
func (p Prior) LogProbs(groups int) []float64 {
	if err := p.Validate(); err != nil {
		panic("varsel: Prior.LogProbs: " + err.Error())
	}
	table := make([]float64, groups+1)
	for k := range table {
		in, out := float64(k), float64(groups-k)
		switch p.Kind {
		case UniformPrior:
			table[k] = -float64(groups) * math.Ln2
		case BernoulliPrior:
			table[k] = in*math.Log(p.Pi) + out*math.Log1p(-p.Pi)
		case BetaBinomialPrior:
			table[k] = mathext.Lbeta(p.A+in, p.B+out) - mathext.Lbeta(p.A, p.B)
		}
	}
	return table
}

// LogProb returns log p(m) of each model. codes [B, G] int32, 1 = in -> [B] float64.
func (p Prior) LogProb(codes *graph.Node) *graph.Node {
	table := graph.Const(codes.Graph(), p.LogProbs(codes.Shape().Dim(-1)))
	sizes := graph.ReduceSum(codes, -1)
	return graph.Gather(table, graph.InsertAxes(sizes, -1))
}
