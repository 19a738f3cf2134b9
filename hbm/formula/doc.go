// Package formula reads regressions in the notation of lme4 and brms, such as
//
//	y ~ x + log(z) + x:z + offset(e) + (1 + x | group) + (1 | a/b)
//
// [Parse] turns the text into a [Formula]: a response, population terms, and terms that vary by
// group, with shorthands (a*b, a/b, -1) written out. [Term.Expand] turns a term into the columns of
// a design, as R's model.matrix does.
//
// Files: formula.go and variable.go the parts of a formula and their text, expression.go arithmetic
// inside I(), lex.go text to words, parse.go words to a formula, parse_terms.go its terms and their
// products, columns.go a term to columns, polynomials.go orthogonal ones, smooth.go splines,
// steps.go ordered predictors.
package formula
