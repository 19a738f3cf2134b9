// Package varsel answers which predictors of a data table matter, and by how much.
//
// A model is a subset of the selectable predictors. Every coefficient in the model has a normal
// prior (the slab), every coefficient outside it is zero, and the models have a prior of their own.
//
// # Notation
//
//	n         rows of data
//	D         columns of the design matrix: the coordinates of θ that are coefficients
//	G         selectable predictors; predictor s is site s of a model's code, 1 = in
//	X [n, D]  design matrix, Y [n] response, both on the working scale
//	θ [D]     coefficients on the working scale; β on the scale of the table
//	σ         noise scale of a continuous likelihood, on the working scale
//
// # Conventions
//
// A predictor is a column, a factor (one indicator column per level but the first) or a named group
// of columns; the columns of one predictor enter and leave together. Coordinates are ordered:
// intercept, columns of the always-in predictors, columns of the selectable predictors, each in
// table order.
//
// The working scale is the scale of the columns that [NewDesign] makes. With standardisation on
// (the default), every column is centred and divided by its standard deviation, indicator columns
// too, and so is a continuous response. [Scaling] maps exactly back to the scale of the table.
//
//	t, err := table.ReadFile("diabetes.csv")
//	// handle err
//	options := varsel.DesignOptions{Target: "y", Likelihood: likelihood.GaussianKind}
//	d, err := varsel.NewDesign(t, options)
//	// handle err
//	p, err := varsel.NewProblem(d, varsel.ModelOptions{})
//	// handle err
//	r, err := varsel.RunExact(ctx, p, nil, "")
//	// handle err
//	fmt.Println(r.Inclusion, *r.LogEvidence)
//
// # Files
//
// From a table to a Target (package regression has likelihoods, priors of coefficients, and
// approximations of single models; package wide searches among many predictors):
//
//	model_options.go          settings of likelihood and priors, codes of models, and aliases
//	problem.go                Problem: a design with likelihood and priors
//	heredity.go               which models with interactions there are
//	target.go                 Target: the posterior as a graph, and models by their codes
//	posterior.go              closed forms, proposals and searches for modes
//	slots.go                  models as lists of the predictors that are in them
//	slots_*.go                normal approximations and draws for lists
//	host_density.go           the log density of a Target in Go, for a block of chains
//	sampler.go                q(m), and how it learns
//
// One network for many tables:
//
//	amortized.go              Family: the tables that a network is trained for
//	amortized_sketch.go       approximate evidences of all models, where a network starts
//	amortized_read.go         the input of a network, and the densities of a family
//	amortized_open.go         a network from a file, for one table
//	approximation.go          normal approximations of models, from which a network starts
//
// Closed forms (package exact has the closed forms of one model, and sums over all):
//
//	closed.go                 evidences and draws for the engine
//	summed.go                 sums over all models, and moments of coefficients
//	collapsed.go              robust regressions of more rows, without coefficients
//	outlier_state.go          a model with a set of outliers, and its moves
//
// Log-concave likelihoods:
//
//	laplace.go                draws around the modes of one model, for the engine
//	laplace_fit.go            one mode: Newton's method, curvature, draws
//	laplace_scale.go          modes and draws along the logarithm of a shape or precision
//	laplace_split.go          draws with a scale for each side of the mode
//	laplace_walls.go          axes along the walls of a ridge
//
// From a posterior to an answer:
//
//	run.go, run_chains.go, run_exact.go
//	                          the runs: engine, reversible jump, enumeration
//	result.go                 the answer in terms of the table
//	statistics.go             summary statistics in place of rows, and whether they agree
//	credible.go               sets of correlated predictors that stand in for each other
//	model_check.go            comparison of simulated data with the table
//	coefficient_priors.go     priors on the scale of the table
//	names.go                  names of coefficients
//	posterior_draws.go        draws on the scale of the table, and summaries of coefficients
//	record.go, files.go       the contents of a run directory
//	rows.go                   predictions of rows from a finished run, for package predict
//	compare*.go               comparison of two runs
package varsel
