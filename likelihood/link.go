package likelihood

import (
	"fmt"
	"math"
)

// Link is a function between the mean of a response and the linear predictor η.
type Link int

const (
	// IdentityLink: the mean is η.
	IdentityLink Link = iota
	// LogitLink: the mean is 1/(1 + exp −η).
	LogitLink
	// LogLink: the mean is exp η.
	LogLink
	// ProbitLink: the mean is Φ(η).
	ProbitLink
)

// String returns "identity", "logit", "log" or "probit".
func (l Link) String() string {
	switch l {
	case IdentityLink:
		return "identity"
	case LogitLink:
		return "logit"
	case LogLink:
		return "log"
	case ProbitLink:
		return "probit"
	}
	return fmt.Sprintf("Link(%d)", int(l))
}

// Mean returns the mean of the response at η.
func (l Link) Mean(eta float64) float64 {
	switch l {
	case LogitLink:
		return 1 / (1 + math.Exp(-eta))
	case LogLink:
		return math.Exp(eta)
	case ProbitLink:
		return math.Exp(logNormalCDF(eta))
	}
	return eta
}

// Linear returns a finite η for one response y, from which a least-squares fit can start: y itself,
// log(y + ½) for a count, or for a 0/1 response the tangent of the link at ½, such as 4 (y − ½) for
// the logit.
func (l Link) Linear(y float64) float64 {
	switch l {
	case LogitLink:
		return 4 * (y - 0.5)
	case LogLink:
		return math.Log(y + 0.5)
	case ProbitLink:
		return math.Sqrt(2*math.Pi) * (y - 0.5)
	}
	return y
}
