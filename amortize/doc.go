// Package amortize trains one network for all data sets of a kind: q(m, θ | D) reads a data set and
// answers in a single pass (neural posterior estimation). A [Family] simulates data sets and
// encodes them for a network, [Fit] trains a [Network], and [Network.Beginning] is its answer for
// one data set, which vti.Open certifies as it is and vti.Solve starts from.
//
// docs/amortization.md reports the accuracy of such networks.
package amortize
