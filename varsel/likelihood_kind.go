package varsel

import "fmt"

// LikelihoodKind names how the response depends on the linear predictor η = Xθ + offset.
type LikelihoodKind int

const (
	// GaussianLikelihood: y ~ N(η, σ²).
	GaussianLikelihood LikelihoodKind = iota
	// RobustLikelihood: y ~ (1−ε) N(η, σ₁²) + ε N(η, σ₂²), equation 20 with the mean inside both
	// normals.
	RobustLikelihood
	// StudentLikelihood: (y−η)/σ has a Student t distribution.
	StudentLikelihood
	// LogisticLikelihood: y is 1 with probability 1/(1+exp(−η)), else 0.
	LogisticLikelihood
	// PoissonLikelihood: y is a count with mean exp(η).
	PoissonLikelihood
)

var likelihoodNames = [...]string{"gaussian", "robust", "student", "logistic", "poisson"}

// String returns the name that [ParseLikelihood] reads.
func (k LikelihoodKind) String() string {
	if k < 0 || int(k) >= len(likelihoodNames) {
		return fmt.Sprintf("LikelihoodKind(%d)", int(k))
	}
	return likelihoodNames[k]
}

// Continuous reports whether the response is a real number that may be shifted and scaled.
func (k LikelihoodKind) Continuous() bool {
	return k == GaussianLikelihood || k == RobustLikelihood || k == StudentLikelihood
}

// ParseLikelihood reads gaussian, robust, student, logistic or poisson.
func ParseLikelihood(s string) (LikelihoodKind, error) {
	for k, name := range likelihoodNames {
		if s == name {
			return LikelihoodKind(k), nil
		}
	}
	return 0, fmt.Errorf("unknown likelihood %q; expected gaussian, robust, student, logistic or poisson", s)
}
