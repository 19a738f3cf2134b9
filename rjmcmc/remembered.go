package rjmcmc

import (
	"slices"
	"sync/atomic"

	"github.com/gomlx/gomlx/backends"

	"github.com/transdim/vti/internal/dense"
	"github.com/transdim/vti/space"
)

// Chains over few models propose the same changes repeatedly. The matrices and vectors that a
// proposal needs about a model are computed once, by the first goroutine that needs them. They
// depend only on the model and the tuning, so that storing them changes no draw.

// mostRemembered bounds the float64 values stored for all models and temperatures: 32 MiB.
const mostRemembered = 1 << 22

// approximations holds the approximations that a QuadraticTarget gives of all models of a small
// space.
type approximations struct {
	cards             []int
	precision, linear []float64 // [models*D*D], [models*D]
}

// remembers reports whether results are stored for every model of a space. The space must be small
// enough. It must not be a space of lists, where the coordinates of an item differ between models.
func remembers(cards []int, dim, temperatures int, lists bool) bool {
	models, ok := space.CountCodes(cards)
	half := dim/2 + 1 // number of coordinates in a typical model
	return ok && !lists && models <= mostRemembered && models*(dim+1) <= mostRemembered/(temperatures*half*half)
}

func newApproximations(backend backends.Backend, d *density, cards []int, dim int) (*approximations, error) {
	models, _ := space.CountCodes(cards)
	a := &approximations{cards: cards}
	rows := min(blockRows, models)
	blocks, err := newBlocks(backend, rows, len(cards), dim)
	if err != nil {
		return nil, err
	}
	p := newPopulation(rows, len(cards), dim, nil)
	p.precision, p.linear = make([]float64, rows*dim*dim), make([]float64, rows*dim)
	for first := 0; first < models; first += rows {
		for row := range rows {
			code, _, _ := p.row(row)
			space.Decode(cards, min(first+row, models-1), code)
		}
		if err := d.masks(p, &blocks[0]); err != nil {
			return nil, err
		}
		if err := d.quadratics(p, &blocks[0]); err != nil {
			return nil, err
		}
		n := min(rows, models-first)
		a.precision, a.linear = append(a.precision, p.precision[:n*dim*dim]...), append(a.linear, p.linear[:n*dim]...)
	}
	return a, nil
}

// remembered holds results of standardOf and marginalOf at one temperature, indexed by model and by
// the coordinate that is placed last. The index D stands for no coordinate placed last.
type remembered struct {
	cards     []int
	dim       int
	standards []atomic.Pointer[rememberedStandard]
	marginals []atomic.Pointer[marginal]
}

// rememberedStandard is a result of [sampler.standardOf].
type rememberedStandard struct {
	standard
	ok bool
}

func newRemembered(cards []int, dim int) *remembered {
	models, _ := space.CountCodes(cards)
	entries := models * (dim + 1)
	return &remembered{cards, dim, make([]atomic.Pointer[rememberedStandard], entries), make([]atomic.Pointer[marginal], entries)}
}

// place returns the index of the results for a model whose coordinates in the list behind are
// placed last. It returns −1 if the list has more than one coordinate, or if r is nil.
func (r *remembered) place(code []int32, behind []int) int {
	if r == nil || len(behind) > 1 {
		return -1
	}
	last := r.dim
	if len(behind) == 1 {
		last = behind[0]
	}
	return indexOf(r.cards, code)*(r.dim+1) + last
}

// indexOf returns the index that [space.Encode] returns, for a valid code.
func indexOf(cards []int, code []int32) (index int) {
	for site, card := range cards {
		index = index*card + int(code[site])
	}
	return index
}

// forget deletes all stored results after a change of the tuning.
func (s *sampler) forget() {
	for i := range s.rungs {
		if s.rungs[i].remembered != nil {
			s.rungs[i].remembered = newRemembered(s.cards, s.dim)
		}
	}
}

// standardOf returns the approximation of the model in row c of a population over the given
// coordinates, in an order in which the coordinates in the list behind are last. ok is false if the
// precision is not positive definite.
func (s *sampler) standardOf(w *workspace, p *population, c int, coordinates, behind []int) (st standard, ok bool) {
	r := s.rung(c).remembered
	code, _, _ := p.row(c)
	at := r.place(code, behind)
	if at < 0 {
		return p.standard(w, c, coordinates)
	}
	if known := r.standards[at].Load(); known != nil {
		return known.standard, known.ok
	}
	st, ok = p.standard(w, c, coordinates)
	r.standards[at].Store(&rememberedStandard{standard{st.factor.Clone(), slices.Clone(st.mean), st.logDet}, ok})
	return st, ok
}

// factorOf returns the Cholesky factor of the precision of the fitted approximation of the model in
// row c, over its active coordinates. ok is false if the precision is not positive definite.
func (s *sampler) factorOf(w *workspace, c int, active []int) (f dense.Factor, ok bool) {
	rung := s.rung(c)
	code, _, _ := s.state.row(c)
	at := rung.remembered.place(code, nil)
	if at >= 0 {
		if known := rung.remembered.standards[at].Load(); known != nil {
			return known.factor, known.ok
		}
	}
	f, ok = rung.tuning.Quadratic.factorise(w, active)
	if at >= 0 {
		rung.remembered.standards[at].Store(&rememberedStandard{standard{factor: f.Clone()}, ok})
	}
	return f, ok
}

// marginalOf returns the marginal of coordinates x of the model in row c of a population, given the
// kept coordinates. lower is the Cholesky factor of Λ_RR, where R are the kept coordinates. If
// lower has no rows, marginalOf computes the factor when it needs it, and stores it in lower if it
// exists.
func (s *sampler) marginalOf(w *workspace, p *population, c int, kept, x []int, lower *dense.Factor) marginal {
	rung := s.rung(c)
	code, _, _ := p.row(c)
	at := rung.remembered.place(code, x)
	if at >= 0 {
		if known := rung.remembered.marginals[at].Load(); known != nil {
			return *known
		}
	}
	if lower.Order() == 0 && rung.tuning.Quadratic != nil {
		if f, ok := rung.tuning.Quadratic.factorise(w, kept); ok {
			*lower = f
		}
	}
	m := rung.tuning.marginal(w, kept, x, *lower)
	if at >= 0 {
		rung.remembered.marginals[at].Store(&marginal{slices.Clone(m.shift), slices.Clone(m.mean), m.factor.Clone(), m.logDet})
	}
	return m
}
