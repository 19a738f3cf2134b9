package amortize

import (
	"fmt"
	"slices"

	"github.com/gomlx/gomlx/pkg/core/dtypes"
	. "github.com/gomlx/gomlx/pkg/core/graph"
	"github.com/gomlx/gomlx/pkg/core/tensors"
	"gonum.org/v1/gonum/floats"

	"github.com/transdim/vti"
	"github.com/transdim/vti/cosmic"
	"github.com/transdim/vti/internal/english"
	"github.com/transdim/vti/internal/evaluate"
	"github.com/transdim/vti/internal/logsum"
	"github.com/transdim/vti/internal/rank"
	"github.com/transdim/vti/modeldist"
	"github.com/transdim/vti/space"
)

// Place maps the space of a problem into the space of its family: site s of the problem is site
// Sites[s] of the family, and coordinate d of the problem is coordinate Coordinates[d] of the
// family. Other sites of the family have outcome 0. The zero value stands for equal spaces.
type Place struct{ Sites, Coordinates []int }

// Beginning returns the answer of the network for a data set, computed in one pass. With this value
// as Begin of a [vti.Config], [vti.Fit] starts from the answer, and [vti.Open] returns it without
// training. The argument sp is the space of the Target of the data set. The argument place maps sp
// into the space of the [Family] of data sets on which the network was trained.
func (a *Network) Beginning(problem *Problem, sp space.Space, place Place) (*vti.Beginning, error) {
	if err := problem.check(a.like, a.family.Space(), false); err != nil {
		return nil, fmt.Errorf("data set: %w", err)
	}
	if place.Sites == nil {
		place.Sites = rank.UpTo(len(sp.Cards()))
	}
	if place.Coordinates == nil {
		place.Coordinates = rank.UpTo(sp.Dim())
	}
	if err := a.checkPlace(sp, place); err != nil {
		return nil, err
	}
	about, err := a.contextOf(problem)
	if err != nil {
		return nil, err
	}
	b := &vti.Beginning{Weights: a.graphs.Variables, Flow: a.flow.Config()}
	if b.LogModels, err = a.logModels(problem, about, sp.Cards(), place.Sites); err != nil {
		return nil, err
	}
	wide, dim := a.family.Space().Dim(), sp.Dim()
	b.Flow.Dim, b.Flow.Features = dim, 0
	b.Flow.Placement = &cosmic.Placement{Dim: wide, At: place.Coordinates, Context: about}
	b.Flow.Placement.Given = len(problem.Linear) > wide
	if problem.Precision != nil && !b.Flow.Placement.Given {
		b.Flow.Precision, b.Flow.Linear = make([]float64, dim*dim), make([]float64, dim)
		for i, from := range place.Coordinates {
			b.Flow.Linear[i] = problem.Linear[from]
			for j, to := range place.Coordinates {
				b.Flow.Precision[i*dim+j] = problem.Precision[from*wide+to]
			}
		}
	}
	return b, nil
}

func (a *Network) checkPlace(sp space.Space, place Place) error {
	familySpace := a.family.Space()
	if len(place.Sites) != len(sp.Cards()) || len(place.Coordinates) != sp.Dim() {
		return fmt.Errorf("amortize.Place: got %s and %s, want %d and %d", english.Count(len(place.Sites), "site"), english.Count(len(place.Coordinates), "coordinate"), len(sp.Cards()), sp.Dim())
	}
	for s, at := range place.Sites {
		if at < 0 || at >= len(familySpace.Cards()) || familySpace.Cards()[at] != sp.Cards()[s] {
			return fmt.Errorf("amortize.Place: site %d has %d outcomes and is placed at site %d of the family, want a site with as many outcomes; sites of the family have %v", s, sp.Cards()[s], at, familySpace.Cards())
		}
	}
	if count, ok := space.CountCodes(sp.Cards()); !ok || count > modeldist.DefaultLimit {
		return fmt.Errorf("an amortized posterior lists all models: got %d models, want at most %d", count, modeldist.DefaultLimit)
	}
	return nil
}

func (a *Network) contextOf(problem *Problem) ([]float64, error) {
	outputs, err := a.graphs.Run("context", func(ctx *vti.Context, inputs []*Node) []*Node {
		k, _ := a.known(inputs)
		return []*Node{evaluate.Float64(a.conditional(ctx, k).context)}
	}, a.batchOf([]*Problem{problem})...)
	if err != nil {
		return nil, err
	}
	return tensors.CopyFlatData[float64](outputs[0])
}

// modelsBatch is the largest number of models evaluated at a time. Batches are large because each
// takes the approximate probabilities of all models as input.
const modelsBatch = 4096

// logModels returns log q(m | D) of all models of a problem, normalised over these models. The
// problem has cards[s] outcomes at site s, which is site sites[s] of the family. The argument about
// is the encoded data set.
func (a *Network) logModels(problem *Problem, about []float64, cards, sites []int) ([]float64, error) {
	count, _ := space.CountCodes(cards)
	if a.models == nil || count == 1 {
		return make([]float64, count), nil
	}
	wide := len(a.family.Space().Cards())
	inputs := append(a.batchOf([]*Problem{problem}), tensors.FromFlatDataAndDimensions(about, 1, len(about)))
	batch := min(count, modelsBatch)
	codes := make([]int32, (count+batch-1)/batch*batch*wide) // codes after the last model are not used
	for index, code := range space.All(cards) {
		for s, outcome := range code {
			codes[index*wide+sites[s]] = outcome
		}
	}
	var logQ []float64
	for part := range slices.Chunk(codes, batch*wide) {
		outputs, err := a.graphs.Run(fmt.Sprintf("models/%d", batch), func(ctx *vti.Context, inputs []*Node) []*Node {
			k, rest := a.known(inputs)
			c := conditional{a, k, ctx, ConvertDType(rest[0], dtypes.Float32)}.repeated(batch)
			return []*Node{c.logModel(rest[1])}
		}, append(inputs[:len(inputs):len(inputs)], tensors.FromFlatDataAndDimensions(part, batch, wide))...)
		if err != nil {
			return nil, err
		}
		logQ = append(logQ, tensors.MustCopyFlatData[float64](outputs[0])...)
	}
	logQ = logQ[:count]
	floats.AddConst(-logsum.Of(logQ), logQ)
	return logQ, nil
}
