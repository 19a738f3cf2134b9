// Package wide searches for predictors where there are many.
//
// # Files
//
//	screen.go         a start from one predictor at a time
//	joint.go          Search: predictors that matter only together
//	joint_scan.go     all pairs of columns on top of a model
//	joint_triples.go  all triples of columns on top of a model
//	joint_instead.go  predictors that replace several others
//	categories.go     responses of categories, searched by their indicators
//	credible.go       sets of correlated predictors that stand in for each other
//	birth_death.go    birth and death rates of predictors of Gaussian models
//	birth_updates.go  updates of evidences and odds after a birth or death
package wide
