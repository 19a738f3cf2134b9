package varsel

import (
	"slices"
	"strconv"
	"strings"

	"github.com/transdim/vti/internal/apply"
	"github.com/transdim/vti/internal/draws"
	"github.com/transdim/vti/internal/report"
	"github.com/transdim/vti/modelcheck"
	"github.com/transdim/vti/run"
	"github.com/transdim/vti/varsel/regression"
)

// Files returns the names of the files that only runs of variable selection have.
func Files() []string {
	return []string{"inclusion.csv", "models.csv", "coefficients.csv", modelcheck.FittedFile, draws.ParquetFile, draws.CSVFile}
}

// finish adds a description of the problem to a result, and writes it to the run directory, if any.
func (p *Problem) finish(r *Result, dir string) error {
	p.fillPriors(r)
	names := p.coefficientNames()
	for _, predictor := range p.Design.Predictors {
		for _, j := range regression.EachPlane(predictor.Coordinates, p.Target.Planes()) {
			for k := range r.Coefficients {
				if r.Coefficients[k].Name == names[j] {
					r.Coefficients[k].Predictor = predictor.Name
				}
			}
		}
	}
	if err := r.ModelCheck.WriteFitted(dir); err != nil {
		return err
	}
	return r.writeTables(dir)
}

// writeTables writes result.json and the tables of a result to a run directory, if there is one.
func (r *Result) writeTables(dir string) error {
	return run.WriteAnswer(dir, r, map[string][][]string{
		"inclusion.csv":    report.Rows(r.Inclusion, "name", "q", "certified", "se"),
		"models.csv":       report.Rows(r.Models, "code", "size", "q", "certified", "se", "log_evidence", "log_evidence_se", "khat"),
		"coefficients.csv": report.Rows(r.Coefficients, "name", "mean", "sd", "q025", "q975", "mean_given_in", "sd_given_in", "q025_given_in", "q975_given_in"),
	})
}

// writeDraws writes posterior draws in both formats, if there is a run directory. The caller sets
// the settings of the sampler in header; writeDraws sets its other fields.
func (p *Problem) writeDraws(dir string, header draws.Header, d *Draws) error {
	header.Cards, header.Sites, header.Coordinates = p.Posterior().Space().Cards(), p.siteNames(), d.Names
	header.Variables, header.DensityScale = p.variables(), "standardised"
	if p.Slots != nil {
		header.Items = p.Design.PredictorNames()
	}
	file := &draws.Draws{Header: header}
	file.LogP, file.LogQ, file.Chain = d.LogP, d.LogQ, d.Chain
	for i, code := range d.Codes {
		file.Codes = append(file.Codes, code...)
		file.Theta = append(file.Theta, d.Values.RawRowView(i)...)
	}
	return draws.WriteBoth(dir, file)
}

// variables returns the column names of files of draws: beta[NAME] for a coefficient, sigma for the
// noise scale, cut[A|B] for the cut point between two categories, and coef[1], coef[2], … for the
// coefficients of models that are lists of predictors.
func (p *Problem) variables() []string {
	names := p.coordinateNames()
	if p.Target.Responses.Categories != nil {
		for j, name := range names {
			kind := "beta"
			if j >= len(p.coefficientNames()) {
				kind = "cut"
			}
			names[j] = kind + "[" + name + "]"
		}
		return names
	}
	for j, name := range names {
		member, listed := strings.CutPrefix(name, "coef.")
		switch {
		case p.UnknownScale() && name == p.Design.ScaleName():
		case p.Slots != nil && listed && !slices.Contains(p.Design.Names, name):
			names[j] = "coef[" + member + "]"
		default:
			names[j] = "beta[" + name + "]"
		}
	}
	return names
}

func (p *Problem) siteNames() []string {
	if p.Slots == nil {
		return p.Design.PredictorNames()
	}
	return apply.UpTo(p.Slots.space.Slots(), func(t int) string { return "member." + strconv.Itoa(t+1) })
}
