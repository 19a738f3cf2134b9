// Package gradest estimates gradients with respect to the parameters ψ of a distribution q(m) over
// models, and bounds the steps taken along them (paper sections 3.3 and 3.4, appendix D).
//
// The loss of a model cannot be differentiated through the draw of that model, so its gradient is
// estimated from scores: E[(loss − baseline) ∇ log q(m)]. A baseline independent of the draw it is
// subtracted from changes the variance of the estimate and not its mean.
//
// Notation:
//
//	here      paper      meaning                                                 shape
//	loss      g + ς      log h + log q(m) − log p(m) of each draw (eq. 19)       [B]
//	baseline  ς          control variate                                         [B] or scalar
//	logQ      log q_ψ    log probability of each drawn model, differentiable     [B]
//	scale     α          fraction of the proposed step that is taken             scalar
//	Epsilon   ε, β_IG    bound on the change of entropy, in nats (eq. 57)        scalar
//
// Everything here is a pure graph function except RunningMean, whose memory is a variable of a
// context. A step is an increment: the parameters after it are ψ + scale·step.
//
//	loss := graph.StopGradient(graph.Add(logH, graph.Sub(logQ, logPrior)))
//	surrogate, nonFinite := gradest.ScoreFunction(loss, gradest.LeaveOneOut(loss), logQ)
//	gradient := graph.Gradient(surrogate, psi)[0]
//	step := graph.MulScalar(gradient, -rate)
//	scale := gradest.InformationGain{Epsilon: 0.01}.Categorical(psi, step)
//	psi = gradest.Advance(psi, step, scale)
//
// # Files
//
//	score.go     the score-function gradient
//	baseline.go  leave-one-out and the running mean
//	entropy.go   the entropy of a table
//	infogain.go  steps that are halved until the entropy changes little
package gradest
