// Package wide searches among many predictors for models that are probable.
package wide
