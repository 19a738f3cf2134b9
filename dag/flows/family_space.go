package flows

import (
	"github.com/gomlx/gomlx/pkg/core/dtypes"
	"github.com/gomlx/gomlx/pkg/core/graph"

	dgraph "github.com/transdim/vti/dag/graph"
	"github.com/transdim/vti/dag/sem"
	"github.com/transdim/vti/space"
)

// familySpace is the space of families: one site, whose outcome k is family k, and with graphs a
// second one, the set of nodes before that of the family in the order, on which nothing of the
// family depends. Networks see the node one-hot and the parents as bits.
type familySpace struct {
	cards    []int
	masks    [][]bool    // [F][D]
	features [][]float32 // [F][2N]
}

var _ space.Featurer = (*familySpace)(nil)

func newFamilySpace(l sem.Layout, families []dgraph.Family) *familySpace {
	s := &familySpace{cards: []int{len(families)}}
	for _, f := range families {
		s.masks = append(s.masks, l.Mask(f))
		features := make([]float32, 2*l.Nodes)
		features[f.Node] = 1
		for i := range f.Parents.Nodes() {
			features[l.Nodes+i] = 1
		}
		s.features = append(s.features, features)
	}
	return s
}

// Cards returns the number of families, and of sets of nodes if they are a site.
func (s *familySpace) Cards() []int { return s.cards }

// families are those of codes [B,S] -> [B,1].
func (s *familySpace) families(codes *graph.Node) *graph.Node {
	space.AssertCodes("dag.familySpace", codes, len(s.cards))
	return graph.SliceAxis(codes, 1, graph.AxisRange(0, 1))
}

// code is that of a family.
func (s *familySpace) code(family int) []int32 {
	code := make([]int32, len(s.cards))
	code[0] = int32(family)
	return code
}

// Dim returns D.
func (s *familySpace) Dim() int { return len(s.masks[0]) }

// Mask returns the coordinates that each family uses: codes [B,S] int32 -> [B,D] Bool.
func (s *familySpace) Mask(codes *graph.Node) *graph.Node {
	return graph.Gather(graph.Const(codes.Graph(), s.masks), s.families(codes))
}

// FeatureDim returns 2N.
func (s *familySpace) FeatureDim() int { return len(s.features[0]) }

// Features returns node and parents: codes [B,S] int32 -> [B,2N].
func (s *familySpace) Features(codes *graph.Node, dtype dtypes.DType) *graph.Node {
	return graph.ConvertDType(graph.Gather(graph.Const(codes.Graph(), s.features), s.families(codes)), dtype)
}
