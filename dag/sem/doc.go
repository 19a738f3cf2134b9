// Package sem has the mechanisms of structural equation models, the coordinates of their parameters
// ([Layout]), and data simulated from random or given graphs ([Simulate]).
//
//	Linear   x_j = Σ w_i x_i + noise
//	MLP      x_j = W2 relu(W1 x + b1) + b2 + noise (paper, appendix F)
//
// with the parents i of node j.
package sem
