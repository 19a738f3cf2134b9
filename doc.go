// Package vti infers which model generated data, and with which parameters, by variational
// transdimensional inference. One normalizing flow q(θ | m) approximates the posteriors of all
// models (CoSMIC flows), and a distribution q(m) their probabilities. Importance weights correct
// and certify both approximations.
//
// A user describes the problem as a [Target]: a space of models, their prior, and the log joint
// density of data and parameters as a GoMLX graph. [Solve] finds the posterior, with the amount of
// work that the answer needs. It uses two functions that can also be called by themselves: [Fit]
// trains the approximation, and [Posterior.Certify] checks and corrects it.
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
//	code       m         model                                     [S]
//	mask       A(m)      coordinates that a model uses             [D]
//	theta      θ_m, u    parameters, and noise at the others       [D]
//	z          z ~ ν     reference draw, standard normal           [D]
//	logH       log h     log q(θ | m) − log η(θ | m) (eq. 9)
//
// A model is a choice at each of S sites: a predictor is in or out, for example. The parameters of
// all models together have D coordinates. A model uses the active ones; in the flow, the inactive
// ones hold standard normal noise.
//
// η(θ | m) is p(y, θ | m), the unnormalised posterior of the parameters, and Z_m = p(y | m) the
// evidence of a model. Comments call Davies, Mackinlay, Oliveira and Sisson, "Amortized Variational
// Transdimensional Inference" (2025) the VTI paper; numbers of equations and appendices refer to
// it. docs/method.md lists the differences of this implementation and their reasons.
//
// # Files
//
// Describing a problem:
//
//	target.go     Target, and the interfaces by which it tells the engine more
//	config.go     Config: the settings of Fit; Info: its reports
//
// Training:
//
//	fit.go        Fit and Load
//	trainer.go    the state of a fit, and its rounds, each with one cycle of the learning rate
//	step.go       one training step, as a graph; launching steps, and when to report and save
//	start.go      the model, the prior and the approximation that a fit starts from
//	modelstep.go  the step on q(m), bounded by the information gain
//	scoreloss.go  the score-function loss of q(m), with its control variates
//	learner.go    distributions q(m) with their own learning rule
//	pilot.go      fitting q(m): warm starts, and models that are found later
//	laplace.go    normal approximations at modes
//	reporter.go   reports of a fit: averages of its losses and gradient norms
//
// Finding the answer with the work that it needs:
//
//	solve.go         Solve: a loop that works until its certificate is good enough; Recertify
//	solve_config.go  SolveConfig, and Solution: the result of Solve
//	solver.go        state that all stages share, and the plan that checkpoints store
//	solve_stages.go  the stages of Solve, and how the next one is chosen
//	solve_advice.go  advice if the answer is not good enough
//
// Evaluating and drawing:
//
//	evaluator.go  device, target, flow and q(m), for training and certification
//	posterior.go  Posterior: draws and densities of the trained approximation
//
// Certification:
//
//	certify.go            Certify: chooses among the following
//	certify_config.go     CertifyConfig: its settings
//	certify_each.go       weights of each model separately
//	certify_joint.go      weights of models and parameters together
//	certify_laplace.go    proposals at modes, for models whose weights are not reliable
//	certify_agreement.go  whether weights and chains agree
//	chains.go             tempered chains that check weights, and how long they are
//	witness.go            points of high density, from earlier certificates, chains or the target
//	importance.go         the importance sampler
//	reference.go          wider proposals for models
//	certificate.go        type aliases of package models: certificates and verdicts
//	certify_shard.go      a certificate computed by several processes
package vti

// Version is the version of the module, recorded in every run.
const Version = "0.1.0"
