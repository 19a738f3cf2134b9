package study

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"path/filepath"
	"slices"
	"sort"
	"strconv"

	"github.com/transdim/vti/internal/apply"
	"github.com/transdim/vti/internal/english"
	"github.com/transdim/vti/internal/picture"
	"github.com/transdim/vti/internal/rundir"
	"github.com/transdim/vti/table"
)

// Discovery is a pair of a response and a predictor, with the probability that the predictor has an
// effect.
type Discovery struct {
	Response, Predictor string
	// Probability is the posterior probability of an effect.
	Probability float64
	// FDR is the expected share of false discoveries among this discovery and all discoveries at
	// least as probable. It is the mean over these discoveries of one minus the probability (Newton
	// et al. 2004; Müller et al. 2004).
	FDR float64
	// True reports whether the known truth contains the pair.
	True bool
}

// Discoveries holds all pairs of a study of responses, the most probable first.
type Discoveries struct {
	// List holds the pairs, the most probable first.
	List []Discovery
	// Known reports whether the truth is known. Effects is then the number of pairs with an effect.
	Known   bool
	Effects int
}

// ReadDiscoveries reads the inclusion probabilities that Collect has written for a plan with
// responses. truth, unless it is empty, is the path of a CSV file whose first two columns are
// response and predictor.
func ReadDiscoveries(ctx context.Context, path, truth string) (*Discoveries, error) {
	d := &Discoveries{}
	matters := map[[2]string]bool{}
	if truth != "" {
		err := eachPair(truth, func(response, predictor string) error {
			matters[[2]string{response, predictor}] = true
			return nil
		})
		if err != nil {
			return nil, err
		}
		d.Known, d.Effects = true, len(matters)
	}
	err := readInclusion(ctx, path, func(response, predictor string, probability float64) {
		d.List = append(d.List, Discovery{Response: response, Predictor: predictor, Probability: probability, True: matters[[2]string{response, predictor}]})
	})
	if err != nil {
		return nil, err
	}
	// Pairs with equal probabilities stay in the order of the file.
	slices.SortStableFunc(d.List, func(a, b Discovery) int { return cmp.Compare(b.Probability, a.Probability) })
	sum := 0.0
	for i := range d.List {
		sum += 1 - d.List[i].Probability
		d.List[i].FDR = sum / float64(i+1)
	}
	return d, nil
}

// At returns the number of discoveries in the longest list whose FDR is at most level.
func (d *Discoveries) At(level float64) int {
	return sort.Search(len(d.List), func(n int) bool { return d.List[n].FDR > level })
}

// False returns the number of false discoveries among the first n.
func (d *Discoveries) False(n int) int {
	return len(apply.Keep(d.List[:n], func(found Discovery) bool { return !found.True }))
}

func readInclusion(ctx context.Context, path string, each func(response, predictor string, probability float64)) error {
	file, err := table.OpenParquet(path)
	if err != nil {
		return err
	}
	defer file.Close()
	for group := range file.RowGroups() {
		t, err := file.Table(group, []string{"response", "name", "certified"})
		if err != nil {
			return fmt.Errorf("%w; want the inclusion probabilities of a plan with responses, as vti study collect writes them", err)
		}
		responses, _ := t.Lookup("response") // file.Table has found the columns
		predictors, _ := t.Lookup("name")
		probabilities, _ := t.Lookup("certified")
		if responses.Kind != table.Factor || predictors.Kind != table.Factor || probabilities.Kind != table.Numeric {
			return fmt.Errorf("%s: columns response, name and certified: want texts, texts and numbers", path)
		}
		for row, probability := range probabilities.Values {
			if !probabilities.IsMissing(row) {
				each(responses.Text(row), predictors.Text(row), probability)
			}
		}
		if err := ctx.Err(); err != nil {
			return err
		}
	}
	return nil
}

// Write writes the first n discoveries as a CSV file.
func (d *Discoveries) Write(path string, n int) error {
	rows := [][]string{{"response", "predictor", "probability", "fdr"}}
	for _, found := range d.List[:n] {
		rows = append(rows, []string{found.Response, found.Predictor, short(found.Probability), short(found.FDR)})
	}
	if d.Known {
		rows[0] = append(rows[0], "true")
		for k, found := range d.List[:n] {
			rows[1+k] = append(rows[1+k], strconv.FormatBool(found.True))
		}
	}
	return rundir.WriteTables(filepath.Dir(path), map[string][][]string{filepath.Base(path): rows})
}

func short(x float64) string { return strconv.FormatFloat(x, 'g', 6, 64) }

// shownDiscoveries is the number of discoveries in the picture.
const shownDiscoveries = 25

// leastDoubt replaces, in the picture, smaller probabilities that a discovery is false. It is about
// the resolution of float64 numbers near one.
const leastDoubt = 1e-16

// pictures draws the odds of an effect of the strongest discoveries, and the expected share of
// false discoveries by their number. If the truth is known, it also draws the observed share.
func (d *Discoveries) pictures() []*picture.Picture {
	var rows []picture.Row
	largest := 1.0
	for _, found := range d.List[:min(len(d.List), shownDiscoveries)] {
		ink := picture.First
		if d.Known && !found.True {
			ink = picture.Second
		}
		odds := max(0, math.Log10(found.Probability/max(1-found.Probability, leastDoubt)))
		largest = max(largest, odds)
		rows = append(rows, picture.Row{Label: found.Response + "  " + found.Predictor, From: math.NaN(), Intervals: []picture.Interval{{Mid: odds, Low: odds, High: odds, Ink: ink}}})
	}
	options := picture.RowsOptions{Axis: "odds that it matters, as a power of ten", Bars: true, Min: 0, Max: math.Ceil(largest), Reference: math.NaN()}
	if d.Known {
		options.Legend = []picture.Entry{{Text: "true", Ink: picture.First}, {Text: "false", Ink: picture.Second}}
	}
	strongest := picture.Rows("strongest", "The strongest discoveries", picture.Page, rows, options)
	return []*picture.Picture{strongest, d.ratePicture()}
}

// drawnRate is the largest expected share of false discoveries that the picture shows.
const drawnRate = 0.3

// ratePicture draws the expected and the observed share of false discoveries by the number of
// discoveries.
func (d *Discoveries) ratePicture() *picture.Picture {
	const width, height = 1.4 * picture.Column, 220
	p := picture.New("fdr", "Share of false discoveries", width, height)
	most := max(1, d.At(drawnRate))
	top := drawnRate
	var expected, observed []float64
	wrong := 0
	for i, found := range d.List[:min(most, len(d.List))] {
		if !found.True {
			wrong++
		}
		expected, observed = append(expected, found.FDR), append(observed, float64(wrong)/float64(i+1))
		if d.Known {
			top = max(top, observed[i])
		}
	}
	f := picture.NewFrame(p, picture.Scale{Min: 0, Max: float64(most)}, picture.Scale{Min: 0, Max: top}, "discoveries, the most probable first", "share that is false")
	curve := func(shares []float64, ink picture.Ink, dashed bool) {
		points := apply.UpTo(len(shares), func(i int) picture.Point { return f.At(float64(i+1), shares[i]) })
		f.Line(points, 1.2, ink, picture.Style{Dashed: dashed})
	}
	curve(expected, picture.First, false)
	entries := []picture.Entry{{Text: "expected", Ink: picture.First}}
	if d.Known {
		curve(observed, picture.Second, true)
		entries = append(entries, picture.Entry{Text: "observed", Ink: picture.Second, Dashed: true})
	}
	f.Legend(entries...)
	p.Text = fmt.Sprintf("Of %s %.2f %s expected to be false.", english.Count(most, "discovery"), drawnRate, english.Form(most, "is", "are"))
	return p
}

// WritePictures writes strongest.svg, strongest.png, fdr.svg and fdr.png to a directory.
func (d *Discoveries) WritePictures(dir string) error {
	for _, p := range d.pictures() {
		if err := p.Write(dir); err != nil {
			return err
		}
	}
	return nil
}
