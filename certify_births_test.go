package vti_test

import (
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/transdim/vti"
	"github.com/transdim/vti/gpu"
	"github.com/transdim/vti/table"
	"github.com/transdim/vti/varsel"
)

// standIns writes a table in which x0 + x1 and x2 + x3 explain the response nearly equally well, no
// one of the four does alone, and others explain nothing: the way from one pair to the other leads
// through models that are worse by so many nats as depend on the noise.
func standIns(t *testing.T, rows, others int, noise float64, seed uint64) string {
	random := rand.New(rand.NewPCG(seed, 1))
	var lines strings.Builder
	for j := range 4 + others {
		fmt.Fprintf(&lines, "x%d,", j)
	}
	lines.WriteString("y\n")
	for range rows {
		a, b, c := random.NormFloat64(), random.NormFloat64(), random.NormFloat64()
		for _, x := range []float64{a, b, c, a + b - c + noise*random.NormFloat64()} {
			fmt.Fprintf(&lines, "%v,", x)
		}
		for range others {
			fmt.Fprintf(&lines, "%v,", random.NormFloat64())
		}
		fmt.Fprintf(&lines, "%v\n", a+b+noise*random.NormFloat64())
	}
	path := filepath.Join(t.TempDir(), "standins.csv")
	require.NoError(t, os.WriteFile(path, []byte(lines.String()), 0o600))
	return path
}

// TestBirthsAndDeaths compares with sums over all models: a table of eight predictors, and tables
// in which pairs of predictors stand in for each other, with a shallow valley between and with one
// of thousands of nats.
func TestBirthsAndDeaths(t *testing.T) {
	for _, c := range []struct {
		name, path, target string
	}{
		{"prostate", "testdata/prostate.csv", "lpsa"},
		{"shallow", standIns(t, 40, 8, 0.5, 1), "y"},
		{"deep", standIns(t, 40, 8, 0.05, 2), "y"},
	} {
		t.Run(c.name, func(t *testing.T) {
			data, err := table.ReadFile(c.path)
			require.NoError(t, err)
			design, err := varsel.NewDesign(data, varsel.DesignOptions{Target: c.target})
			require.NoError(t, err)
			problem, err := varsel.NewProblem(design, varsel.ModelOptions{Codes: varsel.ListCodes, Prior: varsel.Prior{MaxSize: 4}})
			require.NoError(t, err)
			exact, err := varsel.RunExact(t.Context(), problem, nil, "")
			require.NoError(t, err)
			device, err := gpu.Open(gpu.CPU)
			require.NoError(t, err)
			defer device.Close()
			posterior, err := vti.Fit(t.Context(), device, problem.Posterior(), vti.Config{Steps: 1, Seed: 1})
			require.NoError(t, err)
			certificate, err := posterior.CertifyBirths(t.Context(), vti.CertifyConfig{})
			require.NoError(t, err)
			require.Equal(t, vti.Trusted, certificate.Verdict, certificate.Reasons)
			require.True(t, certificate.Confirmed)
			require.Equal(t, vti.BirthsAndDeaths, certificate.Basis)
			require.InDelta(t, float64(*exact.LogEvidence), certificate.LogEvidence+design.LogJacobian(), 5*certificate.LogEvidenceSE+1e-3)
			// Items are predictors in order of promise; sorted probabilities need no names.
			lists := problem.Slots.Space().(interface{ Set(code []int32) []int32 })
			found, se := certificate.Frequencies(len(design.Predictors), func(code []int32) (members []int) {
				for _, item := range lists.Set(code) {
					members = append(members, int(item))
				}
				return members
			})
			var want []float64
			for _, inclusion := range exact.Inclusion {
				want = append(want, float64(inclusion.Certified))
			}
			slices.Sort(want)
			slices.Sort(found)
			for j := range want {
				require.InDelta(t, want[j], found[j], 5*slices.Max(se)+2e-3)
			}
		})
	}
}
