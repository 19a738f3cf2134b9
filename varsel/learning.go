package varsel

import (
	"math"

	"github.com/transdim/vti"
)

// Learning says how q(m) learns, as records have it; the zero value is the default of vti.Config.
type Learning struct {
	// Start is where flow and q(m) begin.
	Start vti.Start `json:"start"`
	// ControlVariate is that of the score-function gradient.
	ControlVariate vti.ControlVariate `json:"control_variate"`
	// InformationGain bounds the change of the entropy of q(m) in a step, in nats; negative: no
	// bound.
	InformationGain float64 `json:"information_gain,omitempty"`
}

// informationGain is that of vti.Config.
func (l Learning) informationGain() float64 {
	if l.InformationGain < 0 {
		return math.Inf(1)
	}
	return l.InformationGain
}
