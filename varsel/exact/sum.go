package exact

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"math/bits"
	"slices"
	"sync"

	"gonum.org/v1/gonum/mat"

	"github.com/transdim/vti/internal/distinct"
	"github.com/transdim/vti/internal/logsum"
	"github.com/transdim/vti/internal/parallel"
	"github.com/transdim/vti/space"
)

// enumeration holds all models of a problem, indexed by the bits of their codes, where the first
// group (selectable predictor) is the lowest bit.
type enumeration struct {
	*Problem
	columns  [][]float64 // of the compressed rows [D]
	y        []float64
	more     int // the number of further observations, and their sum of squares
	residual float64
	mean     []float64

	logPrior space.LogTerms
	logJoint []float64 // log p(m) + log p(y | m) of every model, −Inf of excluded ones
	order    []uint32  // models that are not excluded, the most probable ones first
	total    float64   // log of the sum of exp(logJoint)

	// nodes holds values of log σ, a step apart, that resolve the posteriors of all models. It is
	// nil if σ is known, or if each model has its own nodes.
	nodes []float64
	step  float64
}

func newEnumeration(p *Problem) *enumeration {
	e := &enumeration{Problem: p, mean: p.PriorMean, logPrior: p.Prior.LogTerms(len(p.Groups))}
	if e.mean == nil {
		e.mean = make([]float64, len(p.PriorSD))
	}
	x, y, more, residual := Compress(p.X, p.Y)
	e.y, e.more, e.residual = y, more+p.More, residual+p.Residual
	for j := range p.PriorSD {
		e.columns = append(e.columns, mat.Col(nil, j, x))
	}
	return e
}

// code writes the code of the model with index mask to code.
func (e *enumeration) code(mask uint32, code []int32) []int32 {
	for g := range code {
		code[g] = int32(mask >> g & 1)
	}
	return code
}

// logPriorOf returns log p(m) of the model with index mask, which must be allowed.
func (e *enumeration) logPriorOf(mask uint32) float64 {
	sum := e.logPrior.Sizes[bits.OnesCount32(mask)] - e.LogMass
	if e.logPrior.Members != nil {
		for rest := mask; rest != 0; rest &= rest - 1 {
			sum += e.logPrior.Members[bits.TrailingZeros32(rest)]
		}
	}
	return sum
}

func (e *enumeration) coordinates(mask uint32) []int {
	list := slices.Clone(e.Always)
	for g, group := range e.Groups {
		if mask>>g&1 == 1 {
			list = append(list, group...)
		}
	}
	return list
}

// posterior returns the posterior of the model with the given coordinates.
func (e *enumeration) posterior(coordinates []int) (*Posterior, error) {
	model, err := e.model(coordinates)
	if err != nil {
		return nil, err
	}
	return model.Posterior(e.Noise)
}

func (e *enumeration) model(coordinates []int) (*Model, error) {
	return NewModel(e.y, distinct.At(e.columns, coordinates), distinct.At(e.mean, coordinates), distinct.At(e.PriorSD, coordinates), e.more, e.residual)
}

func (e *enumeration) logEvidence(mask uint32) (float64, error) {
	coordinates := e.coordinates(mask)
	if e.Slab != (Slab{}) {
		always := make([]bool, len(coordinates))
		for k := range e.Always {
			always[k] = true
		}
		m, err := NewGPrior(e.Slab, distinct.At(e.columns, coordinates), always, e.y, e.more, e.residual, len(e.PriorSD)-len(e.Always))
		if err != nil {
			return 0, err
		}
		return m.LogEvidence(), nil
	}
	p, err := e.posterior(coordinates)
	if err != nil {
		return 0, err
	}
	return p.LogEvidence(), nil
}

// evidenceBlock is the number of models evaluated at a time. Half and twice this number give the
// same answers (docs/benchmarks/constants.md).
const evidenceBlock = 1 << 8

// evidences computes the evidences of all models. If there are many it walks from model to model,
// adding one predictor at a time. If there are few, or the walk loses digits, it decomposes the
// design matrix of each model.
func (e *enumeration) evidences(ctx context.Context) error {
	e.logJoint = make([]float64, 1<<len(e.Groups))
	if len(e.Groups) > WalkedGroups && e.Slab == (Slab{}) {
		if err := e.walkAll(ctx); err != nil {
			return err
		}
		if e.sort(); e.walked() {
			return nil
		}
		e.nodes = nil
	}
	err := e.decomposeAll(ctx)
	e.sort()
	return err
}

func (e *enumeration) decomposeAll(ctx context.Context) error {
	count := len(e.logJoint)
	var lock sync.Mutex // guards done and Progress
	done := 0
	blocks := (count + evidenceBlock - 1) / evidenceBlock
	return parallel.For(ctx, blocks, func(block int) (err error) {
		code, last := make([]int32, len(e.Groups)), min((block+1)*evidenceBlock, count)
		for index := block * evidenceBlock; index < last; index++ {
			mask := uint32(index)
			logPrior := e.logPriorOf(mask)
			if math.IsInf(logPrior, -1) || e.Allowed != nil && !e.Allowed(e.code(mask, code)) {
				e.logJoint[index] = math.Inf(-1)
				continue
			}
			if e.logJoint[index], err = e.logEvidence(mask); err != nil {
				return fmt.Errorf("evidence of model %v: %w", e.code(mask, code), err)
			}
			e.logJoint[index] += logPrior
		}
		if e.Progress != nil {
			lock.Lock()
			done += last - block*evidenceBlock
			e.Progress(done, count)
			lock.Unlock()
		}
		return nil
	})
}

// sort sorts the models by falling probability, and sets total.
func (e *enumeration) sort() {
	e.order = e.order[:0]
	for index, logJoint := range e.logJoint {
		if !math.IsInf(logJoint, -1) {
			e.order = append(e.order, uint32(index))
		}
	}
	slices.SortFunc(e.order, func(a, b uint32) int {
		return cmp.Or(cmp.Compare(e.logJoint[b], e.logJoint[a]), cmp.Compare(a, b))
	})
	e.total = logsum.Of(e.logJoint)
}

// leftOut is the total probability of the models that moments leave out. These models add nothing
// unless their coefficients are ten million standard deviations away.
const leftOut = 1e-14

// matter returns the number of models, the most probable ones, that enter moments.
func (e *enumeration) matter() (count int) {
	rest := 0.0
	for count = len(e.order); count > 1; count-- {
		if rest += math.Exp(e.logJoint[e.order[count-1]] - e.total); rest > leftOut {
			break
		}
	}
	return count
}

// answer returns the answer without the coefficients.
func (e *enumeration) answer() *Answer {
	r := &Answer{Count: len(e.order), LogEvidence: e.total + e.LogConstant, Inclusion: make([]float64, len(e.Groups))}
	for _, mask := range e.order {
		probability := math.Exp(e.logJoint[mask] - e.total)
		for rest := mask; rest != 0; rest &= rest - 1 {
			r.Inclusion[bits.TrailingZeros32(rest)] += probability
		}
	}
	for _, mask := range e.order[:min(e.listed(), len(e.order))] {
		size := bits.OnesCount32(mask)
		m := Subset{
			Code: e.code(mask, make([]int32, len(e.Groups))), Size: size, Probability: math.Exp(e.logJoint[mask] - e.total),
			LogEvidence: e.logJoint[mask] - e.logPriorOf(mask) + e.LogConstant,
		}
		r.Covered += m.Probability
		r.Models = append(r.Models, m)
	}
	return r
}

// listed returns the number of models that the answer lists.
func (p *Problem) listed() int {
	const all, best = 4096, 100
	count := 1 << len(p.Groups)
	switch {
	case p.TopModels > 0:
		return p.TopModels
	case count <= all:
		return count
	}
	return best
}
