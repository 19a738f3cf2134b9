package hbm_test

import (
	"context"
	"fmt"
	"log"

	. "github.com/gomlx/gomlx/pkg/core/graph"

	"github.com/transdim/vti"
	"github.com/transdim/vti/gpu"
	"github.com/transdim/vti/hbm"
	"github.com/transdim/vti/space"
)

// Gaussian random effects (ADAVI eq. 6): the means of three groups scatter about a mean, and fifty
// samples about the mean of their group.
func ExampleModel() {
	m := hbm.NewModel()
	group, sample := m.Plate("group", 3), m.Plate("sample", 50)
	mean := m.Latent("mean", hbm.Normal(hbm.Number(0), hbm.Number(1)), hbm.Event(2))
	groupMean := m.Latent("group mean", hbm.Normal(mean, hbm.Number(0.2)), hbm.On(group), hbm.Event(2))
	x := m.Observed("x", hbm.Normal(groupMean, hbm.Number(0.05)), hbm.On(group, sample), hbm.Event(2))
	if err := m.Err(); err != nil {
		panic(err)
	}
	fmt.Println(mean, groupMean, x, "parents of x:", x.Parents())

	device, err := gpu.Open(gpu.CPU)
	if err != nil {
		panic(err)
	}
	defer device.Close()
	simulator, err := hbm.NewSimulator(device, m)
	if err != nil {
		panic(err)
	}
	drawn, err := simulator.Draw(context.Background(), nil, 1, "data")
	if err != nil {
		panic(err)
	}
	fmt.Println(len(drawn[groupMean]), len(drawn[x]), m.CheckData(drawn))
	// Output:
	// mean[2] group mean[group[3]][2] x[group[3] sample[50]][2] parents of x: [group mean[group[3]][2]]
	// 6 300 <nil>
}

// wards are the stays of three patients of each of six wards, in days above the usual stay.
var wards = []float64{0.3, -0.5, 0.4, 0.1, 0.7, -0.4, 2.9, 2.2, 3.1, 0.2, -0.1, 0.6, -0.3, 0.5, 0.1, -1.9, -2.4, -1.7}

// wardModel returns a model with a mean of all wards and the difference of each ward from it.
func wardModel() (m *hbm.Model, mean, effect, stay *hbm.Variable) {
	m = hbm.NewModel()
	ward, patient := m.Plate("ward", 6), m.Plate("patient", 3)
	mean = m.Latent("mean", hbm.Normal(hbm.Number(0), hbm.Number(1)))
	effect = m.Latent("effect", hbm.Normal(hbm.Number(0), hbm.Number(2)), hbm.On(ward))
	days := hbm.Of(func(v []*Node) *Node { return Add(v[0], v[1]) }, mean, effect)
	stay = m.Observed("stay", hbm.Normal(days, hbm.Number(0.5)), hbm.On(ward, patient))
	return m, mean, effect, stay
}

func ExampleFit() {
	ctx := context.Background()
	m, _, effect, stay := wardModel()
	device, err1 := gpu.Open(gpu.CPU)
	posterior, err2 := hbm.Fit(ctx, device, m, hbm.Values{stay: wards}, hbm.Config{Family: hbm.Branch, Steps: 400, Seed: 1})
	certificate, err3 := posterior.Certify(ctx, hbm.CertifyConfig{Draws: 4000})
	for _, err := range []error{err1, err2, err3} {
		if err != nil {
			log.Fatal(err)
		}
	}
	sixth := 0.0
	for i, weight := range certificate.Weight {
		sixth += weight * certificate.Sample.Of(effect, i)[5]
	}
	fmt.Printf("%v: the sixth ward differs by %.1f days\n", certificate.Verdict, sixth)
	// Output:
	// trusted: the sixth ward differs by -2.1 days
}

// Which wards differ at all? Every effect may be missing: 2⁶ models.
func ExampleModel_Over() {
	m, mean, effect, stay := wardModel()
	var sites [][]int
	for _, coordinate := range m.Coordinates(effect) {
		sites = append(sites, []int{coordinate})
	}
	models, err1 := space.NewSubsets(m.Dim(), m.Coordinates(mean), sites)
	target, err2 := m.Over(models, space.Prior{}.LogProb, hbm.Values{stay: wards})
	target.LogConcave = true // normal densities with known standard deviations
	device, err3 := gpu.Open(gpu.CPU)
	solution, err4 := vti.Solve(context.Background(), device, target, vti.SolveConfig{Fit: vti.Config{Seed: 1}})
	for _, err := range []error{err1, err2, err3, err4} {
		if err != nil {
			log.Fatal(err)
		}
	}
	fmt.Println(solution.Certificate.Verdict)
	for ward := range sites {
		differs, _ := solution.Certificate.Probability(func(code []int32) bool { return code[ward] == 1 })
		fmt.Printf("ward %d differs with probability %.2f\n", ward, differs)
	}
	// Output:
	// trusted
	// ward 0 differs with probability 0.16
	// ward 1 differs with probability 0.16
	// ward 2 differs with probability 1.00
	// ward 3 differs with probability 0.17
	// ward 4 differs with probability 0.16
	// ward 5 differs with probability 1.00
}

// A family that is trained on simulated data answers for any data in one pass.
func ExamplePosterior_On() {
	ctx := context.Background()
	m, _, effect, stay := wardModel()
	device, err1 := gpu.Open(gpu.CPU)
	trained, err2 := hbm.Fit(ctx, device, m, nil, hbm.Config{Family: hbm.PAVIE, Amortize: 32, Steps: 400, Seed: 1})
	posterior, err3 := trained.On(m, hbm.Values{stay: wards})
	certificate, err4 := posterior.Certify(ctx, hbm.CertifyConfig{Draws: 4000})
	for _, err := range []error{err1, err2, err3, err4} {
		if err != nil {
			log.Fatal(err)
		}
	}
	sixth := 0.0
	for i, weight := range certificate.Weight {
		sixth += weight * certificate.Sample.Of(effect, i)[5]
	}
	fmt.Printf("%v: the sixth ward differs by %.1f days\n", certificate.Verdict, sixth)
	// Output:
	// trusted: the sixth ward differs by -2.1 days
}

// Which wards differ, for any stays? A family is trained on data simulated from the models.
func ExampleTarget_Family() {
	ctx := context.Background()
	m, mean, effect, stay := wardModel()
	var sites [][]int
	for _, coordinate := range m.Coordinates(effect) {
		sites = append(sites, []int{coordinate})
	}
	models, err1 := space.NewSubsets(m.Dim(), m.Coordinates(mean), sites)
	device, err2 := gpu.Open(gpu.CPU)
	config := hbm.Config{Family: hbm.PAVIE, Amortize: 32, Seed: 1}
	over := func(stays []float64) (target *hbm.Target, family vti.Flow) {
		target, err := m.Over(models, space.Prior{}.LogProb, hbm.Values{stay: stays})
		if err == nil {
			family, err = target.Family(config)
		}
		if err != nil {
			log.Fatal(err)
		}
		return target, family
	}
	target, family := over(make([]float64, len(wards))) // only the shape of the responses counts
	trained, err3 := vti.Fit(ctx, device, target, vti.Config{Backbone: family, Steps: 400, Seed: 1})

	target, family = over([]float64{0.2, -0.6, 0.3, 0.9, 1.6, 1.4, 0.1, -0.2, 0.4, -0.4, 0.5, 0.3, -0.3, 0.2, 0.4, -0.8, -1.7, -1.1})
	answer, err4 := vti.Open(ctx, device, target, vti.Config{Backbone: family, Begin: trained.Beginning()})
	certificate, err5 := answer.Certify(ctx, vti.CertifyConfig{Draws: 2000})
	for _, err := range []error{err1, err2, err3, err4, err5} {
		if err != nil {
			log.Fatal(err)
		}
	}
	fmt.Println(certificate.Verdict)
	for ward := range sites {
		differs, _ := certificate.Probability(func(code []int32) bool { return code[ward] == 1 })
		fmt.Printf("ward %d differs with probability %.1f\n", ward, differs)
	}
	// Output:
	// trusted
	// ward 0 differs with probability 0.2
	// ward 1 differs with probability 1.0
	// ward 2 differs with probability 0.2
	// ward 3 differs with probability 0.2
	// ward 4 differs with probability 0.2
	// ward 5 differs with probability 1.0
}
