// Package surrogate holds Gaussian beliefs about the expected reward of each model, f(m) = E_z[−log
// h] = −ℓ(m) (eq. 11). Here h is the density of the flow over the joint density of data and
// parameters, and ℓ the expectation of log h. Beliefs are learned from the rewards −log h of single
// draws, while training changes the flow and therefore f. Numbers of sections and equations refer
// to the VTI paper: Davies, Mackinlay, Oliveira and Sisson, "Amortized Variational Transdimensional
// Inference" (2025), here section 3.1 and appendix B.
//
// [Diagonal] has an independent belief about each model, for spaces whose models are all drawn many
// times. [Process] is a Gaussian process over codes, for spaces where most models are never drawn:
// the rewards of a model also inform the beliefs about similar models. Both learn their observation
// noise from their errors, and give old rewards less weight the faster the flow changes.
// [Utilities] computes from a belief the utilities by which the next models are chosen.
//
// Notation:
//
//	here      there     meaning                                                          shape
//	models    m         models by their index in the order of space.All                  [B]
//	rewards   y         −log h of each draw                                              [B]
//	mean, sd  μ_t, σ_t  belief about f(m) (eq. 25, 26)                                   per model
//	noise     σ_ε²      variance of the reward of a single draw of a model
//	movement            how far the flow has moved f since the previous batch, in nats
//	beta      β         weight of sd in the upper confidence bound (eq. 27)
//
// All arithmetic is in float64, and its results do not depend on the number of threads.
//
//	belief := surrogate.NewDiagonal(128)
//	belief.Observe(models, rewards, movement)          // a batch of draws
//	utility := surrogate.Utilities(belief, surrogate.UCB, 2, nil, make([]float64, 128))
package surrogate
