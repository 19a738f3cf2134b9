package varsel

import (
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/transdim/vti/likelihood"
	"github.com/transdim/vti/run"
	"github.com/transdim/vti/varsel/design"
)

func TestRecordKeepsEveryChoice(t *testing.T) {
	dir := t.TempDir()
	record := &Record{
		Header: run.Header{Command: "varsel", Data: "data.csv", Fingerprint: "00"},
		Design: DesignOptions{
			Target: "y", Likelihood: likelihood.PoissonKind, Always: []string{"a"}, Exclude: []string{"b"}, Factors: []string{"c"}, Offset: "o",
			Groups: []PredictorGroup{{Name: "g", Columns: []string{"d", "e"}}}, NoStandardize: true, NoIntercept: true, DropDegenerate: true, NA: design.DropNA,
		},
		Model:   ModelOptions{Likelihood: likelihood.PoissonKind, SlabScale: 0.1, Prior: Prior{Kind: BetaBinomialPrior, A: 1.0 / 3, B: 2, MaxSize: 7}},
		Sampler: AutoregressiveSampler, Steps: 10, Batch: 20, Seed: 1<<64 - 1,
	}
	require.NoError(t, run.WriteRecord(dir, record))
	read, err := run.ReadRecord[Record](dir)
	require.NoError(t, err)
	assert.Equal(t, record, read)

	text, err := json.Marshal(record.Model)
	require.NoError(t, err)
	assert.Contains(t, string(text), `"likelihood":"poisson"`)
	assert.Error(t, json.Unmarshal([]byte(`{"likelihood":"cauchy"}`), &ModelOptions{}))
	assert.Error(t, json.Unmarshal([]byte(`{"prior":"bernoulli:2"}`), &ModelOptions{}))
	assert.Error(t, json.Unmarshal([]byte(`{"na":"maybe"}`), &DesignOptions{}))
}
