package devices

import (
	gocontext "context"
	"fmt"
	"math"

	"github.com/gomlx/gomlx/pkg/core/dtypes"

	"github.com/transdim/vti/gpu"
)

// Class is a class of numbers that are compared. Each class has its own tolerance.
type Class int

const (
	// Values is the class of densities, parameters and log-determinants.
	Values Class = iota
	// Gradients is the class of derivatives with respect to weights and parameters.
	Gradients
	// Draws is the class of the integers of drawn models. Their difference is the share of integers
	// that differ: a few may, since a sum that is rounded in another way can fall on the other side
	// of a threshold.
	Draws
	// Training is the class of losses, entropies and densities during and after training, in which
	// differences add up.
	Training
)

var classNames = [...]string{"values", "gradients", "draws", "training"}

// String returns "values", "gradients", "draws" or "training".
func (c Class) String() string { return classNames[c] }

// tolerances holds the largest accepted differences. They are some hundred times the rounding
// errors of processors for Float64 and some ten times for Float32. Products of numbers with 10 bits
// (TF32), which cards use for Float32 by default, exceed the tolerances. They are too inaccurate
// for importance weights.
var tolerances = map[dtypes.DType][len(classNames)]float64{
	dtypes.Float64: {Values: 1e-11, Gradients: 1e-10, Draws: 0, Training: 1e-7},
	dtypes.Float32: {Values: 1e-4, Gradients: 2e-4, Draws: 0.02, Training: 5e-3},
}

// Tolerances returns the tolerance of each class for Float32 or Float64.
func Tolerances(dtype dtypes.DType) map[Class]float64 {
	byClass := map[Class]float64{}
	for class, tolerance := range tolerances[dtype] {
		byClass[Class(class)] = tolerance
	}
	return byClass
}

// Classes returns all classes.
func Classes() []Class { return []Class{Values, Gradients, Draws, Training} }

// DTypes returns the float types that are checked.
func DTypes() []dtypes.DType { return []dtypes.DType{dtypes.Float32, dtypes.Float64} }

// measured holds numbers of one class from a subject.
type measured struct {
	class  Class
	values []float64
}

// subject is a computation that should have the same result on every device.
type subject struct {
	name    string
	measure func(ctx gocontext.Context, device *gpu.Device, dtype dtypes.DType) ([]measured, error)
}

// subjects returns all subjects. The argument steps is the number of steps of training runs.
func subjects(steps int) []subject {
	var all []subject
	all = append(all, flowSubjects()...)
	all = append(all, modelSubjects()...)
	all = append(all, targetSubjects()...)
	return append(all, trainingSubjects(steps)...)
}

// Comparison is the result of a check for one subject (computation), float type and class of
// numbers.
type Comparison struct {
	Subject string
	DType   dtypes.DType
	Class   Class
	// Difference is the largest difference from the reference, relative to the larger of 1 and the
	// reference. It is infinite if only one of two numbers is finite.
	Difference, Tolerance float64
	// Err is the error of the computation on the device, if it failed.
	Err error
}

// Agrees reports whether the device passes the comparison.
func (c Comparison) Agrees() bool { return c.Err == nil && c.Difference <= c.Tolerance }

// Reference holds the results of the interpreter in float64.
type Reference struct {
	subjects []subject
	answers  [][]measured
}

// Steps is the number of training steps of a full check.
const Steps = 50

// NewReference runs all computations that the check compares (the subjects) on a device that is
// taken to be correct. The argument steps is the number of steps of training runs.
func NewReference(ctx gocontext.Context, device *gpu.Device, steps int) (*Reference, error) {
	r := &Reference{subjects: subjects(steps)}
	for _, s := range r.subjects {
		answer, err := s.measure(ctx, portably(device), dtypes.Float64)
		if err != nil {
			return nil, fmt.Errorf("%s on the reference: %w", s.name, err)
		}
		r.answers = append(r.answers, answer)
	}
	return r, nil
}

// Check compares a device with the reference in one float type, and calls report with each
// comparison. It stops early only if ctx is cancelled.
func (r *Reference) Check(ctx gocontext.Context, device *gpu.Device, dtype dtypes.DType, report func(Comparison)) error {
	for i, s := range r.subjects {
		if err := ctx.Err(); err != nil {
			return err
		}
		answer, err := s.measure(ctx, portably(device), dtype)
		if ctx.Err() != nil {
			return ctx.Err()
		}
		if err != nil {
			report(Comparison{Subject: s.name, DType: dtype, Err: err})
			continue
		}
		for class := range Class(len(classNames)) {
			if difference, any := compare(r.answers[i], answer, class); any {
				report(Comparison{Subject: s.name, DType: dtype, Class: class, Difference: difference, Tolerance: tolerances[dtype][class]})
			}
		}
	}
	return nil
}

// compare returns the largest difference between numbers of a class. The result any reports whether
// there are numbers of the class.
func compare(want, got []measured, class Class) (worst float64, any bool) {
	for i, w := range want {
		if w.class != class {
			continue
		}
		any = true
		if len(got) != len(want) || len(got[i].values) != len(w.values) {
			return math.Inf(1), true
		}
		if class == Draws {
			worst = math.Max(worst, shareOfDifferences(w.values, got[i].values))
			continue
		}
		for k, x := range w.values {
			worst = math.Max(worst, relativeDifference(x, got[i].values[k]))
		}
	}
	return worst, any
}

func shareOfDifferences(want, got []float64) float64 {
	count := 0
	for i, x := range want {
		if got[i] != x {
			count++
		}
	}
	return float64(count) / float64(len(want))
}

// relativeDifference returns |x − y| / max(1, |x|). It is 0 if both are NaN or equal infinities.
func relativeDifference(x, y float64) float64 {
	switch {
	case x == y || math.IsNaN(x) && math.IsNaN(y):
		return 0
	case math.IsNaN(x) || math.IsNaN(y) || math.IsInf(x, 0) || math.IsInf(y, 0):
		return math.Inf(1)
	}
	return math.Abs(x-y) / math.Max(1, math.Abs(x))
}
