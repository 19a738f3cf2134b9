// Package laplace finds modes of the parameters of a model of a Target, with the curvature there:
// starting points of flows, and proposals for models whose weights under a flow are not reliable.
// Package mode finds modes of densities on the host that belong to one application.
//
//	surface.go  the log density to climb on, of the host or as graphs
//	climb.go    the search for a mode
//	modes.go    proposals at several modes of a model
package laplace
