package space

import (
	"cmp"
	"fmt"
	"math"
	"math/rand/v2"
	"strconv"
	"strings"

	"github.com/gomlx/gomlx/pkg/core/graph"
	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mathext"

	"github.com/transdim/vti/internal/apply"
	"github.com/transdim/vti/internal/english"
	"github.com/transdim/vti/internal/enum"
	"github.com/transdim/vti/internal/pick"
)

// PriorKind is the kind of a prior over the subsets of G selectable predictors.
type PriorKind int

const (
	// BetaBinomialPrior includes each predictor independently with a common probability that is
	// Beta(A, B). With A = B = 1 every model size has the same probability, so that noise
	// predictors do not raise the inclusion probability of each predictor (Scott and Berger 2010).
	BetaBinomialPrior PriorKind = iota
	// UniformPrior gives every model the same probability, 2^−G. The expected number of predictors
	// in a model is then G/2.
	UniformPrior
	// BernoulliPrior includes each predictor independently with probability Pi.
	BernoulliPrior
	// ExpectedSizePrior is a BernoulliPrior whose Size is the expected size of a model.
	ExpectedSizePrior
	// InclusionPrior includes each predictor independently, with a probability of its own. All
	// other priors depend on a model only through its size, the number of predictors in it.
	InclusionPrior
)

// Prior is a prior over models. The zero value is a BetaBinomialPrior with A = B = 1.
type Prior struct {
	Kind PriorKind
	// Pi is the inclusion probability of a BernoulliPrior, strictly between 0 and 1.
	Pi float64
	// A and B are the shapes of a BetaBinomialPrior; 0 stands for 1.
	A, B float64
	// Size is the expected size of an ExpectedSizePrior, positive and below the number of
	// predictors, and below MaxSize.
	Size float64
	// MaxSize is the largest size of a model: larger models have probability zero, and the
	// probabilities of other models are normalised again. 0 means no limit.
	MaxSize int
	// Inclusion holds the probabilities of an InclusionPrior [G], strictly between 0 and 1. They
	// are not part of the text of a Prior.
	Inclusion []float64
}

var priorKinds = enum.New[PriorKind]("model prior", "betabinomial", "uniform", "bernoulli", "expected", "inclusion")

const maxSizeMark = " max:"

// ParsePrior reads "uniform", "bernoulli:π", "betabinomial:a,b", "expected:s" or "inclusion", each
// perhaps followed by the largest size of a model, as in "uniform max:5". It leaves the
// probabilities of an InclusionPrior to the caller.
func ParsePrior(s string) (Prior, error) {
	const expected = "want betabinomial:a,b (a, b > 0), uniform, bernoulli:π (0 < π < 1) or expected:s (s > 0)"
	text, maxText, limited := strings.Cut(s, maxSizeMark)
	name, rest, _ := strings.Cut(text, ":")
	kind, err := priorKinds.Parse(name)
	if err != nil {
		return Prior{}, fmt.Errorf("unknown model prior %q; %s", s, expected)
	}
	p := Prior{Kind: kind}
	parameters := p.parameters()
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
	if len(numbers) != len(parameters) {
		return Prior{}, fmt.Errorf("model prior %q: got %s, want %d for %s; %s", s, english.Count(len(numbers), "number"), len(parameters), name, expected)
	}
	for k, v := range numbers {
		*parameters[k] = v
	}
	if kind == BetaBinomialPrior && (p.A == 0 || p.B == 0) { // not accepted, because 0 in a Prior stands for 1
		return Prior{}, fmt.Errorf("model prior %q: got %v and %v, want two positive shapes", s, p.A, p.B)
	}
	if limited {
		if p.MaxSize, err = strconv.Atoi(maxText); err != nil || p.MaxSize < 1 {
			return Prior{}, fmt.Errorf("model prior %q: maximum size: got %q, want a positive whole number", s, maxText)
		}
	}
	return p, p.Validate()
}

// WithDefaults returns the prior with zero A and B replaced by their default 1.
func (p Prior) WithDefaults() Prior {
	if p.Kind == BetaBinomialPrior {
		p.A = cmp.Or(p.A, 1)
		p.B = cmp.Or(p.B, 1)
	}
	return p
}

// String returns the text that ParsePrior reads.
func (p Prior) String() string {
	p = p.WithDefaults()
	if p.MaxSize > 0 {
		limit := strconv.Itoa(p.MaxSize)
		p.MaxSize = 0
		return p.String() + maxSizeMark + limit
	}
	text := priorKinds.String(p.Kind)
	for k, v := range p.parameters() {
		text += fmt.Sprintf("%c%v", ":,"[k], *v)
	}
	return text
}

// parameters returns the numbers in the text of a prior.
func (p *Prior) parameters() []*float64 {
	switch p.Kind {
	case BernoulliPrior:
		return []*float64{&p.Pi}
	case BetaBinomialPrior:
		return []*float64{&p.A, &p.B}
	case ExpectedSizePrior:
		return []*float64{&p.Size}
	}
	return nil
}

// Validate returns an error that describes a parameter outside its range, or nil.
func (p Prior) Validate() error {
	p = p.WithDefaults()
	positive := func(v float64) bool { return v > 0 && !math.IsInf(v, 1) }
	switch {
	case p.MaxSize < 0:
		return fmt.Errorf("maximum size: got %d, want a positive number", p.MaxSize)
	case p.Kind == BernoulliPrior && !(p.Pi > 0 && p.Pi < 1):
		return fmt.Errorf("model prior %s: got %v, want an inclusion probability strictly between 0 and 1", p, p.Pi)
	case p.Kind == BetaBinomialPrior && !(positive(p.A) && positive(p.B)):
		return fmt.Errorf("model prior %s: got %v and %v, want two positive shapes", p, p.A, p.B)
	case p.Kind == ExpectedSizePrior && !positive(p.Size):
		return fmt.Errorf("model prior %s: got %v, want a positive expected size", p, p.Size)
	case p.Kind == InclusionPrior:
		return p.validateInclusion()
	}
	return priorKinds.Check(p.Kind)
}

// ValidateFor returns an error if the prior is invalid for groups selectable predictors.
func (p Prior) ValidateFor(groups int) error {
	if err := p.Validate(); err != nil {
		return err
	}
	if p.Kind == InclusionPrior {
		return p.validateInclusionOf(groups)
	}
	if limit := p.Limit(groups); p.Kind == ExpectedSizePrior && p.Size >= float64(limit) {
		return fmt.Errorf("model prior %s: want a size below %d, the largest that a model can have", p, limit)
	}
	return nil
}

// Limit returns the largest size of a model with the given number of selectable predictors.
func (p Prior) Limit(groups int) int {
	if p.MaxSize > 0 {
		return min(p.MaxSize, groups)
	}
	return groups
}

// LogProbs returns log p(m) of one model of each size from 0 to groups. It is −Inf for sizes above
// MaxSize. It panics for an InclusionPrior, which has different probabilities for models of one
// size; see [Prior.LogTerms].
func (p Prior) LogProbs(groups int) []float64 {
	if p.Kind == InclusionPrior {
		panic("space: Prior.LogProbs: an InclusionPrior depends on more than the size of a model")
	}
	must("space: Prior.LogProbs", p.ValidateFor(groups))
	p = p.WithDefaults()
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
	if limit := p.Limit(groups); limit < groups {
		norm := floats.LogSumExp(apply.UpTo(limit+1, func(k int) float64 { return table[k] + LogBinomial(groups, k) }))
		for k := range table {
			table[k] -= norm
			if k > limit {
				table[k] = math.Inf(-1)
			}
		}
	}
	return table
}

// inclusion returns the probability π with which an ExpectedSizePrior includes each predictor.
// Without a limit on the size, π is Size/groups. With a limit, π is such that the mean size is
// Size.
func (p Prior) inclusion(groups int) float64 {
	if p.Limit(groups) == groups {
		return p.Size / float64(groups)
	}
	low, high := -30.0, 30.0 // log odds
	for range 200 {
		middle := (low + high) / 2
		if (Prior{Kind: BernoulliPrior, Pi: 1 / (1 + math.Exp(-middle)), MaxSize: p.MaxSize}).MeanSize(groups) < p.Size {
			low = middle
		} else {
			high = middle
		}
	}
	return 1 / (1 + math.Exp(-low))
}

// MeanSize returns the prior mean of the size of a model.
func (p Prior) MeanSize(groups int) (mean float64) {
	for k, probability := range p.SizeProbs(groups) {
		mean += float64(k) * probability
	}
	return mean
}

// LogBinomial returns log C(n, k).
func LogBinomial(n, k int) float64 {
	return -math.Log(float64(n+1)) - mathext.Lbeta(float64(n-k+1), float64(k+1))
}

// LogDecisions returns the log probability of a sequence of decisions, each like the inclusion of a
// predictor. The argument yes is the number of decisions for inclusion, and no the number against.
// The number of decisions may vary between models. A UniformPrior gives 0, and the caller has to
// normalise over models. LogDecisions returns an error for priors that depend on the number of
// predictors.
func (p Prior) LogDecisions(yes, no int) (float64, error) {
	if err := p.Validate(); err != nil {
		return 0, err
	}
	p = p.WithDefaults()
	switch {
	case p.MaxSize == 0 && p.Kind == UniformPrior:
		return 0, nil
	case p.MaxSize == 0 && p.Kind == BernoulliPrior:
		return float64(yes)*math.Log(p.Pi) + float64(no)*math.Log1p(-p.Pi), nil
	case p.MaxSize == 0 && p.Kind == BetaBinomialPrior:
		return mathext.Lbeta(p.A+float64(yes), p.B+float64(no)) - mathext.Lbeta(p.A, p.B), nil
	}
	return 0, fmt.Errorf("model prior %s: want betabinomial:a,b, bernoulli:π or uniform, where terms may vary by groups", p)
}

// MarshalText writes the text that ParsePrior reads.
func (p Prior) MarshalText() ([]byte, error) { return []byte(p.String()), nil }

// UnmarshalText reads text written by MarshalText.
func (p *Prior) UnmarshalText(text []byte) (err error) {
	*p, err = ParsePrior(string(text))
	return err
}

// LogProb returns log p(m) of each model, [B] float64. codes [B, G] int32 are 1 for predictors in
// the model and 0 for others.
func (p Prior) LogProb(codes *graph.Node) *graph.Node {
	terms := p.LogTerms(codes.Shape().Dim(-1))
	table := graph.Const(codes.Graph(), terms.Sizes)
	sizes := graph.ReduceSum(codes, -1)
	logProb := graph.Gather(table, graph.InsertAxes(sizes, -1))
	if terms.Members != nil {
		members := graph.Const(codes.Graph(), [][]float64{terms.Members})
		logProb = graph.Add(logProb, graph.ReduceSum(graph.Mul(graph.ConvertDType(codes, members.DType()), members), -1))
	}
	return logProb
}

// Draw draws a subset of predictors: first its size, then a subset of this size, unless predictors
// have inclusion probabilities of their own.
func (p Prior) Draw(groups int, random *rand.Rand) []bool {
	if p.Kind == InclusionPrior {
		return p.drawIndependently(groups, random)
	}
	size := pick.Index(p.SizeProbs(groups), random.Float64())
	in := make([]bool, groups)
	for _, g := range random.Perm(groups)[:size] {
		in[g] = true
	}
	return in
}
