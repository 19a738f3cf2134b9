package varsel_test

import (
	"context"
	"fmt"

	"github.com/transdim/vti/gpu"
	"github.com/transdim/vti/table"
	"github.com/transdim/vti/varsel"
	"github.com/transdim/vti/varsel/design"
)

// Three markers are given by their z-scores and correlations, from a study of 20,000 people. The
// first two have z-scores of 5.4 and 5.2 and a correlation of .9, so that either may be the cause.
// The z-score of the third follows from the first two.
func Example_summaryStatistics() {
	scores, err := table.New("z.csv", table.Texts("name", []string{"rs1", "rs2", "rs3"}), table.Numbers("z", []float64{5.4, 5.2, 2.7}))
	if err != nil {
		panic(err)
	}
	ld, err := table.New("ld.csv", table.Numbers("rs1", []float64{1, 0.9, 0.5}), table.Numbers("rs2", []float64{0.9, 1, 0.5}), table.Numbers("rs3", []float64{0.5, 0.5, 1}))
	if err != nil {
		panic(err)
	}
	statistics, err := design.ReadStatistics(scores, ld, 20000)
	if err != nil {
		panic(err)
	}
	d, err := design.OfStatistics("z.csv", statistics, varsel.DesignOptions{Target: "height"})
	if err != nil {
		panic(err)
	}
	problem, err := varsel.NewProblem(d, varsel.ModelOptions{})
	if err != nil {
		panic(err)
	}
	device, err := gpu.Open(gpu.CPU)
	if err != nil {
		panic(err)
	}
	defer device.Close()
	result, err := varsel.Run(context.Background(), device, problem, varsel.RunConfig{})
	if err != nil {
		panic(err)
	}
	for _, i := range result.Inclusion {
		fmt.Printf("%s %.2f\n", i.Name, float64(i.Certified))
	}
	fmt.Println(result.Certificate.Verdict, result.Summary.Reconciled)
	// Output:
	// rs1 0.75
	// rs2 0.27
	// rs3 0.01
	// trusted true
}
