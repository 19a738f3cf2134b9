package colocate_test

import (
	"context"
	"fmt"
	"log"
	"math/rand/v2"
	"os"
	"path/filepath"

	"github.com/transdim/vti/run"
	"github.com/transdim/vti/varsel"
	"github.com/transdim/vti/varsel/colocate"
)

// selected simulates a trait of 150 people on which, of three genetic markers, only m2 has an
// effect. It runs the selection of markers in the directory dir and opens the finished run.
func selected(dir string, seed uint64) (*varsel.StoredRun, error) {
	random := rand.New(rand.NewPCG(seed, 0))
	rows := "m1,m2,m3,trait\n"
	for range 150 {
		shared := random.NormFloat64()
		m1, m2, m3 := shared+random.NormFloat64(), shared+random.NormFloat64(), random.NormFloat64()
		rows += fmt.Sprintf("%.3f,%.3f,%.3f,%.3f\n", m1, m2, m3, m2+4*random.NormFloat64())
	}
	path := filepath.Join(dir, "people.csv")
	if err := os.WriteFile(path, []byte(rows), 0o600); err != nil {
		return nil, err
	}
	record := &varsel.Record{Header: run.Header{Command: "exact", Data: path}, Design: varsel.DesignOptions{Target: "trait"}}
	people, err := record.Table()
	if err != nil {
		return nil, err
	}
	design, err := varsel.NewDesign(people, record.Design)
	if err != nil {
		return nil, err
	}
	problem, err := varsel.NewProblem(design, record.Model)
	if err != nil {
		return nil, err
	}
	if err := run.WriteRecord(dir, record); err != nil {
		return nil, err
	}
	if _, err := varsel.RunExact(context.Background(), problem, nil, dir); err != nil {
		return nil, err
	}
	return varsel.OpenRun(dir)
}

// Two traits of different people have an effect of the same marker.
func ExampleOf() {
	var runs [2]*varsel.StoredRun
	for k := range runs {
		dir, err := os.MkdirTemp("", "trait")
		if err != nil {
			log.Fatal(err)
		}
		defer os.RemoveAll(dir)
		if runs[k], err = selected(dir, uint64(k)); err != nil {
			log.Fatal(err)
		}
	}
	result, err := colocate.Of(runs[0], runs[1], 0)
	if err != nil {
		log.Fatal(err)
	}
	for _, h := range result.Hypotheses {
		fmt.Printf("%s: %.3f\n", h.Name, float64(h.Probability))
	}
	fmt.Printf("the marker is %s with probability %.3f\n", result.Shared[0].Name, float64(result.Shared[0].Shared))
	// Output:
	// neither response has a predictor: 0.039
	// only A has: 0.078
	// only B has: 0.232
	// both have, and share none: 0.014
	// both share one or more: 0.637
	// the marker is m2 with probability 0.635
}
