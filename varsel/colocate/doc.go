// Package colocate finds the predictors that two selections share, such as the genetic markers
// behind two traits, from the posteriors of two runs on independent rows. Each posterior covers
// models of any size, so that neither trait is assumed to have a single marker, as in coloc
// (Giambartolomei et al. 2014).
package colocate
