//go:build quality

package hbm

import (
	"flag"
	"math"
	"testing"

	. "github.com/gomlx/gomlx/pkg/core/graph"
	"github.com/stretchr/testify/require"
	"gonum.org/v1/gonum/stat"
)

var (
	qualitySets  = flag.Int("quality.sets", 20, "data sets of each model")
	qualityModel = flag.String("quality.models", "", "only these models, with commas between")
)

// TestQualityOfFamilies compares the ELBO of families on models without a closed form, over
// simulated data sets, each with its own seed:
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

// paper is a model of one of the papers on PAVI or ADAVI, with its observed variable.
type paper struct {
	name  string
	model *Model
	x     *Variable
}

// nonConjugate returns eq. 7 of ADAVI: ten 2-D Laplace samples about a location with a gamma prior.
func nonConjugate() paper {
	m := NewModel()
	sample := m.Plate("sample", 10)
	a := m.Latent("a", Gamma(Number(1), Number(0.5)), Event(2))
	return paper{"non-conjugate", m, m.Observed("b", Laplace(a, Number(0.3)), On(sample), Event(2))}
}

// gaussianMixture returns eq. 8 of ADAVI: each group has its own means of three components,
// scattered about common means, and its own shares.
func gaussianMixture() paper {
	const components, dim = 3, 2
	m := NewModel()
	group, sample := m.Plate("group", 3), m.Plate("sample", 50)
	mean := m.Latent("mean", Normal(Number(0), Number(1)), Event(components, dim))
	groupMean := m.Latent("group mean", Normal(mean, Number(0.2)), On(group), Event(components, dim))
	share := m.Latent("share", Dirichlet(Number(1)), On(group), Event(components))
	densities := make([]Density, components)
	for l := range densities {
		densities[l] = Normal(At(groupMean, l), Number(0.05))
	}
	return paper{"Gaussian mixture", m, m.Observed("x", Mixture(share, densities...), On(group, sample), Event(dim))}
}

// hierarchicalVariance returns eq. B.23 of PAVI: the variance of each group is log-normal with a
// log-normal variance.
func hierarchicalVariance() paper {
	m := NewModel()
	group, sample := m.Plate("group", 15), m.Plate("sample", 15)
	sdOf := func(variance Term) Term { return Of(func(v []*Node) *Node { return Sqrt(v[0]) }, variance) }
	variance := m.Latent("variance", LogNormal(Number(0), Number(1)), Event(2))
	groupVariance := m.Latent("group variance", LogNormal(Number(0), sdOf(variance)), On(group), Event(2))
	return paper{"hierarchical variance", m, m.Observed("x", LogNormal(Number(0), sdOf(groupVariance)), On(group, sample), Event(2))}
}

// neuroimaging returns eq. B.24 of PAVI, a mixture for networks of brain connectivity, with labels
// summed out and the sizes of appendix B.4.3. The shares of networks in a subject scatter about the
// shares in the population.
func neuroimaging() paper {
	const networks, dim = 7, 4
	m := NewModel()
	subject, session, vertex := m.Plate("subject", 5), m.Plate("session", 6), m.Plate("vertex", 12)
	sd := Number(math.Sqrt(6))
	mean := m.Latent("mean", Normal(Number(0), sd), Event(networks, dim))
	spread := m.Latent("spread", LogNormal(Number(0), Number(1)), Event(networks))
	logits := m.Latent("logits", Normal(Number(0), sd), On(vertex), Event(networks))
	between := m.Latent("between subjects", LogNormal(Number(0), Number(1)), Event(networks))
	subjectLogits := m.Latent("logits of subject", Normal(logits, between), On(subject, vertex), Event(networks))
	shares := Of(func(v []*Node) *Node { return Softmax(v[0], -1) }, subjectLogits)
	densities := make([]Density, networks)
	for l := range densities {
		densities[l] = Normal(At(mean, l), At(spread, l))
	}
	return paper{"neuroimaging", m, m.Observed("x", Mixture(shares, densities...), On(subject, session, vertex), Event(dim))}
}

func (p paper) draw(t testing.TB, seed uint64) Values {
	simulator, err := NewSimulator(open(t), p.model)
	require.NoError(t, err)
	drawn, err := simulator.Draw(t.Context(), nil, seed, p.name)
	require.NoError(t, err)
	return Values{p.x: drawn[p.x]}
}
