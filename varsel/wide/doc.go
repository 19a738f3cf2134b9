// Package wide searches for predictors where there are many.
package wide
