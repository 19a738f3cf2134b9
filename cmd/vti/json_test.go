package main

import (
	"encoding/json"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/transdim/vti/cmd/internal/shell"
	"github.com/transdim/vti/lab/testkit"
)

// answer is the tested part of the JSON of a selection; docs/schema describes all of it.
type answer struct {
	Command string  `json:"command"`
	Version string  `json:"version"`
	Seed    *uint64 `json:"seed"`
	Backend string  `json:"backend"`
	Data    struct {
		Rows       int      `json:"rows"`
		Predictors []string `json:"predictors"`
	} `json:"data"`
	Seconds struct {
		Train   float64 `json:"train"`
		Certify float64 `json:"certify"`
		Total   float64 `json:"total"`
	} `json:"seconds"`
	Steps       int      `json:"steps"`
	Loss        *float64 `json:"loss"`
	Certificate *struct {
		Verdict       string   `json:"verdict"`
		Basis         string   `json:"basis"`
		Confirmed     bool     `json:"confirmed"`
		KHat          *float64 `json:"khat"`
		RHat          *float64 `json:"rhat"`
		ESS           *float64 `json:"ess"`
		Draws         int      `json:"draws"`
		ModelsChecked int      `json:"models_checked"`
		Complete      bool     `json:"complete"`
		Reasons       []string `json:"reasons"`
	} `json:"certificate"`
	Diagnostics *struct {
		Verdict string   `json:"verdict"`
		Chains  int      `json:"chains"`
		Draws   int      `json:"draws"`
		RHat    *float64 `json:"rhat"`
		ESS     *float64 `json:"ess"`

		Exchanges  []float64 `json:"exchanges"`
		RoundTrips int       `json:"round_trips"`
		Reasons    []string  `json:"reasons"`
	} `json:"diagnostics"`
	ModelCheck *struct {
		Verdict  string           `json:"verdict"`
		Findings []map[string]any `json:"findings"`

		Predictive []map[string]float64 `json:"predictive"`
	} `json:"model_check"`
	LogEvidence   *float64 `json:"log_evidence"`
	LogEvidenceSE *float64 `json:"log_evidence_se"`
	Inclusion     []struct {
		Name      string   `json:"name"`
		Q         *float64 `json:"q"`
		Certified float64  `json:"certified"`
		SE        *float64 `json:"se"`
		RHat      *float64 `json:"rhat"`
		ESS       *float64 `json:"ess"`
	} `json:"inclusion"`
	Models       []answerModel `json:"models"`
	Coefficients []struct {
		Predictor   string   `json:"predictor"`
		Name        string   `json:"name"`
		Mean        *float64 `json:"mean"`
		SD          *float64 `json:"sd"`
		Q025        *float64 `json:"q025"`
		Q975        *float64 `json:"q975"`
		MeanGivenIn *float64 `json:"mean_given_in"`
		SDGivenIn   *float64 `json:"sd_given_in"`
		Q025GivenIn *float64 `json:"q025_given_in"`
		Q975GivenIn *float64 `json:"q975_given_in"`

		Prior *struct {
			LogNormal bool    `json:"log_normal"`
			Mean      float64 `json:"mean"`
			SD        float64 `json:"sd"`
		} `json:"prior"`
	} `json:"coefficients"`
	SizePrior []float64 `json:"size_prior"`
	RunDir    string    `json:"run_dir"`
}

type answerModel struct {
	Code          string   `json:"code"`
	Size          int      `json:"size"`
	Q             *float64 `json:"q"`
	Certified     float64  `json:"certified"`
	SE            *float64 `json:"se"`
	LogEvidence   *float64 `json:"log_evidence"`
	LogEvidenceSE *float64 `json:"log_evidence_se"`
	KHat          *float64 `json:"khat"`
}

func decode(t *testing.T, text string) answer {
	t.Helper()
	decoder := json.NewDecoder(strings.NewReader(text))
	var a answer
	require.NoError(t, decoder.Decode(&a))
	rest, err := decoder.Token()
	require.Error(t, err, "%v after the object", rest)
	return a
}

// keys lists the keys of a JSON object and of the first element of its lists, as "inclusion.name".
func keys(t *testing.T, text string) []string {
	t.Helper()
	var object map[string]any
	require.NoError(t, json.Unmarshal([]byte(text), &object))
	var found []string
	for key, value := range object {
		found = append(found, key)
		if list, ok := value.([]any); ok && len(list) > 0 {
			value = list[0]
		}
		if inner, ok := value.(map[string]any); ok {
			for name := range inner {
				found = append(found, key+"."+name)
			}
		}
	}
	return found
}

const (
	commonKeys = `command version data data.rows data.predictors seconds seconds.train seconds.certify seconds.total
		inclusion inclusion.name inclusion.certified inclusion.se models models.code models.size models.certified models.se
		coefficients coefficients.name coefficients.mean coefficients.sd coefficients.q025 coefficients.q975 coefficients.mean_given_in run_dir`
	varselKeys = `seed backend steps loss certificate certificate.verdict certificate.khat certificate.ess certificate.draws
		certificate.models_checked inclusion.q models.q models.log_evidence models.log_evidence_se certificate.basis certificate.confirmed`
	exactKeys  = `models.log_evidence models.log_evidence_se log_evidence`
	chainsKeys = `seed backend diagnostics diagnostics.rhat diagnostics.ess inclusion.rhat inclusion.ess`
)

// TestJSONContract checks the keys of each command's object, and the consistency of its parts.
func TestJSONContract(t *testing.T) {
	testkit.Slow(t)
	emptyDir(t, "", "")
	hald := testdata(t, "hald.csv")
	for _, test := range []struct {
		args []string
		keys string
	}{
		{tiny("varsel", hald, "--target", "y", "--sigma", "2.5", "--seed", "7", "--json"), varselKeys},
		{[]string{"exact", hald, "--target", "y", "--sigma", "2.5", "--json"}, exactKeys},
		{[]string{"rjmcmc", "varsel", hald, "--target", "y", "--sigma", "2.5", "--seed", "7", "--json", "--chains", "16", "--iterations", "100", "--burn-in", "50"}, chainsKeys},
	} {
		t.Run(test.args[0], func(t *testing.T) {
			got := mustRun(t, test.args...)
			assert.Subset(t, keys(t, got.stdout), strings.Fields(commonKeys+" "+test.keys))
			a := decode(t, got.stdout)
			assert.Equal(t, 13, a.Data.Rows)
			assert.Equal(t, []string{"x1", "x2", "x3", "x4"}, a.Data.Predictors)
			require.Len(t, a.Inclusion, 4)
			if a.Seed != nil {
				assert.Equal(t, uint64(7), *a.Seed)
			}
			inclusion := make([]float64, 4)
			var sum float64
			for i, model := range a.Models {
				require.Len(t, model.Code, 4)
				assert.Equal(t, strings.Count(model.Code, "1"), model.Size)
				if i > 0 {
					assert.LessOrEqual(t, model.Certified, a.Models[i-1].Certified, "not sorted")
				}
				for s, bit := range model.Code {
					if bit == '1' {
						inclusion[s] += model.Certified
					}
				}
				sum += model.Certified
			}
			assert.InDelta(t, 1, sum, 1e-9)
			for s, predictor := range a.Inclusion {
				assert.Equal(t, a.Data.Predictors[s], predictor.Name)
				assert.InDelta(t, inclusion[s], predictor.Certified, 1e-9, "bits are not in the order of the predictors")
			}
			assert.Equal(t, "(Intercept)", a.Coefficients[0].Name)

			stored, err := os.ReadFile(a.RunDir + "/result.json")
			require.NoError(t, err)
			assert.JSONEq(t, got.stdout, string(stored))
			wanted := shell.StatusOK
			if a.Certificate != nil && a.Certificate.Verdict == "failed" || a.Diagnostics != nil && a.Diagnostics.Verdict == "failed" {
				wanted = shell.StatusUntrusted
			}
			assert.Equal(t, wanted, got.status)
		})
	}
}

// TestAnswersAgree compares the certified answer of a run that trains with the exact answer, on a
// small table. The tolerance is the default precision of a certificate, 0.01.
func TestAnswersAgree(t *testing.T) {
	testkit.Slow(t)
	emptyDir(t, "", "")
	data := []string{testdata(t, "hald.csv"), "--target", "y", "--sigma", "2.5", "--json", "--quiet"}
	exact := decode(t, mustRun(t, append([]string{"exact"}, data...)...).stdout)
	trained := decode(t, mustRun(t, append([]string{"varsel", "--steps", "1500", "--batch", "256", "--flow-layers", "4", "--flow-blocks", "1", "--flow-hidden", "24"}, data...)...).stdout)
	assert.Equal(t, "trusted", trained.Certificate.Verdict, trained.Certificate.Reasons)
	var total float64
	for _, model := range exact.Models {
		i := slices.IndexFunc(trained.Models, func(m answerModel) bool {
			return m.Code == model.Code
		})
		require.GreaterOrEqual(t, i, 0)
		total += max(model.Certified-trained.Models[i].Certified, 0)
	}
	assert.Less(t, total, 0.02, "total variation")
	for s, predictor := range exact.Inclusion {
		assert.InDelta(t, predictor.Certified, trained.Inclusion[s].Certified, 0.01, predictor.Name)
	}
	for j, coefficient := range exact.Coefficients {
		assert.InDelta(t, *coefficient.Mean, *trained.Coefficients[j].Mean, 0.05**coefficient.SD+1e-9, coefficient.Name)
	}
}

// With --models all a result lists all models drawn or evaluated, and by default only the best.
func TestAllModelsAreListed(t *testing.T) {
	emptyDir(t, "", "")
	listed := func(args ...string) (graphs, classes int) {
		var result struct {
			Graphs  []struct{ Prob float64 } `json:"graphs"`
			Classes []struct{ Prob float64 } `json:"classes"`
		}
		got := mustRun(t, append([]string{"exact", "dag", testdata(t, "hald.csv"), "--continuous", "x1,x3", "--json", "--quiet", "--no-report"}, args...)...)
		require.NoError(t, json.Unmarshal([]byte(got.stdout), &result))
		total := 0.0
		for _, c := range result.Classes {
			total += c.Prob
		}
		if len(args) > 2 {
			assert.InDelta(t, 1, total, 1e-9, "classes of all draws")
		}
		return len(result.Graphs), len(result.Classes)
	}
	graphs, classes := listed("--out", "best")
	assert.Equal(t, 100, graphs)
	assert.Equal(t, 10, classes)
	graphs, classes = listed("--out", "all", "--models", "all")
	assert.Greater(t, graphs, 500)
	assert.Greater(t, classes, 200)
}
