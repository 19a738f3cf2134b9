// Package colocate finds the predictors that two selections share, such as the genetic markers
// behind two traits, from the posteriors of two runs on independent rows. Each posterior covers
// models of any size. A trait may thus have several markers, unlike in coloc (Giambartolomei et al.
// 2014), which assumes at most one for each trait.
package colocate
