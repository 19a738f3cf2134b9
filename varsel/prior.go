package varsel

import (
	"fmt"
	"math"
	"strconv"
	"strings"

	"github.com/gomlx/gomlx/pkg/core/graph"
	"gonum.org/v1/gonum/floats"
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
	// ExpectedSizePrior includes each independently with the probability that makes Size the
	// expected size of a model.
	ExpectedSizePrior
)

// Prior is a prior over models. It depends on a model only through its size, the number of
// predictors in it. The zero value is uniform.
type Prior struct {
	Kind PriorKind
	// Pi is the inclusion probability of a BernoulliPrior, strictly between 0 and 1.
	Pi float64
	// A and B are the positive shapes of a BetaBinomialPrior.
	A, B float64
	// Size is the expected size of an ExpectedSizePrior, positive and below the number of
	// predictors, and below MaxSize.
	Size float64
	// MaxSize is the largest size a model may have: larger ones have probability zero, the others
	// are normalised again. 0 means no limit.
	MaxSize int
}

// maxSizeMark stands before the maximum size in the text of a prior.
const maxSizeMark = " max:"

// ParsePrior reads uniform, bernoulli:π, betabinomial:a,b or expected:s, and after each of them the
// maximum size as in "uniform max:5".
func ParsePrior(s string) (Prior, error) {
	const expected = "want uniform, bernoulli:π (0 < π < 1), betabinomial:a,b (a, b > 0) or expected:s (s > 0)"
	kind, maxText, limited := strings.Cut(s, maxSizeMark)
	name, rest, _ := strings.Cut(kind, ":")
	counts := map[string]int{"uniform": 0, "bernoulli": 1, "betabinomial": 2, "expected": 1}
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
		return Prior{}, fmt.Errorf("model prior %q: got %d numbers, want %d for %s; %s", s, len(numbers), count, name, expected)
	}
	var p Prior
	switch name {
	case "bernoulli":
		p = Prior{Kind: BernoulliPrior, Pi: numbers[0]}
	case "betabinomial":
		p = Prior{Kind: BetaBinomialPrior, A: numbers[0], B: numbers[1]}
	case "expected":
		p = Prior{Kind: ExpectedSizePrior, Size: numbers[0]}
	}
	if limited {
		var err error
		if p.MaxSize, err = strconv.Atoi(maxText); err != nil || p.MaxSize < 1 {
			return Prior{}, fmt.Errorf("model prior %q: maximum size: got %q, want a positive whole number", s, maxText)
		}
	}
	return p, p.Validate()
}

// String returns the text that ParsePrior reads.
func (p Prior) String() string {
	if p.MaxSize > 0 {
		limit := strconv.Itoa(p.MaxSize)
		p.MaxSize = 0
		return p.String() + maxSizeMark + limit
	}
	switch p.Kind {
	case UniformPrior:
		return "uniform"
	case BernoulliPrior:
		return fmt.Sprintf("bernoulli:%v", p.Pi)
	case BetaBinomialPrior:
		return fmt.Sprintf("betabinomial:%v,%v", p.A, p.B)
	case ExpectedSizePrior:
		return fmt.Sprintf("expected:%v", p.Size)
	}
	return fmt.Sprintf("Prior(%d)", int(p.Kind))
}

// Validate reports a parameter outside its range.
func (p Prior) Validate() error {
	if p.MaxSize < 0 {
		return fmt.Errorf("maximum size: got %d, want a positive number", p.MaxSize)
	}
	positive := func(v float64) bool { return v > 0 && !math.IsInf(v, 1) }
	switch p.Kind {
	case UniformPrior:
		return nil
	case BernoulliPrior:
		if !(p.Pi > 0 && p.Pi < 1) {
			return fmt.Errorf("model prior %s: got %v, want an inclusion probability strictly between 0 and 1", p, p.Pi)
		}
		return nil
	case BetaBinomialPrior:
		if !positive(p.A) || !positive(p.B) {
			return fmt.Errorf("model prior %s: got %v and %v, want two positive shapes", p, p.A, p.B)
		}
		return nil
	case ExpectedSizePrior:
		if !positive(p.Size) {
			return fmt.Errorf("model prior %s: got %v, want a positive expected size", p, p.Size)
		}
		return nil
	}
	return fmt.Errorf("model prior: unknown kind %d", int(p.Kind))
}

// ValidateFor reports what the prior cannot mean for so many selectable predictors.
func (p Prior) ValidateFor(groups int) error {
	if err := p.Validate(); err != nil {
		return err
	}
	if limit := p.limit(groups); p.Kind == ExpectedSizePrior && p.Size >= float64(limit) {
		return fmt.Errorf("model prior %s: want a size below %d, the largest that a model can have", p, limit)
	}
	return nil
}

// limit is the largest size of a model.
func (p Prior) limit(groups int) int {
	if p.MaxSize > 0 {
		return min(p.MaxSize, groups)
	}
	return groups
}

// LogProbs returns log p(m) for models of size 0 to groups: the probability of one such model, not
// of the size. It is −Inf above MaxSize, and sums to one over all models.
func (p Prior) LogProbs(groups int) []float64 {
	if err := p.ValidateFor(groups); err != nil {
		panic("varsel: Prior.LogProbs: " + err.Error())
	}
	if p.Kind == ExpectedSizePrior {
		p = Prior{Kind: BernoulliPrior, Pi: p.inclusion(groups), MaxSize: p.MaxSize}
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
	if limit := p.limit(groups); limit < groups {
		bySize := make([]float64, limit+1)
		for k := range bySize {
			bySize[k] = table[k] + logBinomial(groups, k)
		}
		norm := floats.LogSumExp(bySize)
		for k := range table {
			table[k] -= norm
			if k > limit {
				table[k] = math.Inf(-1)
			}
		}
	}
	return table
}

// inclusion is the probability π with which an ExpectedSizePrior includes each predictor: s/G
// without a limit, else the root of the mean size, which rises with π.
func (p Prior) inclusion(groups int) float64 {
	if p.limit(groups) == groups {
		return p.Size / float64(groups)
	}
	low, high := -30.0, 30.0 // log odds
	for range 200 {
		middle := (low + high) / 2
		if (Prior{Kind: BernoulliPrior, Pi: 1 / (1 + math.Exp(-middle)), MaxSize: p.MaxSize}).meanSize(groups) < p.Size {
			low = middle
		} else {
			high = middle
		}
	}
	return 1 / (1 + math.Exp(-low))
}

// meanSize is the prior mean of the size of a model.
func (p Prior) meanSize(groups int) (mean float64) {
	for k, logProb := range p.LogProbs(groups) {
		if k > 0 && !math.IsInf(logProb, -1) {
			mean += float64(k) * math.Exp(logProb+logBinomial(groups, k))
		}
	}
	return mean
}

// logBinomial is log C(n, k).
func logBinomial(n, k int) float64 {
	return -math.Log(float64(n+1)) - mathext.Lbeta(float64(n-k+1), float64(k+1))
}

// LogProb returns log p(m) of each model. codes [B, G] int32, 1 = in -> [B] float64.
func (p Prior) LogProb(codes *graph.Node) *graph.Node {
	table := graph.Const(codes.Graph(), p.LogProbs(codes.Shape().Dim(-1)))
	sizes := graph.ReduceSum(codes, -1)
	return graph.Gather(table, graph.InsertAxes(sizes, -1))
}
