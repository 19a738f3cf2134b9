package design

import (
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"math"
	"math/rand/v2"
	"slices"
	"strconv"

	"github.com/transdim/vti/internal/english"
	"github.com/transdim/vti/internal/enum"
	"github.com/transdim/vti/internal/stream"
	"github.com/transdim/vti/likelihood"
)

// SimulationDesign names a way to simulate a data set for variable selection.
type SimulationDesign int

const (
	// AR1Design has normal predictors, whose neighbours correlate, and few effects: the k-th of s
	// effects has absolute size 1 − 0.7 (k−1)/(s−1), a random sign and a random place. The response
	// has the distribution of the likelihood.
	AR1Design SimulationDesign = iota
	// PaperDesign is the robust design of section 5.1 and table 2, with a column of ones x0: each
	// predictor matters with probability 0.4 and an effect of 0.5, and a tenth of the rows has the
	// noise of an outlier. With misspecification the effect is 1.5 in the second half of the rows
	// (as in the published data; the table says data set by data set).
	PaperDesign
)

var simulationDesigns = enum.New[SimulationDesign]("design", "ar1", "paper")

// String returns "ar1" or "paper".
func (d SimulationDesign) String() string { return simulationDesigns.String(d) }

// UnmarshalText reads the name.
func (d *SimulationDesign) UnmarshalText(text []byte) error {
	return simulationDesigns.Unmarshal(text, d)
}

// Misspecification is the distance of the noise of a [PaperDesign] from the robust likelihood.
type Misspecification int

const (
	// NoMisspecification: the noise scales of bulk and outliers are 1 and 10, as in the robust
	// likelihood, and effects are the same in all rows.
	NoMisspecification Misspecification = iota
	// MediumMisspecification: the noise scales are 2 and 5.
	MediumMisspecification
	// HighMisspecification: both noise scales are 4, and four in ten of the predictors without an
	// effect are mixed with those that have one.
	HighMisspecification
)

var misspecifications = enum.New[Misspecification]("misspecification", "none", "medium", "high")

// String returns "none", "medium" or "high".
func (m Misspecification) String() string { return misspecifications.String(m) }

// UnmarshalText reads the name.
func (m *Misspecification) UnmarshalText(text []byte) error {
	return misspecifications.Unmarshal(text, m)
}

// Simulation describes a data set to simulate. Zero sizes stand for the defaults.
type Simulation struct {
	Design SimulationDesign
	// Rows is the number of observations: 300, or 50 for a PaperDesign.
	Rows int
	// Predictors is the number of selectable predictors: 1,000, or 7 for a PaperDesign.
	Predictors int
	// Effects, Correlation and Noise are for an AR1Design: the number of predictors that matter, 8;
	// the correlation of neighbouring predictors, from 0 to below 1; and the standard deviation of
	// the noise, 1.
	Effects     int
	Correlation float64
	Noise       float64
	// Likelihood is for an AR1Design: the distribution of y around the sum of the effects, on the
	// scale of the link and with its default shape; the zero value is GaussianKind.
	Likelihood likelihood.Kind
	// Misspecification is for a PaperDesign.
	Misspecification Misspecification
	Seed             uint64
}

// withDefaults replaces zeros by their defaults.
func (s Simulation) withDefaults() Simulation {
	rows, predictors := 300, 1000
	if s.Design == PaperDesign {
		rows, predictors = 50, 7
	}
	if s.Rows == 0 {
		s.Rows = rows
	}
	if s.Predictors == 0 {
		s.Predictors = predictors
	}
	if s.Effects == 0 {
		s.Effects = min(8, s.Predictors)
	}
	if s.Noise == 0 {
		s.Noise = 1
	}
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
	Name string `json:"name"`
	// Size is the coefficient; in a PaperDesign the coefficient in the first half of the rows.
	Size float64 `json:"size"`
	// Category is the category whose log odds against all others the predictor changes, if the
	// response has categories without an order; nil for other responses.
	Category *int `json:"category,omitempty"`
}

// SimulatedData is a simulated data set with its truth.
type SimulatedData struct {
	// Names are the names of Columns: the predictors x1, x2, … (after x0, a column of ones, in a
	// PaperDesign), then y.
	Names   []string
	Columns [][]float64
	// Effects are the predictors that matter, in the order of the columns.
	Effects []Effect
}

// simulatedDigits is the number of digits of a predictor, in memory as in a file.
const simulatedDigits = 6

// Simulate draws a data set. The same simulation gives the same data.
func Simulate(s Simulation) (*SimulatedData, error) {
	if err := s.Validate(); err != nil {
		return nil, err
	}
	s = s.withDefaults()
	random := stream.Rand(s.Seed, "simulate/"+s.Design.String())
	data := &SimulatedData{}
	if s.Design == PaperDesign {
		data.simulatePaper(s, random)
	} else {
		data.simulateAR1(s, random)
	}
	return data, nil
}

// add appends a column.
func (d *SimulatedData) add(name string, values []float64) {
	for i, v := range values {
		values[i], _ = strconv.ParseFloat(strconv.FormatFloat(v, 'g', simulatedDigits, 64), 64)
	}
	d.Names, d.Columns = append(d.Names, name), append(d.Columns, values)
}

func (d *SimulatedData) simulateAR1(s Simulation, random *rand.Rand) {
	fresh := math.Sqrt(1 - s.Correlation*s.Correlation)
	for j := range s.Predictors {
		x := Normals(random, s.Rows)
		if j > 0 {
			for i, before := range d.Columns[j-1] {
				x[i] = s.Correlation*before + fresh*x[i]
			}
		}
		d.add(fmt.Sprintf("x%d", j+1), x)
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
		for i, z := range Normals(random, s.Rows) {
			y[i] = s.Noise * z
		}
	}
	slices.Sort(places)
	for _, place := range places {
		d.Effects = append(d.Effects, Effect{Name: d.Names[place], Size: sizes[place]})
	}
	if s.Likelihood == likelihood.CategoricalKind {
		d.add("y", d.categories(s.Rows, random))
		return
	}
	for _, place := range places {
		for i, x := range d.Columns[place] {
			y[i] += sizes[place] * x
		}
	}
	if s.Likelihood != likelihood.GaussianKind {
		response := s.response()
		for i, eta := range y {
			y[i] = response.Draw(eta, s.Noise, random)
		}
	}
	d.add("y", y)
}

// simulatedCategories is the number of categories of a simulated response.
const simulatedCategories = 4

// categories draws categories without an order. Each predictor with an effect changes the log odds
// of one category against all others, in turn.
func (d *SimulatedData) categories(rows int, random *rand.Rand) []float64 {
	scores := make([][]float64, simulatedCategories)
	for k := range scores {
		scores[k] = make([]float64, rows)
	}
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
		for k := range scores { // of scores with Gumbel noise the largest has the probabilities of a softmax
			if value := scores[k][i] - math.Log(random.ExpFloat64()); value > best {
				best, y[i] = value, float64(k)
			}
		}
	}
	return y
}

// response is the distribution of the response of an AR1Design.
func (s Simulation) response() likelihood.Row {
	if s.Likelihood.Ordered() {
		c := likelihood.NewCategories(s.Likelihood, simulatedCategories)
		return c.At(make([]float64, c.Parameters())).(likelihood.Row)
	}
	return likelihood.New(s.Likelihood, likelihood.Shape{})
}

// The robust design of table 2.
const (
	paperInclusion = 0.4
	paperOutliers  = 0.1
	paperEffect    = 0.5
	paperEffect2   = 1.5 // in the second half of the rows, with misspecification
	// share of mixed predictors among those without an effect
	paperMixed   = 0.4
	paperMixture = 0.1 // weight of the mixture
)

func (d *SimulatedData) simulatePaper(s Simulation, random *rand.Rand) {
	scales := [...][2]float64{NoMisspecification: {1, 10}, MediumMisspecification: {2, 5}, HighMisspecification: {4, 4}}[s.Misspecification]
	in := make([]bool, s.Predictors)
	columns := make([][]float64, s.Predictors)
	for j := range columns {
		in[j] = random.Float64() < paperInclusion
		columns[j] = Normals(random, s.Rows)
	}
	if s.Misspecification == HighMisspecification {
		for j, x := range columns {
			if !in[j] && random.Float64() < paperMixed {
				mix(x, columns, in, random)
			}
		}
	}
	d.add("x0", slices.Repeat([]float64{1}, s.Rows))
	for j, x := range columns {
		d.add(fmt.Sprintf("x%d", j+1), x)
		if in[j] {
			d.Effects = append(d.Effects, Effect{Name: d.Names[j+1], Size: paperEffect})
		}
	}
	y := make([]float64, s.Rows)
	for i := range y {
		effect, scale := paperEffect, scales[0]
		if i >= s.Rows/2 && s.Misspecification != NoMisspecification {
			effect = paperEffect2
		}
		if random.Float64() < paperOutliers {
			scale = scales[1]
		}
		y[i] = effect + scale*random.NormFloat64()
		for j, x := range d.Columns[1:] {
			if in[j] {
				y[i] += effect * x[i]
			}
		}
	}
	d.add("y", y)
}

// mix replaces a tenth of x by the columns that are in, in random shares and with random signs.
func mix(x []float64, columns [][]float64, in []bool, random *rand.Rand) {
	shares, total := make([]float64, len(columns)), 0.0
	for j := range columns {
		if in[j] {
			shares[j] = random.ExpFloat64()
			total += shares[j]
			if random.IntN(2) == 1 {
				shares[j] = -shares[j]
			}
		}
	}
	if total == 0 {
		return
	}
	for i := range x {
		x[i] *= 1 - paperMixture
		for j, share := range shares {
			x[i] += paperMixture * share / total * columns[j][i]
		}
	}
}

// Normals are n standard normal draws.
func Normals(random *rand.Rand, n int) []float64 {
	x := make([]float64, n)
	for i := range x {
		x[i] = random.NormFloat64()
	}
	return x
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
