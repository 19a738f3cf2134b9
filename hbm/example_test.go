package hbm_test

import (
	"context"
	"fmt"

	"github.com/transdim/vti/gpu"
	"github.com/transdim/vti/hbm"
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
