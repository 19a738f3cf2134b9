package space_test

import (
	"fmt"

	"github.com/transdim/vti/space"
)

// An intercept that every model has, one numeric predictor, and a factor whose two indicator
// columns enter together.
func ExampleNewSubsets() {
	s, err := space.NewSubsets(4, []int{0}, [][]int{{1}, {2, 3}})
	if err != nil {
		fmt.Println(err)
		return
	}
	for index, code := range space.All(s.Cards()) {
		fmt.Println(index, code, s.MaskRow(code, nil))
	}
	// Output:
	// 0 [0 0] [true false false false]
	// 1 [0 1] [true false true true]
	// 2 [1 0] [true true false false]
	// 3 [1 1] [true true true true]
}

// Two models of one data set that share their first coordinate.
func ExampleNewTable() {
	t, err := space.NewTable([][]bool{{true, true, false}, {true, false, true}})
	if err != nil {
		fmt.Println(err)
		return
	}
	n, _ := space.Count(t)
	fmt.Println(n, "models over", t.Dim(), "coordinates")
	// Output: 2 models over 3 coordinates
}
