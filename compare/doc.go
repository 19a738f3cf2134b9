// Package compare compares the answers of two runs on the same table, for models of any kind. Each
// application embeds [Comparison] in a type of its own.
//
//	compare.go  Comparison: the common part of two runs, and its files
//	models.go   total variation and divergences between the probabilities of models
//	pair.go     two estimates of one number, and their difference in standard errors
//	figure.go   the probabilities of models against each other
package compare
