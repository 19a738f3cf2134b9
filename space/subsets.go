package space

import (
	"fmt"
	"slices"

	"github.com/gomlx/gomlx/pkg/core/graph"
)

// Subsets is the space of all subsets of S groups of coordinates. Entry s of a code is 1 if the
// model uses the coordinates of group s, and 0 otherwise. Some coordinates may be in every model.
type Subsets struct {
	cards  []int
	owner  []int32 // the index of the group of each coordinate; any index for a coordinate in every model
	always []bool  // whether each coordinate is in every model
	fixed  bool    // whether some coordinate is in every model
}

var _ RowMasker = (*Subsets)(nil)

// NewSubsets returns the space with dim coordinates in which the coordinates listed in always are
// in every model, and a model uses the coordinates in groups[s] if entry s of its code is 1. Each
// coordinate must be listed exactly once. There must be at least one group, and no empty group.
func NewSubsets(dim int, always []int, groups [][]int) (*Subsets, error) {
	if dim < 1 {
		return nil, fmt.Errorf("space.NewSubsets: dim is %d, want at least 1", dim)
	}
	if len(groups) == 0 {
		return nil, fmt.Errorf("space.NewSubsets: no groups, so there is a single model: describe it with NewTable")
	}
	s := &Subsets{
		cards:  slices.Repeat([]int{2}, len(groups)),
		owner:  make([]int32, dim),
		always: make([]bool, dim),
		fixed:  len(always) > 0,
	}
	place := make([]string, dim) // the list that contains each coordinate, for errors
	list := func(coordinate int, where string) error {
		if coordinate < 0 || coordinate >= dim {
			return fmt.Errorf("space.NewSubsets: coordinate %d in %s is outside 0 to %d", coordinate, where, dim-1)
		}
		if place[coordinate] != "" {
			return fmt.Errorf("space.NewSubsets: coordinate %d is in %s and again in %s", coordinate, place[coordinate], where)
		}
		place[coordinate] = where
		return nil
	}
	for _, coordinate := range always {
		if err := list(coordinate, "always"); err != nil {
			return nil, err
		}
		s.always[coordinate] = true
	}
	for site, group := range groups {
		if len(group) == 0 {
			return nil, fmt.Errorf("space.NewSubsets: group %d is empty", site)
		}
		where := fmt.Sprintf("group %d", site)
		for _, coordinate := range group {
			if err := list(coordinate, where); err != nil {
				return nil, err
			}
			s.owner[coordinate] = int32(site)
		}
	}
	if missing := slices.Index(place, ""); missing >= 0 {
		return nil, fmt.Errorf("space.NewSubsets: coordinate %d is neither in always nor in a group", missing)
	}
	return s, nil
}

// Cards returns the number of values of each of the S entries of a code, 2.
func (s *Subsets) Cards() []int { return s.cards }

// Dim returns the number of coordinates.
func (s *Subsets) Dim() int { return len(s.owner) }

// Mask returns which coordinates each model uses: codes [B, S] int32 -> [B, D] Bool.
func (s *Subsets) Mask(codes *graph.Node) *graph.Node {
	AssertCodes("space.Subsets.Mask", codes, len(s.cards))
	g := codes.Graph()
	mask := graph.NotEqual(TakeColumns(codes, s.owner), graph.Const(g, int32(0)))
	if s.fixed {
		mask = graph.LogicalOr(mask, graph.Const(g, [][]bool{s.always}))
	}
	return mask
}

// MaskRow returns, without a computation graph, which coordinates one model uses.
func (s *Subsets) MaskRow(code []int32, dst []bool) []bool {
	dst = maskBuffer("space.Subsets.MaskRow", s, code, dst)
	for coordinate, site := range s.owner {
		dst[coordinate] = s.always[coordinate] || code[site] != 0
	}
	return dst
}

// maskBuffer checks the arguments of MaskRow, and allocates dst if it is nil.
func maskBuffer(where string, sp Space, code []int32, dst []bool) []bool {
	must(where, CheckCode(sp, code))
	return buffer(where, dst, sp.Dim())
}

func buffer[T any](where string, dst []T, n int) []T {
	if dst == nil {
		return make([]T, n)
	}
	if len(dst) != n {
		panic(fmt.Sprintf("%s: dst has length %d, want %d", where, len(dst), n))
	}
	return dst
}
