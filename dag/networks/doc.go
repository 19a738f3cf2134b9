// Package networks finds the evidences of mechanisms that are networks with one hidden layer.
//
// Particles are tempered from the prior of the first layer to its posterior, with the output layer
// integrated out. Cheap pilot runs of all families come first; finer islands follow for those whose
// errors move the posterior over graphs, and families without a run are predicted from smaller ones
// ([Scores]).
package networks
