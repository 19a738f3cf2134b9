// Package laplace finds posterior modes of the parameters of a model, and the curvature there. They
// give starting points of flows, and proposals for models whose importance weights under a flow are
// not reliable. Package mode finds modes of densities that are Go functions.
package laplace
