package vti

// UnimodalTarget is a Target that knows whether the posterior of the parameters has one mode in
// every model, as those of log-concave likelihoods and priors have. Solve then believes weights
// that look reliable. For any other Target tempered chains check the weights, which cannot show a
// mode where no draw fell: if a target says so wrongly, wrong answers are trusted.
type UnimodalTarget interface {
	Target
	// Unimodal reports whether there is one mode.
	Unimodal() bool
}

// unimodal reports whether a target says that posteriors of its parameters have one mode.
func unimodal(target Target) bool {
	if u, ok := target.(UnimodalTarget); ok {
		return u.Unimodal()
	}
	_, laplace := target.(LaplaceTarget)
	return laplace
}
