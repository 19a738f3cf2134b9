// Package amortize trains one network for all data sets of a kind. In a single pass the network
// computes q(m, θ | D), an approximation of the posterior of model m and parameters θ given a data
// set D (neural posterior estimation). A [Family] simulates data sets and encodes them for a
// network, and [Fit] trains a [Network]. [Network.Beginning] returns its answer for one data set.
// vti.Open returns this answer as a posterior, whose errors vti.Certify can estimate, and vti.Solve
// starts from it.
//
// docs/amortization.md reports the accuracy of such networks.
package amortize
