// Package laplace finds modes of the parameters of a model of a Target, with the curvature there:
// what flows begin at, and proposals for models whose weights under a flow are not reliable.
// Densities of the host that one application has are those of package mode.
//
//	surface.go  the log density to climb on, of the host or as graphs
//	climb.go    the search for a mode
//	modes.go    proposals at several modes of a model
package laplace
