//go:build quality

package hbm

import (
	"fmt"
	"testing"
)

// TestQualityOfPlateAmortization is figure 2 of PAVI, left: the ELBO that families reach in so many
// steps of which each takes part in 2 of 100 groups, in 8 dimensions. Branch gives each group a
// distribution of its own: it is the family without amortization across the plate.
//
//	GOMAXPROCS=1 go test -tags quality -run TestQualityOfPlateAmortization -v ./hbm
func TestQualityOfPlateAmortization(t *testing.T) {
	e := newEffects(100, 50, 8)
	data := e.draw(t, 1)
	exact := e.exact(data)
	t.Log("| family | steps | gap per group | CPU seconds |")
	for _, family := range []Family{PAVIE, AmortizedBranch, PAVIF, Branch} {
		if !chosen(*qualityFamily, family.String()) {
			continue
		}
		for steps := 250; steps <= 16000; steps *= 2 {
			p := measure(t, e.model, data, 100, Config{Family: family, Batch: map[*Plate]int{e.model.plates[0]: 2}, Steps: steps})
			gap := (exact.logEvidence - p.elbo) / 100
			t.Logf("| %v | %d | %.3f | %.0f |", family, steps, gap, p.cpu)
			if gap < 0.1 {
				break
			}
		}
	}
}

// TestQualityOfEncodingSize is figure 2 of PAVI, right: 20 groups in 8 dimensions, 2 in each step,
// by the size of the encodings:
//
//	GOMAXPROCS=1 go test -tags quality -run TestQualityOfEncodingSize -v ./hbm
func TestQualityOfEncodingSize(t *testing.T) {
	e := newEffects(20, 50, 8)
	data := e.draw(t, 1)
	exact := e.exact(data)
	t.Log("| size | weights | ELBO, 1,000 steps | gap per group | ELBO, 3,000 steps | gap per group |")
	for _, size := range []int{2, 4, 8, 12, 16, 20} {
		row := fmt.Sprintf("| %d |", size)
		for i, steps := range []int{1000, 3000} {
			p := measure(t, e.model, data, 200, Config{Encoding: size, Batch: map[*Plate]int{e.model.plates[0]: 2}, Steps: steps})
			if i == 0 {
				row += fmt.Sprintf(" %d |", p.Weights())
			}
			row += fmt.Sprintf(" %.1f | %.3f |", p.elbo, (exact.logEvidence-p.elbo)/20)
		}
		t.Log(row)
	}
}
