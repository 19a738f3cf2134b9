package design

import (
	"cmp"
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"math"
	"math/rand/v2"
	"slices"
	"strconv"

	"github.com/transdim/vti/internal/apply"
	"github.com/transdim/vti/internal/english"
	"github.com/transdim/vti/internal/stream"
	"github.com/transdim/vti/likelihood"
)

// Simulation describes a data set to simulate: normal predictors, whose neighbours are correlated,
// and s effects. The k-th effect has absolute size 1 − 0.7 (k−1)/(s−1) and a random sign, and
// belongs to a predictor chosen at random. A field of zero stands for its default, if it has one.
type Simulation struct {
	// Rows is the number of observations, by default 300. Predictors is the number of selectable
	// predictors, by default 1,000.
	Rows, Predictors int
	// Effects is the number s of predictors with an effect, by default 8.
	Effects int
	// Correlation is the correlation of neighbouring predictors, from 0 to below 1.
	Correlation float64
	// Noise is the standard deviation of the noise, by default 1.
	Noise float64
	// Likelihood is the distribution of y, whose linear predictor is the sum of the effects and
	// whose shape is the default. The zero value is GaussianKind.
	Likelihood likelihood.Kind
	// Seed is the seed of the random numbers.
	Seed uint64
}

// withDefaults replaces zeros by their defaults.
func (s Simulation) withDefaults() Simulation {
	s.Rows, s.Predictors, s.Noise = cmp.Or(s.Rows, 300), cmp.Or(s.Predictors, 1000), cmp.Or(s.Noise, 1)
	s.Effects = cmp.Or(s.Effects, min(8, s.Predictors))
	return s
}

// Validate reports the first field that is out of its range.
func (s Simulation) Validate() error {
	s = s.withDefaults()
	switch {
	case s.Rows < 2:
		return fmt.Errorf("simulation: got %s, want at least 2", english.Count(s.Rows, "row"))
	case s.Predictors < 1:
		return fmt.Errorf("simulation: got %d predictors, want at least one", s.Predictors)
	case s.Effects < 0 || s.Effects > s.Predictors:
		return fmt.Errorf("simulation: got %d effects, want 0 to %d, at most one for each predictor", s.Effects, s.Predictors)
	case !(s.Correlation >= 0 && s.Correlation < 1):
		return fmt.Errorf("simulation: got correlation %g, want one from 0 to below 1", s.Correlation)
	case !(s.Noise > 0) || math.IsInf(s.Noise, 1):
		return fmt.Errorf("simulation: got noise %g, want a positive number", s.Noise)
	}
	return nil
}

// Effect is a predictor with an effect in a simulation.
type Effect struct {
	// Name is the name of the predictor.
	Name string `json:"name"`
	// Size is the coefficient.
	Size float64 `json:"size"`
	// Category is the category whose log odds against all others the predictor changes, if the
	// response has categories without an order; nil for other responses.
	Category *int `json:"category,omitempty"`
}

// SimulatedData is a simulated data set with its true effects.
type SimulatedData struct {
	// Names are the names of Columns: the predictors x1, x2, …, then y.
	Names []string
	// Columns holds the values of each column.
	Columns [][]float64
	// Effects are the predictors with an effect, in the order of the columns.
	Effects []Effect
}

// simulatedDigits is the number of significant digits of a simulated value, in memory as in a file.
const simulatedDigits = 6

// Simulate draws a data set. Equal simulations give equal data.
func Simulate(s Simulation) (*SimulatedData, error) {
	if err := s.Validate(); err != nil {
		return nil, err
	}
	s = s.withDefaults()
	data := &SimulatedData{}
	data.simulate(s, stream.Rand(s.Seed, "simulate/ar1"))
	return data, nil
}

// Add appends a column, rounded to the digits of a file. A value below 1 that would be rounded to 1
// keeps its digits, since it may be a share.
func (d *SimulatedData) Add(name string, values []float64) {
	for i, v := range values {
		rounded, _ := strconv.ParseFloat(strconv.FormatFloat(v, 'g', simulatedDigits, 64), 64)
		if rounded != 1 || v > 1 {
			values[i] = rounded
		}
	}
	d.Names, d.Columns = append(d.Names, name), append(d.Columns, values)
}

func (d *SimulatedData) simulate(s Simulation, random *rand.Rand) {
	fresh := math.Sqrt(1 - s.Correlation*s.Correlation)
	for j := range s.Predictors {
		x := stream.Normals(random, s.Rows)
		if j > 0 {
			for i, before := range d.Columns[j-1] {
				x[i] = s.Correlation*before + fresh*x[i]
			}
		}
		d.Add(fmt.Sprintf("x%d", j+1), x)
	}
	places := random.Perm(s.Predictors)[:s.Effects]
	sizes := make(map[int]float64, s.Effects)
	for k, place := range places {
		size := 1 - 0.7*float64(k)/float64(max(s.Effects-1, 1))
		if random.IntN(2) == 1 {
			size = -size
		}
		sizes[place] = math.Round(size*1000) / 1000
	}
	y := make([]float64, s.Rows)
	if s.Likelihood == likelihood.GaussianKind {
		for i, z := range stream.Normals(random, s.Rows) {
			y[i] = s.Noise * z
		}
	}
	slices.Sort(places)
	for _, place := range places {
		d.Effects = append(d.Effects, Effect{Name: d.Names[place], Size: sizes[place]})
	}
	if s.Likelihood == likelihood.CategoricalKind {
		d.Add("y", d.categories(s.Rows, random))
		return
	}
	for _, place := range places {
		for i, x := range d.Columns[place] {
			y[i] += sizes[place] * x
		}
	}
	if s.Likelihood != likelihood.GaussianKind {
		response := s.responseRow()
		for i, eta := range y {
			y[i] = response.Draw(eta, s.Noise, random)
		}
	}
	d.Add("y", y)
}

// simulatedCategories is the number of categories of a simulated response.
const simulatedCategories = 4

// categories draws categories without an order. Each predictor with an effect belongs to one
// category, in turn: it changes the log odds of one category against all others.
func (d *SimulatedData) categories(rows int, random *rand.Rand) []float64 {
	scores := apply.UpTo(simulatedCategories, func(int) []float64 { return make([]float64, rows) })
	for e := range d.Effects {
		effect, category := &d.Effects[e], e%simulatedCategories
		effect.Category = &category
		for i, x := range d.Columns[slices.Index(d.Names, effect.Name)] {
			scores[category][i] += effect.Size * x
		}
	}
	y := make([]float64, rows)
	for i := range y {
		best := math.Inf(-1)
		for k := range scores { // the largest of scores with Gumbel noise is a draw from their softmax
			if value := scores[k][i] - math.Log(random.ExpFloat64()); value > best {
				best, y[i] = value, float64(k)
			}
		}
	}
	return y
}

// responseRow returns the distribution of the response given its linear predictor.
func (s Simulation) responseRow() likelihood.Row {
	if s.Likelihood.Ordered() {
		c := likelihood.NewCategories(s.Likelihood, simulatedCategories)
		return c.At(make([]float64, c.Parameters())).(likelihood.Row)
	}
	return likelihood.New(s.Likelihood, likelihood.Shape{})
}

// WriteCSV writes the columns with a header row.
func (d *SimulatedData) WriteCSV(w io.Writer) error {
	writer, cells := csv.NewWriter(w), slices.Clone(d.Names)
	err := writer.Write(cells)
	for i := 0; i < len(d.Columns[0]) && err == nil; i++ {
		for j, column := range d.Columns {
			cells[j] = strconv.FormatFloat(column[i], 'g', -1, 64)
		}
		err = writer.Write(cells)
	}
	writer.Flush()
	return errors.Join(err, writer.Error())
}
