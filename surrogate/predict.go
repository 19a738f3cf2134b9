package surrogate

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"

	"github.com/transdim/vti/internal/apply"
)

// lookup holds the tables shared by predictions for consecutive codes. L, w, W and the number M_u
// of inducing codes are as in [Process]. The covariance of a code with an inducing code is a
// product of two factors. The factor of the first sites is the same for many consecutive codes. The
// factor of the last sites is tabulated.
type lookup struct {
	split   int        // number of first sites, whose factor is not tabulated
	tail    *mat.Dense // [T, M_u]: factor of each of the T combinations of outcomes of the last sites, times s²
	weights []float64  // L⁻ᵀ E[w]
	// unknown is R with R Rᵀ = L⁻ᵀ((1 + W) I − Cov[w])L⁻¹. The variance of code c is (1 + W)s² −
	// |Rᵀ k(c)|². It is nil until a standard deviation is needed.
	unknown *mat.Dense
}

// mostTail bounds the number T of combinations of the tabulated last sites, so that a table takes
// at most 2 MiB with [DefaultInducing] codes.
const mostTail = 1 << 10

// lookup returns the tables of the present belief. If wanted is true, they include the table for
// standard deviations.
func (p *Process) lookup(wanted bool) *lookup {
	p.lock.Lock()
	defer p.lock.Unlock()
	if p.cached == nil {
		l := &lookup{split: len(p.cards), weights: p.unwhiten(p.mean)}
		size := 1
		for l.split > 0 && size*p.cards[l.split-1] <= mostTail {
			l.split--
			size *= p.cards[l.split]
		}
		last := kernel{p.kernel.scale, p.kernel.relevance[l.split:]}
		tails := apply.UpTo(size, func(t int) []int32 { return p.decode(t)[l.split:] })
		inducing := apply.To(p.codes, func(code []int32) []int32 { return code[l.split:] })
		l.tail = last.matrix(tails, inducing)
		p.cached = l
	}
	if wanted && p.cached.unknown == nil {
		known := mat.NewSymDense(len(p.codes), nil)
		for i := range p.codes {
			for j := range i + 1 {
				known.SetSym(i, j, -p.cov.At(i, j))
			}
			known.SetSym(i, i, 1+p.walk-p.cov.At(i, i))
		}
		p.cached.unknown = solve(p.lower.TTri(), root(known))
	}
	return p.cached
}

// root returns R with R Rᵀ = a. Eigenvalues of a must not be negative, except by rounding errors.
func root(a *mat.SymDense) *mat.Dense { return mat.DenseCopyOf(lowerOf(a, 1e-12)) }

// unwhiten returns L⁻ᵀ w, with the L of [Process].
func (p *Process) unwhiten(w mat.Vector) []float64 {
	return mat.Col(nil, 0, solve(p.lower.TTri(), w))
}

// covariances returns the covariances of the models first, first+1, … with the inducing codes:
// [count, M_u].
func (l *lookup) covariances(p *Process, first, count int) *mat.Dense {
	size, inducing := l.tail.Dims()
	out := mat.NewDense(count, inducing, nil)
	head := kernel{1, p.kernel.relevance[:l.split]}
	heads := apply.To(p.codes, func(code []int32) []int32 { return code[:l.split] })
	var shared []float64
	current := -1
	for i := range count {
		model := first + i
		if model/size != current {
			current = model / size
			shared = head.matrix([][]int32{p.decode(model)[:l.split]}, heads).RawRowView(0)
		}
		row, tail := out.RawRowView(i), l.tail.RawRowView(model%size)
		for j, value := range tail {
			row[j] = shared[j] * value
		}
	}
	return out
}

// squares returns the squared norms of the rows of the product a b.
func squares(a, b *mat.Dense) []float64 {
	var product mat.Dense
	product.Mul(a, b)
	rows, _ := product.Dims()
	out := make([]float64, rows)
	for i := range out {
		row := product.RawRowView(i)
		out[i] = floats.Dot(row, row)
	}
	return out
}

// Predict writes the mean and standard deviation of the models first, first+1, …. Before any
// observation they are 0 and 1.
func (p *Process) Predict(first int, mean, sd []float64) {
	if p.lower == nil {
		clear(mean)
		for i := range sd {
			sd[i] = 1
		}
		return
	}
	l := p.lookup(sd != nil)
	k := l.covariances(p, first, len(mean))
	for i := range mean {
		mean[i] = p.constant + floats.Dot(k.RawRowView(i), l.weights)
	}
	if sd == nil {
		return
	}
	for i, known := range squares(k, l.unknown) {
		sd[i] = math.Sqrt(math.Max((1+p.walk)*p.kernel.scale-known, 0))
	}
}

// Draw draws the expected rewards of the inducing codes jointly, and then all other models
// independently given these.
func (p *Process) Draw(random *rand.Rand, dst []float64) {
	// Each chunk has a separate random stream, so that the number of threads does not matter.
	seeds := apply.UpTo((len(dst)+chunk-1)/chunk, func(int) uint64 { return random.Uint64() })
	if p.lower == nil {
		for m := range dst {
			dst[m] = random.NormFloat64()
		}
		return
	}
	l := p.lookup(false)
	drawn := mat.NewVecDense(len(p.codes), nil)
	for i := range p.codes {
		drawn.SetVec(i, random.NormFloat64())
	}
	covariance := mat.NewSymDense(len(p.codes), nil)
	covariance.CopySym(p.cov)
	var w mat.VecDense
	w.MulVec(root(covariance), drawn)
	w.AddVec(&w, p.mean)
	weights := p.unwhiten(&w)
	identity := mat.NewDense(len(p.codes), len(p.codes), nil)
	for i := range p.codes {
		identity.Set(i, i, 1)
	}
	whitening := solve(p.lower.TTri(), identity)
	inChunks(len(dst), func(first, end int) {
		random := rand.New(rand.NewPCG(seeds[first/chunk], uint64(first)))
		k := l.covariances(p, first, end-first)
		for i, known := range squares(k, whitening) {
			open := (1 + p.walk) * math.Max(p.kernel.scale-known, 0)
			dst[first+i] = p.constant + floats.Dot(k.RawRowView(i), weights) + math.Sqrt(open)*random.NormFloat64()
		}
	})
}

// stateHeader is the number of entries at the start of a state that do not depend on the numbers of
// sites and inducing codes.
const stateHeader = 8

// State returns the kernel, the belief at the inducing codes, and the estimate of the noise.
func (p *Process) State() []float64 {
	state := make([]float64, p.stateSize())
	copy(state, []float64{p.batches, p.constant, p.walk, p.kernel.scale, p.noise.value, p.noise.moment, p.noise.weight, float64(len(p.seen))})
	rest := state[stateHeader:]
	copy(rest, p.kernel.relevance)
	rest = rest[len(p.cards):]
	for i, summary := range p.seen {
		copy(rest[4*i:], []float64{float64(summary.model), summary.mean, summary.variance, p.mean.AtVec(i)})
	}
	rest = rest[4*p.capacity:]
	for i := range p.seen {
		for j := range i + 1 {
			rest[i*(i+1)/2+j] = p.cov.At(i, j)
		}
	}
	return state
}

func (p *Process) stateSize() int {
	return stateHeader + len(p.cards) + 4*p.capacity + p.capacity*(p.capacity+1)/2
}

// SetState restores a state returned by State.
func (p *Process) SetState(state []float64) error {
	if len(state) != p.stateSize() || !(state[7] >= 0 && int(state[7]) <= p.capacity) {
		return fmt.Errorf("surrogate: a process over %d sites with up to %d inducing codes has a state of %d numbers, got %d", len(p.cards), p.capacity, p.stateSize(), len(state))
	}
	p.batches, p.constant, p.walk = state[0], state[1], state[2]
	p.noise = noise{state[4], state[5], state[6]}
	count, rest := int(state[7]), state[stateHeader:]
	p.kernel = kernel{state[3], slices.Clone(rest[:len(p.cards)])}
	p.seen, p.codes, p.lower, p.cached = nil, nil, nil, nil
	if count == 0 {
		return nil
	}
	rest = rest[len(p.cards):]
	for i := range count {
		model := int(rest[4*i])
		if model < 0 || model >= p.count {
			return fmt.Errorf("surrogate: got inducing code %d, want one of 0 to %d", model, p.count)
		}
		p.seen = append(p.seen, summary{model, rest[4*i+1], rest[4*i+2]})
		p.codes = append(p.codes, p.decode(model))
	}
	walk := p.walk
	p.restart()
	p.walk = walk
	for i := range count {
		p.mean.SetVec(i, rest[4*i+3])
		for j := range i + 1 {
			p.cov.SetSym(i, j, rest[4*p.capacity+i*(i+1)/2+j])
		}
	}
	return nil
}
