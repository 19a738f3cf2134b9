package modelcheck_test

import (
	"encoding/json"
	"math"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/transdim/vti/modelcheck"
)

func TestReportJSON(t *testing.T) {
	report := modelcheck.Report{Verdict: modelcheck.Poor, Findings: []modelcheck.Finding{{
		What: "outlier: far", Where: "row 3", Statistic: 12, P: modelcheck.Number(math.NaN()), Advice: "look", Verdict: modelcheck.Poor,
	}}}
	encoded, err := json.Marshal(report)
	require.NoError(t, err)
	require.JSONEq(t, `{"verdict":"poor","findings":[{"what":"outlier: far","where":"row 3","statistic":12,"p":null,"advice":"look","verdict":"poor"}]}`, string(encoded))
	var back modelcheck.Report
	require.NoError(t, json.Unmarshal(encoded, &back))
	require.True(t, math.IsNaN(float64(back.Findings[0].P)))
	require.Equal(t, modelcheck.Poor, back.Verdict)
	require.ErrorContains(t, json.Unmarshal([]byte(`{"verdict":"fine"}`), &back), `unknown verdict of the model check "fine"`)
}

func TestReportText(t *testing.T) {
	report := modelcheck.Report{Verdict: modelcheck.Questionable, Findings: []modelcheck.Finding{
		{What: "outlier: far", Where: "row 3", P: 0.004, Advice: "a check of the row", Verdict: modelcheck.Questionable},
	}}
	lines := strings.Split(report.String(), "\n")
	require.True(t, strings.HasPrefix(lines[0], "model check: questionable: "))
	require.Equal(t, "  outlier: far (row 3; p = 0.004)", lines[1])
	require.Equal(t, "    try: a check of the row", lines[2])
}
