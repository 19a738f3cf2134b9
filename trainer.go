package vti

import (
	"encoding/json"

	"github.com/gomlx/gomlx/pkg/ml/context"

	"github.com/transdim/vti/internal/checkpoint"
	"github.com/transdim/vti/modeldist"
)

// Scopes of the variables that only training needs.
const (
	trainScope = "train"
	adamScope  = "adam" // holds the scopes of what it moves
	// controlScope is the path of the surrogate of a control variate.
	controlScope = "/" + trainScope + "/control"
)

// trainer takes the steps of a fit.
type trainer struct {
	*evaluator
	config   Config               // defaults filled in
	settings json.RawMessage      // of the checkpoint
	step     int                  // steps taken
	schedule *checkpoint.Schedule // of checkpoints by time; nil without them

	exec       *context.Exec        // one step
	several    *context.Exec        // Config.StepsPerLaunch steps; nil if that is one
	control    *modeldist.Surrogate // of the control variate, if it is SurrogateMean
	tablePrior []float64            // log p of every model, then
	anchored   bool                 // the flow starts at a mode that newTrainer found
}
