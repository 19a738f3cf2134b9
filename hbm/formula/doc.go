// Package formula reads regressions in the notation of lme4 and brms, such as
//
//	y ~ x + log(z) + x:z + offset(e) + (1 + x | group) + (1 | a/b)
//
// [Parse] turns the text into a [Formula]: a response, population terms, and terms that vary by
// group, with shorthands (a*b, a/b, -1) written out. [Term.Expand] turns a term into the columns of
// a design, as R's model.matrix does.
//
// Files: formula.go and variable.go have the parts of a formula and their text, and expression.go
// the arithmetic inside I(). lex.go splits a text into words, parse.go turns words into a formula,
// and parse_terms.go reads its terms and their products. columns.go turns a term into columns, with
// orthogonal polynomials from polynomials.go. smooth.go has splines, and steps.go ordered
// predictors.
package formula
