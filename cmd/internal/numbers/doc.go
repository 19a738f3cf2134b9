// Package numbers has the applications whose models are numbers: the number of components of a
// mixture, the number of changes of a series, or the order of a model.
package numbers
