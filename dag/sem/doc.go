// Package sem holds the mechanisms of structural equation models, the coordinates of their
// parameters ([Layout]), and simulation of data from random or given graphs ([Simulate]).
//
//	Linear   x_j = Σ w_i x_i + noise
//	MLP      x_j = W2 relu(W1 x + b1) + b2 + noise (Davies et al. 2025, appendix F)
//
// The sum is over the parents i of node j. [Mechanism] describes further mechanisms.
package sem
