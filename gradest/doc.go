// Package gradest estimates gradients with respect to the parameters ψ of a distribution q(m) over
// models, and bounds the steps taken along these gradients. The methods come from sections 3.3 and
// 3.4 and appendix D of the VTI paper: Davies, Mackinlay, Oliveira and Sisson, "Amortized
// Variational Transdimensional Inference" (2025). Numbers of equations refer to it.
//
// A draw of a model is discrete, so the expected loss cannot be differentiated through the draw.
// Its gradient is estimated from scores instead, by the mean of (loss − baseline) ∇ log q(m) over
// draws. If the baseline of a draw is independent of the draw, it changes the variance of the
// estimate but not its mean.
//
// Notation:
//
//	here      VTI paper  meaning                                                 shape
//	loss      g + ς      log h + log q(m) − log p(m) of each draw (eq. 19)       [B]
//	baseline  ς          control variate                                         [B] or scalar
//	logQ      log q_ψ    log probability of each drawn model, differentiable     [B]
//	scale     α          fraction of the proposed step that is taken             scalar
//	Epsilon   ε, β_IG    bound on the change of entropy, in nats (eq. 57)        scalar
//
// All functions build graphs and keep no state, except RunningMean, which keeps its average in a
// variable of a context. A step is an increment of ψ, which becomes ψ + scale·step.
//
//	loss := graph.StopGradient(graph.Add(logH, graph.Sub(logQ, logPrior)))
//	surrogate, nonFinite := gradest.ScoreFunction(loss, gradest.LeaveOneOut(loss), logQ)
//	gradient := graph.Gradient(surrogate, psi)[0]
//	step := graph.MulScalar(gradient, -rate)
//	scale := gradest.InformationGain{Epsilon: 0.01}.Categorical(psi, step)
//	psi = gradest.Advance(psi, step, scale)
package gradest
