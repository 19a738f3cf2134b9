package simd_test

import (
	"fmt"

	"github.com/gomlx/gomlx/backends"
	. "github.com/gomlx/gomlx/pkg/core/graph"

	_ "github.com/transdim/vti/simd"
)

// The backend is selected by its name, like other backends of GoMLX.
func Example() {
	backend, err := backends.NewWithConfig("simd")
	if err != nil {
		panic(err)
	}
	defer backend.Finalize()
	loss := MustNewExec(backend, func(x, w *Node) []*Node {
		loss := ReduceAllSum(Square(MatMul(x, w)))
		return []*Node{loss, Gradient(loss, w)[0]}
	})
	out := loss.MustExec([][]float32{{1, 2}, {3, 4}}, [][]float32{{1}, {-1}})
	fmt.Println(out[0].Value(), out[1].Value())
	// Output: 2 [[-8] [-12]]
}
