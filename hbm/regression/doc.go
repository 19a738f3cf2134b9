// Package regression fits hierarchical regressions that a formula describes to a table: population
// effects, effects that vary by group, and selection of terms.
//
// A formula turns a table into a frame (package hbm/frame), and priors turn a frame into a
// [Regression]. [Regression.Run] computes the posterior of a regression with effects integrated
// out. For a gaussian response all effects are integrated out in closed form, and the few standard
// deviations and correlations by importance sampling: nothing is trained. For other responses the
// effects of the largest grouping are integrated out by quadrature. The remaining parameters are
// integrated out by importance sampling from a Laplace approximation or, if the log density of a
// row is not concave, learned by a flow. If terms are selected, one flow learns all models at once.
// [Regression.RunFamily] fits a family of package hbm to the same regression written with plates,
// and [Regression.Infer] answers for a table with a family that was trained on simulated tables.
//
//	data, err := table.ReadFile("sleepstudy.csv")
//	formula := "Reaction ~ Days + (Days | Subject)"
//	f, err := frame.New(data, frame.Options{Formula: formula})
//	r, err := regression.New(f, regression.Options{})
//	result, err := r.Run(ctx, device, regression.Run{Dir: dir})
//
// Files, in the order in which a table becomes an answer:
//
//	options.go                priors, and priors of single terms
//	regression.go             Regression: likelihood, priors, and the coordinates of θ
//	monotonic.go              monotonic effects of ordered predictors
//	planes.go                 responses with several linear predictors a row
//	working_scale.go          centred and scaled columns, and merging of equal rows
//	select.go                 which terms a model has: codes, masks, prior of models
//	hyperparameters.go        standard deviations, correlations and noise from θ, and their prior
//	response.go               the distribution of a response given its linear predictors
//	joint_effects.go          all effects of a gaussian regression given the hyperparameters
//	joint_conditional.go      effects given hyperparameters, and the solution for their mean
//	effort.go                 which answers need no training, and their numbers of draws
//	integral.go               the integrals over the hyperparameters of all models
//	run_integral.go           the answer without training, and its comparison with trained ones
//	laplace.go                all effects for other responses: normal approximation and draws
//	laplace_climb.go          search for the mode of the normal approximation
//	inner_integral.go         the effects of one grouping integrated out, or drawn, on the host
//	target.go                 the log joint density as a vti.Target, for flows
//	gaussian.go, quadrature.go   the effects of one grouping integrated out
//	anchor.go                 units of standard deviations, and where training starts
//	run.go                    training, certification and the answer of the marginal family
//	effects.go                draws of the effects of all levels
//	moments.go                means and standard deviations over all weighted draws
//	plates.go                 the regression as a model with plates
//	plates_space.go, family_selection.go
//	                          a selection of terms as a Target over a model with plates
//	family.go, amortize.go    families of package hbm, for one table or for many
//	simulated_tables.go       tables from the priors, for training an amortized family
//	result.go, description.go, record.go      answers as they are printed and written
//	model_check.go            comparison of simulated data with the table
//	rows.go                   rows and predictors of a finished run, for package predict
//	compare.go                comparison of two finished runs
package regression
