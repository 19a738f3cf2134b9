package verdict

import (
	"encoding/json"
	"math"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

func TestText(t *testing.T) {
	for v, name := range map[Verdict]string{Failed: "failed", Doubtful: "doubtful", Trusted: "trusted"} {
		require.Equal(t, name, v.String())
		encoded, err := json.Marshal(struct {
			Verdict Verdict `json:"verdict"`
		}{v})
		require.NoError(t, err)
		require.Equal(t, `{"verdict":"`+name+`"}`, string(encoded))
		var decoded struct{ Verdict Verdict }
		require.NoError(t, json.Unmarshal(encoded, &decoded))
		require.Equal(t, v, decoded.Verdict)
	}
	var v Verdict
	require.EqualError(t, v.UnmarshalText([]byte("good")), `unknown verdict "good"; want failed, doubtful or trusted`)
	require.Equal(t, "verdict.Verdict(7)", Verdict(7).String())
	_, err := Verdict(-1).MarshalText()
	require.Error(t, err)
}

func TestExitStatus(t *testing.T) {
	require.Equal(t, []int{3, 0, 0}, []int{Failed.ExitStatus(), Doubtful.ExitStatus(), Trusted.ExitStatus()})
}

// TestLimits checks every limit with a value equal to the limit, a value slightly worse, and NaN.
func TestLimits(t *testing.T) {
	nan, inf := math.NaN(), math.Inf(1)
	for _, test := range []struct {
		name     string
		measured Measured
		want     Verdict
		reason   string
	}{
		{"k̂ at its limit", Measured{Weights: &Weights{KHat: 0.7}, ESS: inf}, Trusted, ""},
		{"k̂ above it", Measured{Weights: &Weights{KHat: 0.71}, ESS: inf}, Doubtful, "Pareto k̂ is 0.71, above 0.7"},
		{"k̂ at one", Measured{Weights: &Weights{KHat: 1}, ESS: inf}, Doubtful, "Pareto k̂ is 1.00, above 0.7"},
		{"k̂ above one", Measured{Weights: &Weights{KHat: 1.01}, ESS: inf}, Failed, "Pareto k̂ is 1.01, above 1.0: the mean of the weights may not exist"},
		{"k̂ unknown", Measured{Weights: &Weights{KHat: inf}, ESS: inf}, Failed, "Pareto k̂ is +Inf, above 1.0: the mean of the weights may not exist"},
		{"k̂ not a number", Measured{Weights: &Weights{KHat: nan}, ESS: inf}, Failed, "Pareto k̂ is NaN, above 1.0: the mean of the weights may not exist"},
		{"chains agree", Measured{Chains: &Chains{RHat: 1.01}, ESS: inf}, Trusted, ""},
		{"chains nearly agree", Measured{Chains: &Chains{RHat: 1.011}, ESS: inf}, Doubtful, "R-hat of the chains is 1.011, above 1.01"},
		{"chains that only confirm", Measured{Chains: &Chains{RHat: 1.03, Limit: 1.03}, ESS: inf}, Trusted, ""},
		{"chains that do not confirm", Measured{Chains: &Chains{RHat: 1.031, Limit: 1.03}, ESS: inf}, Doubtful, "R-hat of the chains is 1.031, above 1.03"},
		{"chains apart", Measured{Chains: &Chains{RHat: 1.11}, ESS: inf}, Failed, "R-hat of the chains is 1.11, above 1.1"},
		{"chains without R-hat", Measured{Chains: &Chains{RHat: nan}, ESS: inf}, Failed, "R-hat of the chains is NaN, above 1.1"},
		{"little missed", Measured{Weights: &Weights{KHat: 0.5, Missed: 0.005}, ESS: inf, Draws: 38_000}, Trusted, ""},
		{"all missed", Measured{Weights: &Weights{KHat: 0.5, Missed: 0.995}, ESS: inf, Draws: 38_000}, Doubtful, "nearly all of the posterior may lie where none of 38000 draws fell (Pareto k̂ 0.50)"},
		{"everything", Measured{Weights: &Weights{KHat: 0.5, Missed: 1}, ESS: inf, Draws: 38_000}, Doubtful, "all of the posterior may lie where none of 38000 draws fell (Pareto k̂ 0.50)"},
		{"more missed", Measured{Weights: &Weights{KHat: 0.5, Missed: 0.0051}, ESS: inf, Draws: 38_000}, Doubtful, "0.0051 of the posterior may lie where none of 38000 draws fell (Pareto k̂ 0.50)"},
		{"enough draws", Measured{ESS: 400, Draws: 1000}, Trusted, ""},
		{"few draws", Measured{ESS: 399, Draws: 1000}, Doubtful, "only 399 effective draws of 1000"},
		{"very few draws", Measured{ESS: 49, Draws: 1000}, Failed, "only 49 effective draws of 1000"},
		{"no draws", Measured{Weights: &Weights{}, ESS: nan}, Failed, "only NaN effective draws of 0"},
		{"precise", Measured{Event: "an edge", EventSE: 0.02}, Trusted, ""},
		{"imprecise", Measured{Event: "an edge", EventSE: 0.021}, Doubtful, "the standard error of an edge probability is 0.021"},
		{"useless", Measured{Event: "a model", EventSE: 0.11}, Failed, "the standard error of a model probability is 0.11"},
		{"error unknown", Measured{Event: "a model", EventSE: nan}, Failed, "the standard error of a model probability is NaN"},
		{"evidence known", Measured{EvidenceSE: 0.2}, Trusted, ""},
		{"evidence rough", Measured{EvidenceSE: 0.5}, Doubtful, "the standard error of the log evidence is 0.5"},
		{"evidence unknown", Measured{EvidenceSE: inf}, Failed, "the standard error of the log evidence is +Inf"},
		{"some non-finite", Measured{ESS: inf, Draws: 10_000, NonFinite: 100}, Trusted, ""},
		{"many non-finite", Measured{ESS: inf, Draws: 10_000, NonFinite: 101}, Failed, "1.0% of the draws have a log density that is not finite"},
		{"a closed form", Measured{}, Trusted, ""},
	} {
		t.Run(test.name, func(t *testing.T) {
			j := Judge(test.measured)
			require.Equal(t, test.want, j.Verdict)
			if test.reason == "" {
				require.Empty(t, j.Reasons)
				return
			}
			require.Equal(t, []string{test.reason}, j.Reasons)
		})
	}
}

// TestLessIsNotBetter checks that a verdict does not improve with fewer draws, or with draws that
// agree less or are less informative.
func TestLessIsNotBetter(t *testing.T) {
	number := rapid.OneOf(rapid.Float64Range(0, 2), rapid.Just(math.NaN()), rapid.Just(math.Inf(1)))
	rapid.Check(t, func(t *rapid.T) {
		worse := func(x float64, name string) float64 { // NaN and infinity do not change
			return x * (1 + rapid.Float64Range(0, 3).Draw(t, name))
		}
		draws := rapid.IntRange(100, 100_000).Draw(t, "draws")
		more := Measured{
			ESS: rapid.Float64Range(0, 1).Draw(t, "efficiency") * float64(draws), Draws: draws,
			Event: "a model", EventSE: number.Draw(t, "se of events") / 5, EvidenceSE: number.Draw(t, "se of evidence") / 2,
			NonFinite: rapid.IntRange(0, draws/30).Draw(t, "not finite"),
		}
		share := rapid.Float64Range(0.01, 1).Draw(t, "share that is left")
		fewer := more
		fewer.Draws = max(1, int(share*float64(draws)))
		fewer.ESS = more.ESS * share
		fewer.EventSE, fewer.EvidenceSE = worse(more.EventSE, "events"), worse(more.EvidenceSE, "evidence")
		if rapid.Bool().Draw(t, "weights") {
			kHat, missed := number.Draw(t, "k̂"), rapid.Float64Range(0, 0.02).Draw(t, "missed")
			more.Weights = &Weights{KHat: kHat, Missed: missed}
			fewer.Weights = &Weights{KHat: worse(kHat, "heavier"), Missed: worse(missed, "more missed")}
		}
		if rapid.Bool().Draw(t, "chains") {
			rHat := 1 + number.Draw(t, "R-hat")/10
			more.Chains, fewer.Chains = &Chains{RHat: rHat}, &Chains{RHat: 1 + worse(rHat-1, "apart")}
		}
		before, after := Judge(more), Judge(fewer)
		require.LessOrEqual(t, after.Verdict, before.Verdict, "%v and with fewer draws %v", before.Reasons, after.Reasons)
		require.GreaterOrEqual(t, len(after.Reasons), len(before.Reasons))
	})
}

// TestJudgementCollects checks that the verdict is the worst of all reasons, and that no reason is
// lost.
func TestJudgementCollects(t *testing.T) {
	j := Judge(Measured{Weights: &Weights{KHat: 0.8}, ESS: 10, Draws: 100, EvidenceSE: 0.3})
	require.Equal(t, Failed, j.Verdict)
	require.Len(t, j.Reasons, 3)
}
