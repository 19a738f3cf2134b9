package papers

import (
	"context"
	"fmt"
	"math"
	"strconv"

	"gonum.org/v1/gonum/mat"

	"github.com/transdim/vti/lab/published"
)

// constant is a constant of the simulation of robust regressions, as printed in table 2 of Davies
// et al. (2025) and as estimated from simulated tables.
type constant struct {
	name  string
	paper float64
	ours  estimate
}

// designTable returns the study of table 2 of Davies et al. (2025): the constants of the simulation
// of robust regressions, estimated from simulated tables.
func designTable() *Study {
	s := settingsOf[vtiSettings]("vti")
	levels := []string{"none", "medium", "high"}
	return &Study{
		Paper: "vti", Name: "table2", Title: "Constants of the robust design (table 2)", Store: "vti-design",
		Keys: []string{"level", "rows", "constant"}, Values: []string{"paper", "ours", "ours_se"},
		Cells: func(*Lab) (cells []Cell, err error) {
			for _, level := range levels {
				constants, err := measureDesign(s, level)
				if err != nil {
					return nil, err
				}
				for _, c := range constants {
					cells = append(cells, Cell{Key: []string{level, strconv.Itoa(s.DesignRows), c.name}, Measure: func(context.Context) ([]string, error) {
						return []string{text(c.paper, 3), text(c.ours.mean, 5), text(c.ours.se, 5)}, nil
					}})
				}
			}
			return cells, nil
		},
		header: []string{"misspecification", "constant", "paper", "ours"},
		lines: func(rows []Row) (lines [][]string) {
			for _, row := range rows {
				lines = append(lines, []string{row["level"], row["constant"], row["paper"], row["ours"] + " ± " + row["ours_se"]})
			}
			return lines
		},
		Claims: func(rows []Row) (claims []Claim) {
			for _, row := range rows {
				z := (row.number("ours") - row.number("paper")) / row.number("ours_se")
				claims = append(claims, Claim{Text: fmt.Sprintf("%s: %s is %s", row["level"], row["constant"], row["paper"]), Z: z, Equal: true})
			}
			return claims
		},
		Note: "One table of many rows for each level, and 2,000 short ones for the share of predictors that matter. " +
			"The paper draws one of two effects for each data set; ours has the first effect in the first half of the rows and the second in the other half, as the published data have it.",
	}
}

// measureDesign simulates tables at a level of misspecification and estimates the constants of the
// simulation from them.
func measureDesign(s vtiSettings, level string) ([]constant, error) {
	known := s.Levels[level]
	simulation := published.Design{Rows: s.DesignRows, Predictors: s.Predictors, Seed: 1}
	if err := simulation.Misspecification.UnmarshalText([]byte(level)); err != nil {
		return nil, err
	}
	data := simulation.Simulate()
	matter := map[string]bool{"x0": true}
	for _, effect := range data.Effects {
		matter[effect.Name] = true
	}
	// All predictors that matter have the same coefficient in a row of the table. It is therefore
	// the slope of y on the sum of these predictors.
	sums := make([]float64, s.DesignRows)
	for j, name := range data.Names[:len(data.Names)-1] {
		if matter[name] {
			for i, x := range data.Columns[j] {
				sums[i] += x
			}
		}
	}
	y := data.Columns[len(data.Columns)-1]
	half := s.DesignRows / 2
	first, left := effectOf(sums[:half], y[:half])
	second, right := effectOf(sums[half:], y[half:])
	var squares, fourths []float64
	for _, r := range append(left, right...) {
		squares, fourths = append(squares, r*r), append(fourths, r*r*r*r)
	}
	mixed := func(power float64) float64 {
		return (1-s.Outliers)*math.Pow(known.Sigma[0], power) + s.Outliers*math.Pow(known.Sigma[1], power)
	}
	included, err := measureInclusion(s, simulation)
	if err != nil {
		return nil, err
	}
	return []constant{
		{"effect in the first half", known.Effects[0], first}, {"effect in the second half", known.Effects[1], second},
		{"variance of the noise", mixed(2), meanOf(squares, nil)}, {"fourth moment of the noise", 3 * mixed(4), meanOf(fourths, nil)},
		{"share of predictors that matter", s.Inclusion, included},
	}, nil
}

// effectOf returns the slope of the regression of y on x through the origin, and the residuals.
func effectOf(x, y []float64) (slope estimate, residuals []float64) {
	a, b := mat.NewVecDense(len(x), x), mat.NewVecDense(len(y), y)
	square := mat.Dot(a, a)
	slope.mean = mat.Dot(a, b) / square
	variance := 0.0
	for i := range x {
		residuals = append(residuals, y[i]-slope.mean*x[i])
		variance += residuals[i] * residuals[i] * x[i] * x[i]
	}
	slope.se = math.Sqrt(variance) / square
	return slope, residuals
}

// measureInclusion returns the mean share of predictors with an effect, over many simulated tables.
func measureInclusion(s vtiSettings, simulation published.Design) (estimate, error) {
	const tables = 2000
	simulation.Rows = 3
	var shares []float64
	for seed := range tables {
		simulation.Seed = uint64(seed + 1)
		data := simulation.Simulate()
		shares = append(shares, float64(len(data.Effects))/float64(s.Predictors))
	}
	return meanOf(shares, nil), nil
}
