package kernel_test

import (
	"fmt"

	"github.com/transdim/vti/internal/kernel"
)

func ExampleVectorsOf() {
	v := kernel.VectorsOf[float64](kernel.Detect())
	x := []float64{1, 4, 9}
	v.Sqrt(x, x)
	v.AddScalar(x, x, 1)
	fmt.Println(x, v.Sum(x))
	// Output: [2 3 4] 9
}

func ExampleProductPlan() {
	p := kernel.NewProductPlan[float32](kernel.Detect(), 2, 2, 3, nil, nil)
	shared, local := make([]float32, p.SharedScratch()), make([]float32, p.LocalScratch())
	a := kernel.Dense([]float32{1, 2, 3, 4}, 2, 2)
	b := kernel.Dense([]float32{1, 2, 3, 4, 5, 6}, 3, 2).Transpose()
	c := kernel.Dense(make([]float32, 6), 2, 3)
	p.Run(c, a, b, false, shared, local)
	fmt.Println(c.Data)
	// Output: [5 11 17 11 25 39]
}
