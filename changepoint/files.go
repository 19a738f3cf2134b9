package changepoint

import (
	"fmt"

	"github.com/transdim/vti/internal/draws"
	"github.com/transdim/vti/internal/report"
	"github.com/transdim/vti/run"
)

// The files that a run writes in addition to those of every run.
const (
	CountsFile = "counts.csv"
	CurveFile  = "curve.csv"
	LevelsFile = "levels.csv"
)

// Files are the names of the files that a run writes in addition to those of every run.
func Files() []string {
	return []string{CountsFile, CurveFile, LevelsFile, draws.ParquetFile, draws.CSVFile}
}

// write writes the answer and its tables to a run directory, if there is one.
func (r *Result) write(dir string) error {
	return run.WriteAnswer(dir, r, map[string][][]string{
		CountsFile: report.Rows(r.Counts, "changes", "probability", "log_evidence"),
		CurveFile:  report.Rows(r.Curve, "from", "to", "probability"),
		LevelsFile: report.Rows(r.Levels, "time", "mean", "q025", "q975", "observed"),
	})
}

// writeDraws writes draws in both formats, if there is a run directory. A model with k changes uses
// the first k places and the first k+1 segments; levels are integrated out of the densities.
func (post *Posterior) writeDraws(dir string, list []draw, seed uint64) error {
	if dir == "" {
		return nil
	}
	most := 0
	for _, d := range list {
		most = max(most, len(d.places))
	}
	p := post.problem
	withSD, withSlope := p.Options.Kind == Variance || p.Options.Kind == Both, p.Options.Kind == Slope
	withNoise := p.Options.Kind == Mean || p.Options.Kind == Slope
	header := draws.Header{Kind: draws.IID, Cards: []int{len(post.Probabilities)}, Sites: []string{"changes"}, DensityScale: "working, levels integrated out", Seed: seed}
	add := func(name string, count int) {
		for j := range count {
			header.Coordinates = append(header.Coordinates, fmt.Sprintf("%s %d", name, j+1))
			header.Variables = append(header.Variables, fmt.Sprintf("%s[%d]", name, j+1))
		}
	}
	add("place", most)
	add("level", most+1)
	if withSD {
		add("sd", most+1)
	}
	if withSlope {
		add("slope", most+1)
	}
	if withNoise {
		header.Coordinates, header.Variables = append(header.Coordinates, "sigma"), append(header.Variables, "sigma")
	}
	from, to := p.window()
	out := &draws.Draws{Header: header}
	logEvidence := post.LogEvidence - p.logJacobian()
	for _, d := range list {
		out.LogP, out.LogQ = append(out.LogP, d.logP), append(out.LogQ, d.logP-logEvidence)
		out.Codes = append(out.Codes, int32(len(d.places)))
		row := make([]float64, 0, len(header.Coordinates))
		fill := func(count int, value func(j int) float64) {
			for j := range count {
				row = append(row, value(j))
			}
		}
		have := func(value func(l level) float64) func(j int) float64 {
			return func(j int) float64 {
				if j >= len(d.levels) {
					return 0
				}
				return value(d.levels[j])
			}
		}
		fill(most, func(j int) float64 {
			if j >= len(d.places) {
				return 0
			}
			if post.moments != nil {
				return post.moments.times[d.places[j]]
			}
			return p.times[d.places[j]] // the first row of the new segment
		})
		fill(most+1, have(func(l level) float64 { return p.centre + p.scale*l.mean }))
		if withSD {
			fill(most+1, have(func(l level) float64 { return p.scale * l.sd }))
		}
		if withSlope {
			fill(most+1, have(func(l level) float64 { return p.scale * l.slope / (to - from) }))
		}
		if withNoise {
			row = append(row, p.scale*d.levels[0].sd)
		}
		out.Theta = append(out.Theta, row...)
	}
	return draws.WriteBoth(dir, out)
}
