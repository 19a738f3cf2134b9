package changepoint

import (
	"github.com/transdim/vti/internal/apply"
	"github.com/transdim/vti/internal/draws"
	"github.com/transdim/vti/internal/report"
	"github.com/transdim/vti/run"

	"slices"
)

// Names of the files that a run writes in addition to the files of every run.
const (
	CountsFile = "counts.csv"
	CurveFile  = "curve.csv"
	LevelsFile = "levels.csv"
)

// Files returns the names of the files that a run writes in addition to the files of every run.
func Files() []string {
	return []string{CountsFile, CurveFile, LevelsFile, draws.ParquetFile, draws.CSVFile}
}

func (r *Result) write(dir string) error {
	return run.WriteAnswer(dir, r, map[string][][]string{
		CountsFile: report.Rows(r.Counts, "changes", "probability", "log_evidence"),
		CurveFile:  report.Rows(r.Curve, "from", "to", "probability"),
		LevelsFile: report.Rows(r.Levels, "time", "mean", "q025", "q975", "observed"),
	})
}

// writeDraws writes the draws as Parquet and CSV, if there is a run directory. Columns are numbered
// by place and by segment; a draw with k changes fills the columns of the first k places and of the
// first k+1 segments. The log density of a draw has the levels integrated out.
func (post *Posterior) writeDraws(dir string, list []draw, seed uint64) error {
	most := slices.Max(apply.To(list, func(d draw) int { return len(d.places) }))
	p := post.problem
	out := &draws.Draws{Header: draws.Header{Kind: draws.IID, Cards: []int{len(post.Probabilities)}, Sites: []string{"changes"}, DensityScale: "working, levels integrated out", Seed: seed}}
	logEvidence := post.LogEvidence - p.logJacobian()
	for _, d := range list {
		out.LogP, out.LogQ = append(out.LogP, d.logP), append(out.LogQ, d.logP-logEvidence)
		out.Codes = append(out.Codes, int32(len(d.places)))
	}
	parts := []draws.Part[draw]{{Name: "place", Count: most, Of: draws.Each(func(d draw) []int { return d.places }, func(place int) float64 { return float64(post.boundaryTime(place)) })}}
	add := func(name string, value func(l level) float64) {
		parts = append(parts, draws.Part[draw]{Name: name, Count: most + 1, Of: draws.Each(func(d draw) []level { return d.levels }, value)})
	}
	add("level", func(l level) float64 { return p.centre + p.scale*l.mean })
	switch from, to := p.window(); p.Options.Kind {
	case Variance, Both:
		add("sd", func(l level) float64 { return p.scale * l.sd })
	case Slope:
		add("slope", func(l level) float64 { return p.scale * l.slope / (to - from) })
	}
	if p.Options.Kind == Mean || p.Options.Kind == Slope {
		parts = append(parts, draws.Part[draw]{Name: "sigma", Of: func(d draw, _ int) float64 { return p.scale * d.levels[0].sd }})
	}
	draws.Fill(out, list, parts)
	return draws.WriteBoth(dir, out)
}
