package frame

import (
	"gonum.org/v1/gonum/mat"

	"github.com/transdim/vti/internal/apply"
)

// Text returns the name of a column of a design. For a column of a monotonic effect, mo(x), the
// name is followed by the step between two categories that the column stands for.
func (c Column) Text() string {
	if c.Step == "" {
		return c.Name
	}
	return c.Name + ": " + c.Step
}

// LaterStep reports whether a population column is a column of a monotonic effect, but not its
// first column. Such an effect has one coefficient, which belongs to its first column.
func (f *Frame) LaterStep(j int) bool {
	return f.Columns[j].Step != "" && j > 0 && f.Columns[j-1].Step != "" && f.Columns[j-1].Term == f.Columns[j].Term
}

// EffectColumns returns the population columns that have a coefficient: all but the columns for
// which LaterStep is true.
func (f *Frame) EffectColumns() []int {
	return apply.Where(len(f.Columns), func(j int) bool { return !f.LaterStep(j) })
}

// StepsFrom returns the number of columns of the effect that begins at column j: its steps if it is
// monotonic, or 1.
func (f *Frame) StepsFrom(j int) int {
	count := 1
	for j+count < len(f.Columns) && f.LaterStep(j+count) {
		count++
	}
	return count
}

// EffectValues returns the values [n] that multiply a population effect. For a monotonic effect
// they are the numbers of steps below the value of the predictor.
func (f *Frame) EffectValues(j int) []float64 {
	values := mat.Col(nil, j, f.X)
	for k := j + 1; k < j+f.StepsFrom(j); k++ {
		for i := range values {
			values[i] += f.X.At(i, k)
		}
	}
	return values
}

// Steps returns the number of columns of the monotonic effect of a column.
func (f *Frame) Steps(j int) int {
	for f.LaterStep(j) {
		j--
	}
	return f.StepsFrom(j)
}

// StepCoefficient returns draws of the coefficient of a step of a monotonic effect: its average
// change a step, times the share of the step, times the number of steps.
func StepCoefficient(average, share []float64, steps int) []float64 {
	return apply.UpTo(len(average), func(s int) float64 { return average[s] * share[s] * float64(steps) })
}

// ShiftedName returns the name of the values of Shifted.
func (f *Frame) ShiftedName() string {
	if f.Response.Logarithmic() {
		return "log(" + f.Formula.Response.String() + ")"
	}
	return f.Formula.Response.String()
}
