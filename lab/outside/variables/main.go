// Command variables computes, for each predictor in a CSV file, the probability that it matters.
//
//	go run ./variables ../../testdata/diabetes.csv y
package main

import (
	"context"
	"fmt"
	"log"
	"os"

	"github.com/transdim/vti"
	"github.com/transdim/vti/gpu"
	"github.com/transdim/vti/table"
	"github.com/transdim/vti/varsel"
)

func main() {
	if err := run(os.Args[1], os.Args[2]); err != nil {
		log.Fatal(err)
	}
}

func run(path, target string) error {
	data, err := table.ReadFile(path)
	if err != nil {
		return err
	}
	design, err := varsel.NewDesign(data, varsel.DesignOptions{Target: target})
	if err != nil {
		return err
	}
	problem, err := varsel.NewProblem(design, varsel.ModelOptions{}) // Gaussian, default priors
	if err != nil {
		return err
	}
	device, err := gpu.Open(gpu.Auto)
	if err != nil {
		return err
	}
	defer device.Close()
	result, err := varsel.Run(context.Background(), device, problem, varsel.RunConfig{Fit: vti.Config{Seed: 1}})
	if err != nil {
		return err
	}
	fmt.Println(result.Certificate.Verdict)
	for _, predictor := range result.Inclusion {
		fmt.Printf("%-10s %.4f ± %.4f\n", predictor.Name, predictor.Certified, predictor.SE)
	}
	return nil
}
