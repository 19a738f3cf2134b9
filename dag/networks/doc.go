// Package networks estimates the evidences of families, nodes with a set of parents, whose
// mechanisms are neural networks with one hidden layer.
//
// A particle is a first layer of the network. Particles are tempered from the prior to the
// posterior, with the output layer integrated out. An island is an independent group of such
// particles, whose result is one estimate of the evidence. Families with few parents, and probable
// families with more parents, first get a pilot run, which is cheap. Families whose errors change
// the posterior over graphs then get more precise fine islands. The evidences of families without a
// run are predicted from families with fewer parents ([Scores]).
package networks
