// Package networks estimates the evidences of mechanisms that are networks with one hidden layer.
//
// Particles are tempered from the prior of the first layer to its posterior, with the output layer
// integrated out. Cheap pilot runs of families come first. Finer islands follow for families whose
// errors move the posterior over graphs, and families without a run are predicted from smaller ones
// ([Scores]).
package networks
