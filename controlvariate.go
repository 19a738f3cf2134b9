package vti

import (
	"fmt"
)

// ControlVariate says what is subtracted from the losses in the score-function gradient of q(m)
// (eq. 18, 19). None of them biases it.
type ControlVariate int

const (
	// LeaveOneOut subtracts from each loss the mean of the others of its batch.
	LeaveOneOut ControlVariate = iota
	// Running subtracts the moving average of the batches before (D.1).
	Running
	// SurrogateMean subtracts what a diagonal surrogate expects of each model, adds the exact
	// gradient of that expectation, and subtracts the mean of the others of the batch from what is
	// left. It needs a table q(m).
	SurrogateMean
)

var controlVariateNames = [...]string{"leave-one-out", "running", "surrogate-mean"}

// String returns the name.
func (c ControlVariate) String() string {
	if c < 0 || int(c) >= len(controlVariateNames) {
		return fmt.Sprintf("ControlVariate(%d)", int(c))
	}
	return controlVariateNames[c]
}
