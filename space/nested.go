package space

import (
	"fmt"
	"slices"
)

// NewNested returns the space of nested models: model k, counted from 0, uses the coordinates of
// the first k+1 blocks of the given sizes, for example a polynomial of degree k. A block of size 0
// gives a model with the coordinates of the previous model.
func NewNested(sizes []int) (*Table, error) {
	dim := 0
	for k, size := range sizes {
		if size < 0 {
			return nil, fmt.Errorf("space.NewNested: block %d has %d coordinates, want at least 0", k, size)
		}
		dim += size
	}
	if dim == 0 {
		return nil, fmt.Errorf("space.NewNested: want at least one coordinate, got %d blocks without any", len(sizes))
	}
	masks := make([][]bool, len(sizes))
	used := 0
	for k, size := range sizes {
		used += size
		masks[k] = slices.Concat(slices.Repeat([]bool{true}, used), make([]bool, dim-used))
	}
	return NewTable(masks)
}
