//go:build quality

package hbm

import (
	"flag"
	"math"
	"testing"

	"gonum.org/v1/gonum/stat"
)

var (
	qualitySets  = flag.Int("quality.sets", 20, "data sets of each model")
	qualityModel = flag.String("quality.models", "", "only these models, with commas between")
)

// TestQualityOfFamilies compares the ELBO of families on models without a closed form, over
// simulated data sets, each with a seed of its own:
//
//	GOMAXPROCS=1 go test -tags quality -run TestQualityOfFamilies -v ./hbm
func TestQualityOfFamilies(t *testing.T) {
	t.Log("| model | family | data sets | weights | steps | mean ELBO | less pavi-f's | best and worst difference | not finite | CPU seconds for each |")
	for _, p := range []paper{nonConjugate(), gaussianMixture(), hierarchicalVariance(), neuroimaging()} {
		if !chosen(*qualityModel, p.name) {
			continue
		}
		reference := make([]float64, *qualitySets)
		for _, family := range []Family{PAVIF, PAVIE, Branch, MeanField} {
			if !chosen(*qualityFamily, family.String()) {
				continue
			}
			var last measured
			var cpu, failed float64
			elbos, differences := make([]float64, *qualitySets), make([]float64, *qualitySets)
			for set := range elbos {
				last = measure(t, p.model, p.draw(t, uint64(set)), 500, Config{Family: family, Seed: uint64(set)})
				cpu += last.cpu / float64(len(elbos))
				elbos[set] = last.elbo
				if family == PAVIF {
					reference[set] = last.elbo
				}
				differences[set] = last.elbo - reference[set]
				if math.IsNaN(last.elbo) || math.IsInf(last.elbo, 0) {
					failed++
				}
			}
			low, high := differences[0], differences[0]
			for _, d := range differences {
				low, high = math.Min(low, d), math.Max(high, d)
			}
			t.Logf("| %s | %v | %d | %d | %d | %.2f | %.2f | %.2f, %.2f | %.0f | %.1f |", p.name, family, len(elbos), last.Weights(), last.Steps(),
				stat.Mean(elbos, nil), stat.Mean(differences, nil), high, low, failed, cpu)
		}
	}
}
