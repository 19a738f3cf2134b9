package papers

import (
	"bytes"
	"embed"
	"encoding/json"
	"fmt"
	"math"
)

//go:embed settings/*.json
var settingsFiles embed.FS

var nan = math.NaN()

// settingsOf returns the settings of a paper from an embedded file.
func settingsOf[T any](paper string) (s T) {
	content, err := settingsFiles.ReadFile("settings/" + paper + ".json")
	if err == nil {
		decoder := json.NewDecoder(bytes.NewReader(content))
		decoder.DisallowUnknownFields()
		err = decoder.Decode(&s)
	}
	if err != nil {
		panic(fmt.Errorf("papers: settings of %s: %w", paper, err))
	}
	return s
}

// vtiSettings holds the settings of Davies et al. (2025): table 2, section 5.1 and appendix E.
type vtiSettings struct {
	Rows        int                 `json:"rows"`
	Predictors  int                 `json:"predictors"`
	Inclusion   float64             `json:"inclusion"`
	Outliers    float64             `json:"outliers"`
	Levels      map[string]vtiLevel `json:"levels"`
	Likelihood  vtiNoise            `json:"likelihood"`
	PriorSD     map[string]float64  `json:"prior_sd"`
	Flows       map[string]flowSize `json:"flows"`
	Fits        fitSettings         `json:"fits"`
	Cardinality fitSettings         `json:"cardinality"`
	Quick       fitSettings         `json:"quick"`
	// DesignRows is the number of rows from which the constants of the design are estimated.
	DesignRows int `json:"design_rows"`
}

// vtiLevel is a level of misspecification. Sigma holds the standard deviations of the noise of most
// rows and of outliers, and Effects the effects in the first and the second half of the rows. Mixed
// is the share of predictors without an effect to which other predictors are added, and Mixture the
// weight of the added predictors.
type vtiLevel struct {
	Sigma   [2]float64 `json:"sigma"`
	Effects [2]float64 `json:"effects"`
	Mixed   float64    `json:"mixed"`
	Mixture float64    `json:"mixture"`
}

type vtiNoise struct {
	Sigma    [2]float64 `json:"sigma"`
	Outliers float64    `json:"outliers"`
}

type flowSize struct {
	Layers int `json:"layers"`
	Blocks int `json:"blocks"`
}

// fitSettings is a grid of fits. If Levels or Predictors is empty, the study of a figure sets it.
type fitSettings struct {
	Levels     []string `json:"levels"`
	Predictors []int    `json:"predictors"`
	Samplers   []string `json:"samplers"`
	Flows      []string `json:"flows"`
	DataSets   int      `json:"data_sets"`
	Steps      int      `json:"steps"`
	Batch      int      `json:"batch"`
	Draws      int      `json:"draws"` // number of draws at which densities are compared
}
