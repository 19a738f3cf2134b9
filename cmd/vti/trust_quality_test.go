//go:build quality

package main

import (
	"flag"
	"math"
	"path/filepath"
	"strconv"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/transdim/vti"
	"github.com/transdim/vti/dag"
)

var examplesDir = flag.String("examples", "", "folder with the tables on which a verdict was once wrong, in trust and lme")

// exampleAnswer is a number in the answer for an example, with its true value and tolerance.
type exampleAnswer struct {
	quantity           string
	stated, exact, off float64
}

// TestExamples runs commands without further flags, with seeds 1 to 3, on tables that are difficult
// to answer. Every answer must be right or not trusted. The exact numbers come from enumerations
// and quadratures that are independent of this program.
//
//	go test -v -tags quality -run TestExamples -timeout 1h ./cmd/vti -args -examples DIR
func TestExamples(t *testing.T) {
	if *examplesDir == "" {
		t.Skip("-args -examples names no folder")
	}
	inclusion := func(name string, exact float64) func(t *testing.T, json string) (vti.Verdict, []exampleAnswer) {
		return func(t *testing.T, json string) (vti.Verdict, []exampleAnswer) {
			a := decode(t, json)
			for _, in := range a.Inclusion {
				if in.Name == name {
					return readVerdict(t, a.Certificate.Verdict), []exampleAnswer{{name, in.Certified, exact, 0.01}}
				}
			}
			require.Fail(t, "no predictor", name)
			return vti.Failed, nil
		}
	}
	evidence := func(exact float64) func(t *testing.T, json string) (vti.Verdict, []exampleAnswer) {
		return func(t *testing.T, json string) (vti.Verdict, []exampleAnswer) {
			a := decode(t, json)
			return readVerdict(t, a.Certificate.Verdict), []exampleAnswer{{"log evidence", *a.LogEvidence, exact, 0.05}}
		}
	}
	joined := func(exact map[[2]string]float64, off float64) func(t *testing.T, json string) (vti.Verdict, []exampleAnswer) {
		return func(t *testing.T, json string) (verdict vti.Verdict, list []exampleAnswer) {
			result := decodeDag(t, json)
			for pair, want := range exact {
				list = append(list, exampleAnswer{pair[0] + "–" + pair[1], joinedIn(result, pair), want, off})
			}
			return result.Certificate.Verdict, list
		}
	}
	// groups compares an answer with exact evidences and standard deviations. The argument sds is
	// nil if no exact standard deviations are known, but only draws of another program.
	groups := func(exact float64, sds map[string][2]float64) func(t *testing.T, json string) (vti.Verdict, []exampleAnswer) {
		return func(t *testing.T, json string) (vti.Verdict, []exampleAnswer) {
			a := decodeHbm(t, json)
			list := []exampleAnswer{{"log evidence", *a.LogEvidence, exact, 0.05}}
			for _, s := range a.SDs {
				if want, known := sds[s.Name]; known {
					list = append(list, exampleAnswer{s.Name, float64(s.Mean), want[0], 0.05 * want[1]}, exampleAnswer{"sd of " + s.Name, float64(s.SD), want[1], 0.1 * want[1]})
				}
			}
			return readVerdict(t, a.Certificate.Verdict), list
		}
	}
	uniform := []string{"--target", "y", "--model-prior", "uniform"}
	for name, example := range map[string]struct {
		args []string
		read func(t *testing.T, json string) (vti.Verdict, []exampleAnswer)
	}{
		"trust/A28r.csv":                     {append([]string{"varsel"}, uniform...), inclusion("x3", 0.6075)},
		"trust/N3.csv":                       {append([]string{"varsel"}, uniform...), inclusion("fac", 0.9327)},
		"trust/U9.csv":                       {append([]string{"varsel"}, uniform...), evidence(-9.7565)},
		"trust/d1_51.csv":                    {append([]string{"varsel"}, uniform...), evidence(-56.642 - 5*math.Ln2)},
		"trust/pois.csv":                     {append([]string{"varsel", "--likelihood", "poisson"}, uniform...), evidence(-93.103 - 2*math.Ln2)},
		"trust/dag_near_copies.csv":          {[]string{"dag", "--sem", "linear", "--graph-prior", "uniform"}, joined(map[[2]string]float64{{"v1", "v4"}: 0.3}, 0.01)},
		"trust/dag_shifted_intervention.csv": {[]string{"dag", "--intervened", "target"}, joined(map[[2]string]float64{{"v0", "v1"}: 1, {"v1", "v2"}: 1, {"v0", "v2"}: 0, {"v0", "v3"}: 0, {"v0", "v4"}: 0, {"v1", "v3"}: 0, {"v1", "v4"}: 0, {"v2", "v3"}: 0, {"v2", "v4"}: 0, {"v3", "v4"}: 0}, 0.2)},
		"trust/dag_three_levels.csv":         {[]string{"dag"}, joined(map[[2]string]float64{{"region", "sick"}: 1}, 0.01)},
		"lme/penicillin.csv":                 {[]string{"hbm", "--formula", "diameter ~ 1 + (1 | plate) + (1 | sample)"}, groups(-176.120, map[string][2]float64{"sd((Intercept) | sample)": {2.133, 0.649}})},
		"lme/alfalfa.csv":                    {[]string{"hbm", "--formula", "Yield ~ Date + Variety + (1 | Block/Variety)"}, groups(-14.266, map[string][2]float64{"sigma": {0.173, 0.018}})},
		"lme/oats.csv":                       {[]string{"hbm", "--formula", "yield ~ nitro + Variety + (1 | Block/Variety)"}, groups(-318.35, nil)},
	} {
		for seed := range 3 {
			t.Run(name+" "+strconv.Itoa(seed+1), func(t *testing.T) {
				args := append([]string{example.args[0], filepath.Join(*examplesDir, name)}, example.args[1:]...)
				args = append(args, "--seed", strconv.Itoa(seed+1), "--json", "--quiet", "--no-report", "--out", filepath.Join(t.TempDir(), "run"))
				verdict, answers := example.read(t, mustRun(t, args...).stdout)
				for _, a := range answers {
					t.Logf("%s, seed %d: %v: %s %.4f, exactly %.4f", name, seed+1, verdict, a.quantity, a.stated, a.exact)
					if verdict == vti.Trusted {
						require.InDelta(t, a.exact, a.stated, a.off, a.quantity)
					}
				}
			})
		}
	}
}

func readVerdict(t *testing.T, text string) (v vti.Verdict) {
	t.Helper()
	require.NoError(t, v.UnmarshalText([]byte(text)))
	return v
}

func joinedIn(r *dag.Result, pair [2]string) float64 {
	for _, e := range r.Edges {
		if e.From == pair[0] && e.To == pair[1] || e.From == pair[1] && e.To == pair[0] {
			return float64(e.Prob + e.ProbReverse)
		}
	}
	return 0
}
