package regression

import (
	"cmp"
	gocontext "context"
	"fmt"

	"github.com/transdim/vti/hbm/frame"

	"github.com/gomlx/gomlx/pkg/core/dtypes"

	"github.com/transdim/vti"
	"github.com/transdim/vti/cosmic"
	"github.com/transdim/vti/hbm"
	"github.com/transdim/vti/internal/draws"
	"github.com/transdim/vti/internal/report"
	"github.com/transdim/vti/modelcheck"
	"github.com/transdim/vti/run"
	"github.com/transdim/vti/table"
)

// Record holds the settings of a run, with everything that is needed to repeat or continue it.
type Record struct {
	run.Header
	// Frame and Model are the options of the frame and of the regression.
	Frame frame.Options `json:"frame"`
	Model Options       `json:"model"`
	// Slices says that the table is a Parquet file, read one row group at a time.
	Slices bool `json:"slices,omitempty"`
	// Family is the name of the variational family: MarginalFamily or "" for effects integrated
	// out, or the name of an [hbm.Family].
	Family string `json:"family,omitempty"`
	// Flow holds the settings of the flow q(θ | m).
	Flow  cosmic.Config `json:"flow"`
	DType dtypes.DType  `json:"dtype,omitempty"` // float type of flow and target; absent: chosen by FitConfig and FamilyRun
	run.Budget
	// Steps is the number of training steps and Batch the number of draws in a step; 0 stands for
	// the defaults of FitConfig and FamilyRun.
	Steps int `json:"steps,omitempty"`
	Batch int `json:"batch,omitempty"`
	// Encoding is the size of the encodings of a family (see [hbm.Config]), and Members the number
	// of groups in a training step (see [FamilyRun]).
	Encoding int `json:"encoding,omitempty"`
	Members  int `json:"members,omitempty"`
	// Amortize is the number of simulated tables in a training step of a family that answers later
	// tables, and Shape the structure of these tables; 0 and nil for all other runs.
	Amortize int    `json:"amortize,omitempty"`
	Shape    *Shape `json:"shape,omitempty"`
	// TrainedBy is the absolute path of the run that trained the family; "" if this run trained it.
	TrainedBy string `json:"trained_by,omitempty"`
	// CertifyDraws is the number of draws that certify the answer. With MarginalFamily every model
	// also has a few first draws, which are not counted.
	CertifyDraws int `json:"certify_draws,omitempty"`
	// Seed is the root of every random stream.
	Seed uint64 `json:"seed"`
	// AllModels makes the result list every model of a selection that was evaluated.
	AllModels bool `json:"all_models,omitempty"`
}

// Regression reads the table and builds the posterior. If the record has a fingerprint, the table
// must not have changed since the run began. Otherwise Regression fills in the fingerprint and the
// defaults of the model.
func (r *Record) Regression(ctx gocontext.Context) (*Regression, error) {
	frame, err := r.frame(ctx)
	if err != nil {
		return nil, err
	}
	regression, err := New(frame, r.Model)
	if err != nil {
		return nil, err
	}
	r.Model = regression.Options
	regression.AllModels = r.AllModels
	return regression, nil
}

// Table reads the table of the run into memory.
func (r *Record) Table() (*table.Table, error) {
	if r.Slices {
		return nil, fmt.Errorf("the run read %s by slices: its rows are not in memory", r.Data)
	}
	return r.Header.Table()
}

func (r *Record) frame(ctx gocontext.Context) (*frame.Frame, error) {
	if !r.Slices {
		data, err := r.Table()
		if err != nil {
			return nil, err
		}
		return frame.New(data, r.Frame)
	}
	frame, err := frame.BySlices(ctx, r.Data, r.Frame)
	if err != nil {
		return nil, err
	}
	return frame, run.SameFingerprint(r.Data, frame.Fingerprint, &r.Fingerprint)
}

// FitConfig returns the configuration of training that the record describes, without the fields
// about progress and files. In the record it replaces zeros by their defaults.
func (r *Record) FitConfig(regression *Regression) vti.Config {
	fit := vti.Config{Flow: r.Flow, DType: r.DType, Steps: r.Steps, Batch: r.Batch, Seed: r.Seed}
	inRounds := r.Effort == run.AutoEffort && r.Steps == 0
	if inRounds {
		fit = fit.InRounds()
	}
	fit = regression.Training(fit)
	r.Flow, r.Batch, r.DType = fit.Flow.WithDefaults(), fit.Batch, cmp.Or(r.DType, dtypes.Float32)
	if !inRounds {
		r.Steps = fit.Steps
	}
	if r.CertifyDraws == 0 && !regression.Frame.Response.Conjugate() {
		r.CertifyDraws = quadratureDraws
	}
	return fit
}

// PlateFamily returns the family of package hbm that the record names; ok is false for
// MarginalFamily.
func (r *Record) PlateFamily() (family hbm.Family, ok bool, err error) {
	if r.Family == "" || r.Family == MarginalFamily {
		return 0, false, nil
	}
	family, err = hbm.ParseFamily(r.Family)
	return family, err == nil, err
}

// FamilyRun returns the run of a family of package hbm that the record describes. In the record it
// replaces zeros by their defaults.
func (r *Record) FamilyRun(family hbm.Family) FamilyRun {
	// If standard deviations may be near zero, densities of effects lose digits in float32.
	if r.DType == dtypes.InvalidDType && r.Amortize == 0 && r.Members == 0 {
		r.DType = dtypes.Float64
	}
	fit := hbm.Config{Family: family, Encoding: r.Encoding, Flow: r.Flow, Draws: r.Batch, Amortize: r.Amortize, Steps: r.Steps, DType: r.DType, Seed: r.Seed}.WithDefaults()
	r.Flow, r.DType = fit.Flow, fit.DType
	r.Steps = fit.Steps
	return FamilyRun{Fit: fit, Members: r.Members, Certify: hbm.CertifyConfig{Draws: r.CertifyDraws}, MaxTime: r.MaxTime()}
}

// writeTables writes result.json and the tables of a result to a run directory.
func (r *Result) writeTables(dir string) error {
	summaries := func(list []Summary) [][]string {
		return report.Rows(list, "name", "mean", "mean_se", "sd", "sd_se", "q025", "q975")
	}
	files := map[string][][]string{
		"effects.csv": summaries(r.Effects), "sds.csv": summaries(r.SDs),
		"varying.csv": report.Rows(r.Varying, "group", "level", "term", "rows", "mean", "sd", "q025", "q975", "pooling"),
		"checks.csv":  report.Rows(r.Checks, "statistic", "observed", "mean", "sd", "p"),
	}
	if len(r.Shares) > 0 {
		files["shares.csv"] = summaries(r.Shares)
	}
	if len(r.Cuts) > 0 {
		files["cuts.csv"] = summaries(r.Cuts)
	}
	if len(r.Terms) > 0 {
		files["terms.csv"] = report.Rows(r.Terms, "term", "state", "prob", "se", "q")
		files["models.csv"] = report.Rows(r.Models, "code", "formula", "q", "certified", "se", "log_evidence", "log_evidence_se", "khat")
	}
	return run.WriteAnswer(dir, r, files)
}

// Files returns patterns of the names of files that only runs of regressions write.
func Files() []string {
	return []string{
		"effects.csv", "sds.csv", "cuts.csv", "varying.csv", "checks.csv", "terms.csv", "models.csv",
		modelcheck.FittedFile, draws.ParquetFile, draws.CSVFile,
	}
}

func levelName(column, group, level string) string { return column + " | " + group + "=" + level }

// mostDrawnLevels is the largest number of effects of levels for which draws are written.
const mostDrawnLevels = 1000

// writeDraws writes posterior draws in the units of the table: population effects, standard
// deviations, and effects of levels unless there are more than mostDrawnLevels.
func (r *Regression) writeDraws(dir string, seed uint64, s *posteriorSample) error {
	header := draws.Header{Kind: draws.IID, Cards: r.space.cards, DensityScale: "standardised", Seed: seed}
	for _, q := range r.questions {
		header.Sites = append(header.Sites, q.name)
	}
	for _, name := range r.Frame.CoefficientNames() {
		header.Coordinates = append(header.Coordinates, name)
		header.Variables = append(header.Variables, "beta["+name+"]")
	}
	header.Coordinates = append(header.Coordinates, r.sdNames...)
	header.Variables = append(header.Variables, r.sdNames...)
	kept := r.firstQuantity(0)
	if r.quantities()-kept <= mostDrawnLevels {
		kept = r.quantities()
		for _, g := range r.groups {
			terms := r.Frame.VaryingNames(g.Grouping)
			for at := range r.effects(g) {
				name := levelName(terms[at/len(g.Levels)], g.Name, g.Levels[at%len(g.Levels)])
				header.Coordinates, header.Variables = append(header.Coordinates, name), append(header.Variables, "effect["+name+"]")
			}
		}
	}
	file := &draws.Draws{Header: header, LogP: s.logP, LogQ: s.logQ}
	for k, code := range s.codes {
		file.Codes = append(file.Codes, code...)
		file.Theta = append(file.Theta, s.draws.RawRowView(k)[:kept]...)
	}
	return draws.WriteBoth(dir, file)
}
