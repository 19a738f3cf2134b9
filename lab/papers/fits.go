package papers

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/transdim/vti/internal/picture"
)

// fitKeys and fitValues are the columns of the CSV file of fits to robust regressions, which
// figures 2 and 4 to 10 share.
var (
	fitKeys   = []string{"level", "prior", "predictors", "data_set", "sampler", "flow", "steps", "batch"}
	fitValues = []string{
		"reference_verdict", "variation", "variation_default", "cross_entropy", "cross_entropy_se", "entropy", "within", "within_se",
		"gain", "gain_se", "model_gain", "model_gain_se", "slope", "models",
	}
)

// fitCell returns the comparison of a fit with its reference as a cell (a measurement) of a study.
func (l *Lab) fitCell(f fit) Cell {
	return Cell{
		Key: []string{f.level, f.prior, strconv.Itoa(f.predictors), strconv.Itoa(f.number), f.sampler, f.flow, strconv.Itoa(f.steps), strconv.Itoa(f.batch)},
		Measure: func(ctx context.Context) ([]string, error) {
			c, found, err := l.compare(ctx, f)
			if err != nil {
				return nil, err
			}
			return []string{
				found.Verdict, text(c.variation, 4), text(c.variationDefault, 4), text(c.crossEntropy.mean, 4), text(c.crossEntropy.se, 4), text(c.entropy.mean, 4),
				text(c.within.mean, 4), text(c.within.se, 4), text(c.gain.mean, 4), text(c.gain.se, 4), text(c.modelGain.mean, 4), text(c.modelGain.se, 4),
				text(c.slope, 4), modelsText(c.models),
			}, nil
		},
	}
}

// shownModels is the number of models of a row that are kept for pictures: the most probable ones.
const shownModels = 24

// modelsText returns models as a text. Each model is "bits probability q nats", and semicolons
// separate models.
func modelsText(models []modelFit) string {
	var parts []string
	for _, m := range models[:min(len(models), shownModels)] {
		parts = append(parts, fmt.Sprintf("%s %.4g %.4g %.3f", m.bits, m.reference, m.q, m.nats))
	}
	return strings.Join(parts, ";")
}

// modelsOf reads the models of a row from the text that modelsText wrote.
func modelsOf(row Row) (models []modelFit) {
	for part := range strings.SplitSeq(row["models"], ";") {
		var m modelFit
		if _, err := fmt.Sscanf(part, "%s %g %g %g", &m.bits, &m.reference, &m.q, &m.nats); err == nil {
			models = append(models, m)
		}
	}
	return models
}

// fits returns the cells (measurements) of a grid of fits: all combinations of levels, priors and
// settings.
func (l *Lab) fits(levels, priors []string, predictors []int, g fitSettings) (cells []Cell) {
	if l.Quick {
		g = settingsOf[vtiSettings]("vti").Quick
		levels, priors, predictors = levels[:1], priors[:1], g.Predictors
	}
	steps, sets := cmp.Or(l.Steps, g.Steps), cmp.Or(l.DataSets, g.DataSets)
	for _, level := range levels {
		for _, prior := range priors {
			for _, p := range predictors {
				for number := 1; number <= sets; number++ {
					for _, flow := range g.Flows {
						for _, sampler := range g.Samplers {
							cells = append(cells, l.fitCell(fit{robust{level, prior, p, number}, sampler, flow, steps, g.Batch, g.Draws}))
						}
					}
				}
			}
		}
	}
	return cells
}

// fitClaims returns the claims that training increased the densities q(m, θ) and q(m) at draws of
// the reference posterior.
func fitClaims(rows []Row) (claims []Claim) {
	for _, row := range rows {
		name := strings.Join([]string{row["level"], row["sampler"], row["flow"]}, " ")
		claims = append(claims,
			Claim{Text: name + ": q(m, θ) of draws of the posterior rises by training", Z: row.number("gain") / row.number("gain_se")},
			Claim{Text: name + ": q(m) of draws of the posterior rises by training", Z: row.number("model_gain") / row.number("model_gain_se")})
	}
	return claims
}

// longest returns one row of each group of rows that differ only in the number of steps or the
// batch: the row with the most steps.
func longest(rows []Row) []Row {
	best := map[string]int{}
	var order []string
	for i, row := range rows {
		name := strings.Join([]string{row["level"], row["prior"], row["predictors"], row["data_set"], row["sampler"], row["flow"]}, " ")
		at, ok := best[name]
		if !ok {
			order = append(order, name)
		}
		if !ok || row.number("steps") > rows[at].number("steps") {
			best[name] = i
		}
	}
	var out []Row
	for _, name := range order {
		out = append(out, rows[best[name]])
	}
	return out
}

// modelsFigure returns the study of figure 2, or of one of figures 5 to 10.
func modelsFigure(name, title string, levels, priors []string) *Study {
	s := settingsOf[vtiSettings]("vti")
	return &Study{
		Paper: "vti", Name: name, Title: title, Store: "vti-fits", Keys: fitKeys, Values: fitValues,
		Cells:  func(l *Lab) ([]Cell, error) { return l.fits(levels, priors, []int{s.Predictors}, s.Fits), nil },
		Claims: fitClaims,
		header: []string{
			"misspecification", "flow", "sampler", "steps", "paper", "q(m): total variation", "θ given m: KL(posterior ‖ q), nats", "its slope along log10 π(m)",
			"by default: total variation",
		},
		lines: func(rows []Row) (lines [][]string) {
			rows = longest(rows)
			for _, level := range levels {
				for _, flow := range s.Fits.Flows {
					for _, sampler := range s.Fits.Samplers {
						line := []string{level, flow, sampler}
						shown := slices.DeleteFunc(slices.Clone(rows), func(r Row) bool {
							return r["level"] != level || !slices.Contains(priors, r["prior"]) || r["flow"] != flow || r["sampler"] != sampler ||
								r["predictors"] != strconv.Itoa(s.Predictors)
						})
						if len(shown) == 0 {
							lines = append(lines, append(line, "not run", "plotted", "", "", "", ""))
							continue
						}
						lines = append(lines, append(line, span(shown, "steps"), "plotted", average(shown, "variation", 3), average(shown, "within", 2), average(shown, "slope", 2), average(shown, "variation_default", 3)))
					}
				}
			}
			return lines
		},
		pictures: func(rows []Row) []*picture.Picture {
			rows = slices.DeleteFunc(longest(rows), func(r Row) bool {
				return !slices.Contains(levels, r["level"]) || !slices.Contains(priors, r["prior"]) || r["predictors"] != strconv.Itoa(s.Predictors)
			})
			if len(rows) == 0 {
				return nil
			}
			return []*picture.Picture{modelsPicture("vti-"+name, title, rows, s)}
		},
		Note: "The paper prints no numbers. Its upper row is π(m) against q(m), its lower row the cross-entropy of coefficients given the model, which should fall with π(m). " +
			"Columns are means over the data sets that were run. Where a flow misses a mode of a posterior, draws there have next to no density, and the divergence is that of a few draws. " +
			"By default vti integrates coefficients out: its column is the distance of two answers of different seeds.",
	}
}

// average returns the mean of a column over rows, and the number of rows if there are several.
func average(rows []Row, column string, decimals int) string {
	sum, n := 0.0, 0
	for _, row := range rows {
		if v := row.number(column); !math.IsNaN(v) {
			sum, n = sum+v, n+1
		}
	}
	switch n {
	case 0:
		return ""
	case 1:
		return short(sum, decimals)
	}
	return fmt.Sprintf("%s (%d)", short(sum/float64(n), decimals), n)
}

// short returns a number with the given decimals, or with two significant digits if it is 1,000 or
// larger.
func short(value float64, decimals int) string {
	if math.Abs(value) >= 1000 {
		return fmt.Sprintf("%.2g", value)
	}
	return text(value, decimals)
}

// span returns the range of a column of whole numbers as a text.
func span(rows []Row, column string) string {
	least, most := math.Inf(1), math.Inf(-1)
	for _, row := range rows {
		least, most = math.Min(least, row.number(column)), math.Max(most, row.number(column))
	}
	if least == most {
		return text(least, 0)
	}
	return text(least, 0) + " to " + text(most, 0)
}

// samplerInks holds the colours of the samplers of models.
var samplerInks = map[string]picture.Ink{"diagonal": picture.First, "categorical": picture.Second, "autoregressive": picture.Third}

// samplerLegend draws a legend with the colour of each sampler above the panels.
func samplerLegend(whole *picture.Picture, samplers []string) {
	left := 4.0
	for _, sampler := range samplers {
		whole.Dots([]picture.Point{{X: left + 3, Y: 7}}, 5, samplerInks[sampler])
		whole.Label(picture.Point{X: left + 9, Y: 7}, sampler, picture.Start, picture.SmallSize, picture.Strong)
		left += picture.TextWidth(sampler, picture.SmallSize) + 24
	}
}

// modelsPicture returns a picture with two panels for each flow. The upper panel shows
// probabilities of models under q, the lower one cross-entropies, both against the probability of
// the model under the reference posterior. Flows that were not run have no panels. Cross-entropies
// above mostNats, of flows that miss a mode, are drawn at mostNats: they reach 1e7 nats.
func modelsPicture(name, title string, rows []Row, s vtiSettings) *picture.Picture {
	const width, height, least, mostNats = picture.Page / 3, 150, 1e-5, 100
	whole := picture.New(name, title, picture.Page, 2*height+14)
	for column, flow := range s.Fits.Flows {
		var x, q, nats []float64
		inks := map[picture.Ink][]int{}
		for _, row := range rows {
			if row["flow"] != flow {
				continue
			}
			for _, m := range modelsOf(row) {
				ink := samplerInks[row["sampler"]]
				inks[ink] = append(inks[ink], len(x))
				x, q, nats = append(x, math.Log10(m.reference)), append(q, math.Log10(math.Max(m.q, least))), append(nats, math.Min(m.nats, mostNats))
			}
		}
		if len(x) == 0 {
			continue
		}
		for line, y := range [][]float64{q, nats} {
			panel := picture.New("", "", width, height)
			names := [2]string{"log10 q(m)", "cross-entropy, nats, at most 100"}
			frame := picture.NewFrame(panel, picture.Around(x...), picture.Around(y...), "log10 π(m)", names[line])
			if line == 0 {
				frame.Title(flow)
				low, high := math.Max(frame.X.Min, frame.Y.Min), math.Min(frame.X.Max, frame.Y.Max)
				frame.Line([]picture.Point{frame.At(low, low), frame.At(high, high)}, 1, picture.Muted, picture.Style{Dashed: true})
			}
			for _, sampler := range s.Fits.Samplers {
				var points []picture.Point
				for _, i := range inks[samplerInks[sampler]] {
					points = append(points, frame.At(x[i], y[i]))
				}
				frame.Dots(points, 2.6, samplerInks[sampler])
			}
			whole.Place(panel, picture.Point{X: float64(column) * width, Y: float64(line)*height + 14})
		}
	}
	samplerLegend(whole, s.Fits.Samplers)
	whole.Text = title + ": " + "probabilities of models under q and cross-entropies of coefficients against probabilities of the reference."
	return whole
}

// cardinalityFigure returns the study of figure 4.
func cardinalityFigure() *Study {
	s := settingsOf[vtiSettings]("vti")
	g := s.Cardinality
	title := "Cross-entropy of draws of the posterior in growing spaces of models"
	return &Study{
		Paper: "vti", Name: "fig4", Title: title, Store: "vti-fits", Keys: fitKeys, Values: fitValues,
		Cells: func(l *Lab) ([]Cell, error) {
			return l.fits(g.Levels, []string{"focused"}, g.Predictors, g), nil
		},
		Claims: fitClaims,
		header: []string{"misspecification", "predictors", "sampler", "flow", "steps", "paper", "H(π, q), nats", "H(π), nats: by default", "q(m): total variation"},
		lines: func(rows []Row) (lines [][]string) {
			rows = longest(rows)
			for _, level := range g.Levels {
				for _, p := range g.Predictors {
					for _, sampler := range g.Samplers {
						line := []string{level, strconv.Itoa(p), sampler}
						ran := false
						for _, flow := range g.Flows {
							shown := slices.DeleteFunc(slices.Clone(rows), func(r Row) bool {
								return r["level"] != level || r["prior"] != "focused" || r["predictors"] != strconv.Itoa(p) || r["sampler"] != sampler || r["flow"] != flow
							})
							if len(shown) > 0 {
								ran = true
								lines = append(lines, append(slices.Clone(line), flow, span(shown, "steps"), "plotted", average(shown, "cross_entropy", 2), average(shown, "entropy", 2), average(shown, "variation", 3)))
							}
						}
						if !ran {
							lines = append(lines, append(line, g.Flows[0], "not run", "plotted", "", "", ""))
						}
					}
				}
			}
			return lines
		},
		pictures: func(rows []Row) []*picture.Picture {
			rows = slices.DeleteFunc(longest(rows), func(r Row) bool {
				return r["prior"] != "focused" || !slices.Contains(g.Predictors, int(r.number("predictors")))
			})
			if len(rows) == 0 {
				return nil
			}
			return []*picture.Picture{cardinalityPicture(rows, g)}
		},
		Note: "The paper plots H(π, q) with spline flows and prints no numbers; affine flows are ours, as splines take ten times as long. Its ends are 2⁹ and 2²⁴ models, and the numbers of predictors between are ours. H(π) is the entropy of the posterior, which no q is below, " +
			"and what vti reaches by default, whose draws the reference are.",
	}
}

// cardinalityPicture returns a picture with a panel for each level of misspecification, which shows
// the excess of the cross-entropy over the entropy. The scale is logarithmic, because a q(m) that
// collapses has an excess of many orders of magnitude.
func cardinalityPicture(rows []Row, g fitSettings) *picture.Picture {
	const width, height = picture.Page / 2, 180
	const leastExcess = 0.01 // smaller and negative excesses are noise of the draws
	whole := picture.New("vti-fig4", "Cross-entropy less entropy of the posterior", picture.Page, height+14)
	for column, level := range g.Levels {
		var x, y []float64
		var inks []picture.Ink
		for _, row := range rows {
			if row["level"] != level {
				continue
			}
			x, y = append(x, row.number("predictors")), append(y, math.Log10(math.Max(row.number("cross_entropy")-row.number("entropy"), leastExcess)))
			inks = append(inks, samplerInks[row["sampler"]])
		}
		panel := picture.New("", "", width, height)
		scale := picture.Around(append(x, float64(slices.Min(g.Predictors)), float64(slices.Max(g.Predictors)))...)
		scale.Whole = true
		frame := picture.NewFrame(panel, scale, picture.Around(append(y, 0)...), "predictors", "log₁₀ of H(π, q) − H(π) in nats")
		frame.Title(level + " misspecification")
		for i := range x {
			frame.Dots([]picture.Point{frame.At(x[i], y[i])}, 4, inks[i])
		}
		whole.Place(panel, picture.Point{X: float64(column) * width, Y: 14})
	}
	samplerLegend(whole, g.Samplers)
	whole.Text = "Excess of the cross-entropy over the entropy of the posterior against the number of predictors, for each sampler of models."
	return whole
}
