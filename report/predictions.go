package report

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"slices"

	"github.com/transdim/vti/internal/document"
	"github.com/transdim/vti/internal/english"
	"github.com/transdim/vti/internal/picture"
	"github.com/transdim/vti/internal/rundir"
	"github.com/transdim/vti/predict"
)

// Limits of leave-one-out cross-validation for a page, with which it takes a tenth of a second:
// looRows is the largest number of rows, looDraws the largest number of draws times rows, and
// fewestDraws the least number of draws of a row. If the run has the file [predict.CheckFile],
// which covers all rows and draws, the file is used instead.
const (
	looRows      = 1000
	looDraws     = 1_000_000
	fewestDraws  = 400
	looLeast     = 3 // least number of rows for which there is a section
	looWorstRows = 30
)

// leftOut is the accuracy of the predictions of each row from all other rows, for a run that
// predicts a response.
type leftOut struct {
	LOO         *predict.LOO         `json:"loo"`
	Calibration *predict.Calibration `json:"calibration"`
	all         int                  // the number of rows of the table
}

// leaveOneOut reads the file of the command vti check if the run has it, or else computes the same
// quantities from some of the draws.
func (s *source) leaveOneOut(ctx context.Context) (*leftOut, error) {
	if stored, err := s.storedCheck(); err != nil || stored != nil {
		return stored, err
	}
	run, err := s.page.Predictor(s.dir)
	if err != nil {
		return nil, err
	}
	rows, err := run.Rows(nil)
	if err != nil {
		return nil, err
	}
	all := rows.Len()
	if all < looLeast {
		return nil, errors.New("there are too few rows")
	}
	draws := looDraws / min(all, looRows) / (1 + len(rows.Terms)/100)
	rows = rows.Part(looRows, max(fewestDraws, draws))
	loo, err := predict.LeaveOneOut(ctx, rows, 0)
	if err != nil {
		return nil, err
	}
	return &leftOut{loo, predict.Calibrate(loo, loo.Spikes(rows), 0), all}, nil
}

// storedCheck reads the file of the command vti check. It returns nil without an error if there is
// no such file, or if the file is older than the result or incomplete.
func (s *source) storedCheck() (*leftOut, error) {
	path := filepath.Join(s.dir, predict.CheckFile)
	info, err := os.Stat(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	result, err := os.Stat(filepath.Join(s.dir, rundir.ResultFile))
	if err != nil || result.ModTime().After(info.ModTime()) {
		return nil, err
	}
	content, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	stored := &leftOut{}
	if err := json.Unmarshal(content, stored); err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	if stored.LOO == nil || stored.Calibration == nil || len(stored.Calibration.Histogram) == 0 {
		return nil, nil // written by a version that stored less
	}
	stored.all = len(stored.LOO.Rows)
	return stored, nil
}

// predictions returns the section on leave-one-out cross-validation. If the accuracy cannot be
// computed, for example because the table of the run is missing, the section gives the reason.
func (s *source) predictions(response string) *document.Section {
	return &document.Section{ID: "predictions", Title: "How well it predicts rows that it has not seen", Draw: func(ctx context.Context, part *document.Section) {
		if found, err := s.leaveOneOut(ctx); err != nil {
			part.Notes = []string{"Not shown: " + err.Error() + "."}
		} else {
			s.drawPredictions(part, response, found)
		}
	}}
}

func (s *source) drawPredictions(part *document.Section, response string, found *leftOut) {
	part.Lead = "Each row is predicted from all others, by weighing the draws of the posterior as if the row were not in the table (Pareto-smoothed importance sampling)."
	l, c := found.LOO, found.Calibration
	part.Pictures = []*picture.Picture{kHatPicture(l), transformsPicture(s.smaller(response), len(l.Rows), c)}
	text := capital(c.Verdict) + "."
	for _, i := range c.Intervals {
		text += fmt.Sprintf(" Intervals of %.0f%% hold %.1f%% of the responses (± %.1f%% if calibrated).", 100*float64(i.Level), 100*float64(i.Share), 100*float64(i.SE))
	}
	part.Notes = append(part.Notes, text)
	summary := fmt.Sprintf("The log predictive density is %s", plusMinus(float64(l.ELPD), float64(l.SE)))
	if l.R2 != nil {
		summary += fmt.Sprintf(", and the predictions explain %.0f%% of the variance", 100*float64(*l.R2))
	}
	summary += fmt.Sprintf("; the effective number of parameters is %.1f.", float64(l.P))
	if l.Unreliable > 0 {
		summary += fmt.Sprintf(" The estimate of %s is not reliable (k̂ above %.2f): vti loo --refit computes the posterior without them.", document.Counted(l.Unreliable, "row"), float64(l.Limit))
	}
	if len(l.Rows) < found.all {
		summary = fmt.Sprintf("Of %s of %s. ", document.Counted(len(l.Rows), "row"), document.Grouped(found.all)) + summary
	}
	part.Notes = append(part.Notes, summary)
	part.Tables = []*document.Table{hardestRows(l)}
}

func kHatPicture(l *predict.LOO) *picture.Picture {
	var points []picture.Point
	for _, row := range l.Rows {
		if k := float64(row.KHat); !math.IsInf(k, 0) && !math.IsNaN(k) {
			points = append(points, picture.Point{X: float64(row.Row), Y: k})
		}
	}
	limit := float64(l.Limit)
	first, last := float64(l.Rows[0].Row), float64(l.Rows[len(l.Rows)-1].Row)
	return picture.Scatter("khat", "How far each prediction can be relied on", picture.Column, 190, points,
		[]picture.Reference{{X0: first, Y0: limit, X1: last, Y1: limit}}, "row of the table", "Pareto k̂").
		Described("Pareto k̂ of %s; the largest is %s, and %d %s above the dashed line at %.2f, where a prediction cannot be relied on.", document.Counted(len(l.Rows), "row"), picture.Number(float64(l.KHat)), l.Unreliable, english.Form(l.Unreliable, "is", "are"), limit)
}

// smaller returns the name of the event, such as a smaller response, whose predicted probability is
// the probability integral transform of a row.
func (s *source) smaller(response string) string {
	if s.kind().HasCategories() {
		return "an earlier category of " + response
	}
	return "a smaller " + response
}

// transformsPicture draws the histogram of the probability integral transforms beside the uniform
// distribution, which they have if predictions are calibrated.
func transformsPicture(smaller string, rows int, c *predict.Calibration) *picture.Picture {
	var bars []picture.Bar
	bins, n := float64(len(c.Histogram)), float64(rows)
	expected := n / bins
	spread := 1.96 * math.Sqrt(n*(1/bins)*(1-1/bins))
	outside := 0
	for k, count := range c.Histogram {
		low, high := math.Max(0, expected-spread), expected+spread
		bars = append(bars, picture.Bar{From: float64(k) / bins, To: float64(k+1) / bins, Value: float64(count), Low: low, High: high, Compared: expected,
			Hint: fmt.Sprintf("%g to %g: %s, %s expected (95%%: %s to %s)", float64(k)/bins, float64(k+1)/bins, document.Counted(count, "row"), picture.Number(expected), picture.Number(low), picture.Number(high))})
		if float64(count) < low || float64(count) > high {
			outside++
		}
	}
	return picture.Bars("pit", "Calibration of predictions", picture.Column, 190, bars, "predicted probability of "+smaller, "rows",
		picture.Entry{Text: "observed", Ink: picture.First}, picture.Entry{Text: "if calibrated, 95%", Ink: picture.Second}).
		Described("A histogram of the probability integral transforms of the responses, flat where predictions are as sure as they should be. %d of %d bins %s outside the 95%% intervals of calibrated predictions; Kolmogorov's test has p = %s.", outside, len(bars), english.Form(outside, "lies", "lie"), picture.Probability(float64(c.P)))
}

func hardestRows(l *predict.LOO) *document.Table {
	rows := slices.SortedStableFunc(slices.Values(l.Rows), func(a, b predict.LOORow) int { return cmp.Compare(a.ELPD, b.ELPD) })
	t := document.NewTable("Rows that are predicted worst", "row", "log predictive density", "Pareto k̂", "predicted", "probability of a smaller response, or an earlier category")
	for _, r := range rows[:min(len(rows), looWorstRows)] {
		t.Add(fmt.Sprint(r.Row), document.Short(r.ELPD), document.Short(r.KHat), document.Short(r.Mean), document.Probability(r.PIT, 0))
	}
	return t
}
