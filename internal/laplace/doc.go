// Package laplace finds modes of the parameters of a model of a Target, with the curvature there:
// starting points of flows, and proposals for models whose weights under a flow are not reliable.
// Package mode finds modes of densities on the host that belong to one application.
package laplace
