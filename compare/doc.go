// Package compare sets the answers of two runs on the same table side by side, whatever kind of
// models they are about. The applications embed [Comparison] in theirs.
//
//	compare.go  Comparison: what two runs have in common, and its files
//	models.go   total variation and divergences between the probabilities of models
//	pair.go     two estimates of one number, and their difference in standard errors
//	figure.go   the probabilities of models against each other
package compare
