// Package vti infers which model generated data, and with which parameters, by variational
// transdimensional inference: one normalizing flow q(θ | m) serves every model at once (CoSMIC
// flows), beside a distribution q(m) over models, and importance weights then turn both into
// certified answers.
//
// A user describes the problem as a [Target]: a space of models, their prior, and the log joint
// density of data and parameters as a GoMLX graph. [Fit] trains, [Posterior.Certify] checks and
// corrects.
//
//	posterior, err := vti.Fit(ctx, device, target, vti.Config{Seed: 1})
//	certificate, err := posterior.Certify(ctx, vti.CertifyConfig{})
//	fmt.Println(certificate.Verdict, certificate.LogEvidence)
//	for _, model := range certificate.Models {
//		fmt.Println(model.Code, model.Certified, model.LogEvidence)
//	}
//
// # Notation
//
//	code       m         model: one outcome per site                          [S]
//	mask       A(m)      which saturated coordinates a model uses             [D]
//	theta      θ_m, u    saturated parameters, reference noise where inactive [D]
//	z          z ~ ν     reference draw, standard normal                      [D]
//	logH       log h     log q(θ | m) − log η(θ | m) (eq. 9)
//
// Equation numbers are those of Davies, Mackinlay, Oliveira and Sisson, "Amortized Variational
// Transdimensional Inference" (2025). docs/method.md says where this implementation differs from
// it, and why.
//
// # Files
//
// Describing a problem:
//
//	target.go         Target, and the optional knowledge that a target may have of its models
//	exact.go          ExactTarget: evidences in closed form
//	laplace_target.go LaplaceTarget: evidences estimated around the mode of each model
//	unimodal.go       UnimodalTarget: targets whose weights need no chains that check them
//	config.go         Config: how Fit trains; Info: what it reports
//
// Training:
//
//	family.go         Family: problems of one kind that differ in their data
//	amortized.go      Amortized: a network for a family, and q(m, θ | D) as a graph
//	amortized_config.go how it is trained
//	amortized_file.go what files of networks hold
//	amortized_objective.go what training minimises, and on what
//	amortized_best.go the best weights of a training, by problems that it does not train on
//	amortized_fit.go  FitAmortized
//	amortized_open.go what it says of one data set, and how good it is
//	beginning.go      Beginning: what a fit begins with
//	fit.go            Fit and Load
//	trainer.go        the state of a fit, and how it is set up
//	round.go          the part of training over which the learning rate falls once
//	step.go           one training step, as a graph
//	start.go          the model and the prior that a fit starts from
//	launch.go         compiling and launching steps, the calendar of reports and checkpoints
//	modelstep.go      the step on q(m), bounded by the information gain
//	scoreloss.go      the score-function loss of q(m)
//	controlvariate.go and what is subtracted from it
//	learner.go        distributions that learn from rewards by themselves
//	pilot.go          the warm start of q(m)
//	laplace.go        modes and curvatures, for the anchor of the flow
//	reporter.go       running sums to averages
//	checkpoint.go     the state of training in a file
//	size.go           sizes that cannot fit are refused
//
// As much work as the answer needs:
//
//	solve.go         Solve: the loop that looks at its own certificate
//	solve_config.go  SolveConfig, and what Solve returns
//	solve_plan.go    how far it has come, as checkpoints hold it
//	solver.go        what its stages have in common
//	solve_stages.go  the stages, and what each decides
//	solve_advice.go  what would help where the answer is not good enough
//
// Evaluating and drawing:
//
//	evaluator.go      device, target, flow and q(m): what training and certification both take
//	posterior.go      Posterior: draws and densities of what is trained
//	codes.go          codes of models as rows, lists and keys
//	numeric.go        finite numbers
//
// Certification:
//
//	certify.go           which of the following applies
//	certify_config.go    CertifyConfig: how much work it may do
//	certify_models.go    models alone: sums of evidences
//	certify_weights.go   models alone: weights of draws of models
//	certify_fitted.go    and of draws from what is fitted to chains over models
//	evidences.go         where evidences come from without q
//	masses.go            the models looked at so far
//	model_chains.go      chains over models
//	items.go             models as sets of items
//	joint.go             members that matter only together, or stand in for others
//	joint_target.go      where a target finds them
//	parameter_draws.go   and draws of parameters given models
//	certify_each.go      weights of each model by itself
//	certify_joint.go     weights of models and parameters together
//	certify_laplace.go   models whose weights are not reliable
//	laplace_proposal.go  the proposal at a mode
//	surface.go           what is climbed on: a target's own expansion, or graphs
//	laplace_modes.go     and at all modes of a model that were found
//	mode_starts.go       and where a target knows that there may be modes
//	witness.go           what earlier certificates and chains have found
//	certify_witness.go   weights of it under a certificate's proposals
//	certify_chains.go    tempered chains that check weights
//	certify_births.go    chains over models whose items come and go by their odds
//	certify_collapsed.go annealed populations and chains over models and latent variables
//	chain_length.go      how long they are, and when they go on
//	certify_agreement.go when weights and chains agree
//	chains.go            what all chains have in common
//	importance.go        the importance sampler
//	anneal.go            annealed draws, where weights have heavy tails
//	reference.go         wider densities to draw from: of θ
//	reference_models.go  and of models
//	components.go        the components of a mixture as control variates
//	evidence.go          evidences of chosen models, with draws that the caller allots
//	certificate.go       Certificate: verdict, models, probabilities of events
//	conditionals.go      probabilities of sites given all others, in place of counts
//	moments.go           means and sds with their errors
//	summary.go           equally weighted draws and summaries
//	save.go              a certificate as files
//	certify_precision.go how many draws a precision takes
//	certify_shard.go     what several processes share of a certificate
//	recertify.go         a certificate of what an earlier run has trained
//
//	version.go        the version of the module
package vti
