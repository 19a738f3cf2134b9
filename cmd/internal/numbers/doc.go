// Package numbers has the applications whose models are numbers: the number of components of a
// mixture, the number of changes of a series, or the order of a model.
//
//	application.go     the values that the registry has
//	mixture.go         vti mixture
//	changepoints.go    vti changepoints
//	order.go           vti order
//	compare.go         two runs of one of them side by side
//	calibrate.go       vti calibrate of each
package numbers
