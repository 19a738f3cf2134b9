package main

import (
	"encoding/csv"
	"encoding/json"
	"fmt"
	"math"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/transdim/vti/cmd/internal/shell"
	"github.com/transdim/vti/lab/testkit"
	"github.com/transdim/vti/predict"
	"github.com/transdim/vti/varsel"
)

// parties returns rows with three unordered categories. The second is more likely at greater age.
func parties(rows int) string {
	random := rand.New(rand.NewPCG(3, 4))
	var text strings.Builder
	text.WriteString("age,town,party\n")
	for i := range rows {
		age, best, chosen := 50+15*random.NormFloat64(), math.Inf(-1), ""
		for k, party := range []string{"left", "right", "new:one"} {
			score := -math.Log(random.ExpFloat64())
			if k == 1 {
				score += 0.12 * (age - 50)
			}
			if score > best {
				best, chosen = score, party
			}
		}
		fmt.Fprintf(&text, "%.1f,%c,%s\n", age, "ns"[i%2], chosen)
	}
	return text.String()
}

// TestCategorical checks every command that works with a response of categories without an order:
// selection, predictions, effects, checks and exports.
func TestCategorical(t *testing.T) {
	testkit.Slow(t)
	emptyDir(t, "data.csv", parties(80))
	arguments := []string{"varsel", "data.csv", "--target", "party", "--likelihood", "categorical"}
	got := mustRun(t, tiny(append(arguments, "--levels", "right,left,new:one", "--out", "run", "--json")...)...)
	var answer varsel.Result
	require.NoError(t, json.Unmarshal([]byte(got.stdout), &answer))
	require.Greater(t, float64(answer.Inclusion[0].Certified), 0.95)
	require.Equal(t, "left:age", answer.Coefficients[2].Name)
	require.Less(t, float64(answer.Coefficients[2].Mean), -0.03)
	require.Equal(t, "new:one", answer.ModelCheck.Predictive[2].Category)

	require.Empty(t, mustRun(t, "predict", "run", "data.csv", "-q").stdout)
	require.Contains(t, readFile(t, "run/predictions.csv"), "new:one")
	lines, err := csv.NewReader(strings.NewReader(readFile(t, "run/predictions.csv"))).ReadAll()
	require.NoError(t, err)
	require.Equal(t, []string{"p[right]", "p[left]", "p[new:one]"}, lines[0][8:11])
	var effects predict.Effects
	require.NoError(t, json.Unmarshal([]byte(mustRun(t, "effects", "run", "--of", "age=30,70", "--json").stdout), &effects))
	require.Equal(t, []string{"right", "left", "new:one"}, effects.Categories)
	require.Greater(t, float64(effects.Means[1].Mean), float64(effects.Means[0].Mean)+0.3)
	require.Contains(t, mustRun(t, "check", "run").stdout, "leave-one-out: 80 rows")
	mustRun(t, "export", "run", "--out", "run.zarr")
	require.Contains(t, readFile(t, "run/report.html"), "an earlier category of party")
	require.Contains(t, readFile(t, "run/draws.csv"), "beta[new:one:town=s]")

	for _, wrong := range []struct{ args, says string }{
		{"--offset age", `offset "age": the categorical likelihood`},
		{"--levels left,right", `got "new:one", want one of the levels left, right`},
		{"--codes lists", "no lists of predictors: want --codes bits"},
		{"--trials age", "--trials is for --likelihood logistic"},
	} {
		got := vtiCommand(t, append(arguments, strings.Fields(wrong.args)...)...)
		require.Equal(t, shell.StatusUsage, got.status, got.stderr)
		require.Contains(t, got.stderr, wrong.says)
	}
}

// TestLeavingOutTheOnlyRowOfACategory leaves out the only row of a category. The category must
// still exist in the repeated run. The repeated run gets the flag --levels for this; without the
// flag it would have one category less, and could not predict that row.
func TestLeavingOutTheOnlyRowOfACategory(t *testing.T) {
	testkit.Long(t)
	emptyDir(t, "data.csv", "x,z,id,y\n-1,0.3,1,a\n0.2,-1,2,b\n0.4,0.5,3,a\n2.5,0.1,4,\"c, d\"\n-0.3,1.1,5,b\n-0.7,-0.4,6,a\n1.1,0.9,7,b\n0.6,-0.2,8,b\n")
	mustRun(t, tiny("varsel", "data.csv", "--target", "y", "--likelihood", "categorical", "--exclude", "id", "--out", "run")...)
	var found struct {
		Runs []predict.Ranked `json:"runs"`
	}
	require.NoError(t, json.Unmarshal([]byte(mustRun(t, "loo", "run", "--by", "id", "--json", "--quiet").stdout), &found))
	groups := found.Runs[0].ByGroup.Groups
	require.Len(t, groups, 8)
	for _, g := range groups {
		require.Equal(t, g.Group == "4", float64(g.ELPD) < -2.5, "%v", g) // without its row, category 4 was never seen
	}
}

// A simulated table names the category of each effect.
func TestSimulateCategorical(t *testing.T) {
	emptyDir(t, "", "")
	got := mustRun(t, "simulate", "varsel", "--likelihood", "categorical", "--rows", "30", "--predictors", "3", "--effects", "2", "--out", "s.csv")
	require.Contains(t, got.stdout, "log odds of category 0")
	require.Contains(t, got.stdout, "log odds of category 1")
}
