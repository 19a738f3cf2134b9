package varsel_test

import (
	"context"
	"fmt"
	"log"
	"os"
	"path/filepath"

	"github.com/transdim/vti"
	"github.com/transdim/vti/amortize"
	"github.com/transdim/vti/gpu"
	"github.com/transdim/vti/table"
	"github.com/transdim/vti/varsel"
)

// A hardly trained network for tables of two to five predictors answers for Hald's cement data: it
// gives q(m | D) in one pass. A certificate corrects and judges the answer.
func ExampleProblem_BeginFrom() {
	ctx := context.Background()
	dir, err := os.MkdirTemp("", "network")
	if err != nil {
		log.Fatal(err)
	}
	defer os.RemoveAll(dir)
	device, err := gpu.Open(gpu.CPU)
	if err != nil {
		log.Fatal(err)
	}
	defer device.Close()

	network := filepath.Join(dir, "network.vti")
	family, err := varsel.NewFamily(varsel.FamilyConfig{Predictors: varsel.Range{Low: 2, High: 5}, Rows: varsel.Range{Low: 10, High: 30}})
	if err != nil {
		log.Fatal(err)
	}
	if _, err := amortize.Fit(ctx, device, family, amortize.Config{Steps: 2, Batch: 8, Checkpoint: network}); err != nil {
		log.Fatal(err)
	}

	data, err := table.ReadFile("../testdata/hald.csv")
	if err != nil {
		log.Fatal(err)
	}
	design, err := varsel.NewDesign(data, varsel.DesignOptions{Target: "y"})
	if err != nil {
		log.Fatal(err)
	}
	problem, err := varsel.NewProblem(design, varsel.ModelOptions{})
	if err != nil {
		log.Fatal(err)
	}
	beginning, err := problem.BeginFrom(device, network)
	if err != nil {
		log.Fatal(err)
	}
	posterior, err := vti.Open(ctx, device, problem.Posterior(), vti.Config{Begin: beginning})
	if err != nil {
		log.Fatal(err)
	}
	certificate, err := posterior.Certify(ctx, vti.CertifyConfig{})
	if err != nil {
		log.Fatal(err)
	}
	best := certificate.Models[0]
	fmt.Printf("%v: model %v, of probability %.2f by the network and %.2f certified\n", certificate.Verdict, best.Code, best.Q, best.Certified)
	// Output: trusted: model [1 1 0 0], of probability 0.40 by the network and 0.39 certified
}
