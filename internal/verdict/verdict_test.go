package verdict

import (
	"encoding/json"
	"math"
	"testing"

	"github.com/stretchr/testify/require"
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
	require.EqualError(t, v.UnmarshalText([]byte("good")), `unknown verdict: got "good", want trusted, doubtful or failed`)
	require.Equal(t, "Verdict(7)", Verdict(7).String())
	_, err := Verdict(-1).MarshalText()
	require.Error(t, err)
}

func TestExitStatus(t *testing.T) {
	require.Equal(t, []int{3, 0, 0}, []int{Failed.ExitStatus(), Doubtful.ExitStatus(), Trusted.ExitStatus()})
}

// Every limit, at its edge and just beyond, and what is no number.
func TestLimits(t *testing.T) {
	nan, inf := math.NaN(), math.Inf(1)
	for _, test := range []struct {
		name   string
		judge  func(j *Judgement)
		want   Verdict
		reason string
	}{
		{"k̂ at its limit", func(j *Judgement) { j.Weights(0.7) }, Trusted, ""},
		{"k̂ above it", func(j *Judgement) { j.Weights(0.71) }, Doubtful, "Pareto k̂ is 0.71, above 0.7"},
		{"k̂ at one", func(j *Judgement) { j.Weights(1) }, Doubtful, "Pareto k̂ is 1.00, above 0.7"},
		{"k̂ above one", func(j *Judgement) { j.Weights(1.01) }, Failed, "Pareto k̂ is 1.01, above 1.0: the mean of the weights may not exist"},
		{"k̂ unknown", func(j *Judgement) { j.Weights(inf) }, Failed, "Pareto k̂ is +Inf, above 1.0: the mean of the weights may not exist"},
		{"k̂ not a number", func(j *Judgement) { j.Weights(nan) }, Failed, "Pareto k̂ is NaN, above 1.0: the mean of the weights may not exist"},
		{"chains agree", func(j *Judgement) { j.Chains(1.01) }, Trusted, ""},
		{"chains nearly agree", func(j *Judgement) { j.Chains(1.011) }, Doubtful, "R-hat of the chains is 1.011, above 1.01"},
		{"chains that only confirm", func(j *Judgement) { j.ChainsWithin(1.03, 1.03) }, Trusted, ""},
		{"chains that do not confirm", func(j *Judgement) { j.ChainsWithin(1.031, 1.03) }, Doubtful, "R-hat of the chains is 1.031, above 1.03"},
		{"chains apart", func(j *Judgement) { j.Chains(1.11) }, Failed, "R-hat of the chains is 1.11, above 1.1"},
		{"chains without R-hat", func(j *Judgement) { j.Chains(nan) }, Failed, "R-hat of the chains is NaN, above 1.1"},
		{"little missed", func(j *Judgement) { j.Missed(0.005, 0.5, 40_000) }, Trusted, ""},
		{"all missed", func(j *Judgement) { j.Missed(0.995, 0.9, 38_000) }, Doubtful, "nearly all of the posterior may lie where none of 38000 draws fell (Pareto k̂ 0.90)"},
		{"everything", func(j *Judgement) { j.Missed(1, 0.9, 38_000) }, Doubtful, "all of the posterior may lie where none of 38000 draws fell (Pareto k̂ 0.90)"},
		{"more missed", func(j *Judgement) { j.Missed(0.0051, 0.5, 38_000) }, Doubtful, "0.0051 of the posterior may lie where none of 38000 draws fell (Pareto k̂ 0.50)"},
		{"enough draws", func(j *Judgement) { j.Size(400, 1000) }, Trusted, ""},
		{"few draws", func(j *Judgement) { j.Size(399, 1000) }, Doubtful, "only 399 effective draws of 1000"},
		{"very few draws", func(j *Judgement) { j.Size(49, 1000) }, Failed, "only 49 effective draws of 1000"},
		{"no draws", func(j *Judgement) { j.Size(nan, 0) }, Failed, "only NaN effective draws of 0"},
		{"precise", func(j *Judgement) { j.Event(0.02, "an edge") }, Trusted, ""},
		{"imprecise", func(j *Judgement) { j.Event(0.021, "an edge") }, Doubtful, "the standard error of an edge probability is 0.021"},
		{"useless", func(j *Judgement) { j.Event(0.11, "a model") }, Failed, "the standard error of a model probability is 0.11"},
		{"error unknown", func(j *Judgement) { j.Event(nan, "a model") }, Failed, "the standard error of a model probability is NaN"},
		{"evidence known", func(j *Judgement) { j.Evidence(0.2) }, Trusted, ""},
		{"evidence rough", func(j *Judgement) { j.Evidence(0.5) }, Doubtful, "the standard error of the log evidence is 0.5"},
		{"evidence unknown", func(j *Judgement) { j.Evidence(inf) }, Failed, "the standard error of the log evidence is +Inf"},
		{"some non-finite", func(j *Judgement) { j.NonFinite(100, 10_000) }, Trusted, ""},
		{"many non-finite", func(j *Judgement) { j.NonFinite(101, 10_000) }, Failed, "1.0% of the draws have a log density that is not finite"},
		{"no draws at all", func(j *Judgement) { j.NonFinite(0, 0) }, Trusted, ""},
	} {
		t.Run(test.name, func(t *testing.T) {
			j := New()
			test.judge(j)
			require.Equal(t, test.want, j.Verdict)
			if test.reason == "" {
				require.Empty(t, j.Reasons)
				return
			}
			require.Equal(t, []string{test.reason}, j.Reasons)
		})
	}
}

// The verdict is that of the worst reason, and no reason is lost.
func TestJudgementCollects(t *testing.T) {
	j := New()
	j.Weights(0.8)
	j.Size(10, 100)
	j.Evidence(0.3)
	require.Equal(t, Failed, j.Verdict)
	require.Len(t, j.Reasons, 3)
}
