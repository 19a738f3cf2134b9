package formula

import (
	"errors"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// Every formula is written out in full, and the text parses to the same formula.
func TestParseFormula(t *testing.T) {
	for text, want := range map[string]string{
		"y~x":                                    "y ~ 1 + x",
		"log_radon ~ floor + (1 + floor|county)": "log_radon ~ 1 + floor + (1 + floor | county)",
		"y ~ 0 + x":                              "y ~ 0 + x",
		"y ~ x - 1":                              "y ~ 0 + x",
		"y ~ -1 + x":                             "y ~ 0 + x",
		"y ~ 1":                                  "y ~ 1",
		"y ~ 0 + 1 + x":                          "y ~ 1 + x",
		"y ~ (1|a) + (1|b)":                      "y ~ 1 + (1 | a) + (1 | b)",
		"y ~ (1|a/b)":                            "y ~ 1 + (1 | a) + (1 | a:b)",
		"y ~ (x|a/b/c)":                          "y ~ 1 + (1 + x | a) + (1 + x | a:b) + (1 + x | a:b:c)",
		"y ~ (1|a:b)":                            "y ~ 1 + (1 | a:b)",
		"y ~ (0 + x|a)":                          "y ~ 1 + (0 + x | a)",
		"y ~ (x - 1|a)":                          "y ~ 1 + (0 + x | a)",
		"y ~ (x||a)":                             "y ~ 1 + (1 + x || a)",
		"y ~ (1||a)":                             "y ~ 1 + (1 | a)",
		"y ~ (1|a) + (0+x|a)":                    "y ~ 1 + (1 | a) + (0 + x | a)",
		"y ~ a*b":                                "y ~ 1 + a + b + a:b",
		"y ~ a:b + a":                            "y ~ 1 + a + a:b",
		"y ~ b:a + a:b":                          "y ~ 1 + b:a",
		"y ~ a:a":                                "y ~ 1 + a",
		"y ~ a*b*c - a:b:c":                      "y ~ 1 + a + b + c + a:b + a:c + b:c",
		"y ~ (a + b):c":                          "y ~ 1 + a:c + b:c",
		"y ~ (a + b)/c":                          "y ~ 1 + a + b + a:b:c",
		"y ~ a/b":                                "y ~ 1 + a + a:b",
		"y ~ ((a))":                              "y ~ 1 + a",
		"log(y) ~ log1p(x) + exp(z) + sqrt(w)":   "log(y) ~ 1 + log1p(x) + exp(z) + sqrt(w)",
		"y ~ factor(trt)*x":                      "y ~ 1 + factor(trt) + x + factor(trt):x",
		"y ~ x + offset(log(time)) + (1|factor(g))": "y ~ 1 + x + offset(log(time)) + (1 | g)",
		"y ~ offset": "y ~ 1 + offset",
		"`my y` ~ `a:b` + log(`c d`) + (1|`g h`)":       "`my y` ~ 1 + `a:b` + log(`c d`) + (1 | `g h`)",
		"größe ~ .x.1 + x_2":                            "größe ~ 1 + .x.1 + x_2",
		"y ~ (a*b|g)":                                   "y ~ 1 + (1 + a + b + a:b | g)",
		"y ~ 0 + (1|g)":                                 "y ~ 0 + (1 | g)",
		"y ~ poly(x, 2) + poly(x,degree=2)":             "y ~ 1 + poly(x, 2)",
		"y ~ scale(x)*C(f, contr.sum)":                  "y ~ 1 + scale(x) + C(f, sum) + scale(x):C(f, sum)",
		"y ~ C(f) + C(f, treatment) + factor(f)":        "y ~ 1 + factor(f)",
		`y ~ C(f, reference='a "b"')`:                   `y ~ 1 + C(f, reference='a "b"')`,
		"y ~ I(x^2) + I( x ^2 ) + I(x^3)":               "y ~ 1 + I(x^2) + I(x^3)",
		"I(y/2) ~ I(-x^-2*3) + I((a-b)-(c-d)/(e*1e-3))": "I(y / 2) ~ 1 + I(-x^(-2) * 3) + I(a - b - (c - d) / (e * 1e-3))",
		"y ~ I((-x)^2^k) + I(`a b`*log(x+1))":           "y ~ 1 + I((-x)^2^k) + I(`a b` * log(x + 1))",
		"y|weights(w) ~ x":                              "y | weights(w) ~ 1 + x",
		"y | weights(w) + trials(n) ~ (1|factor(g))":    "y | trials(n) + weights(w) ~ 1 + (1 | g)",
		"y | weights(I(1/v^2)) ~ x":                     "y | weights(I(1 / v^2)) ~ 1 + x",
		"cbind(a, b) | weights(w) ~ x":                  "cbind(a, b) | weights(w) ~ 1 + x",
	} {
		t.Run(text, func(t *testing.T) {
			f, err := Parse(text)
			require.NoError(t, err)
			assert.Equal(t, want, f.String())
			again, err := Parse(f.String())
			require.NoError(t, err)
			assert.Equal(t, f.String(), again.String())
		})
	}
}

func TestFormulaErrors(t *testing.T) {
	for text, want := range map[string]string{
		"":                                "character 1: got the end, want the name of the response",
		"~ x":                             `character 1: got "~", want the name of the response`,
		"y x":                             `character 3: got "x", want "~" after the response`,
		"y ~":                             "character 4: got the end, want a term",
		"y ~ x +":                         "character 8: got the end, want a term",
		"y ~ x x":                         `character 7: got "x", want "+" or the end`,
		"y ~ x + 2":                       `character 9: got "2", want a term, 1 for the intercept, or 0 for none`,
		"y ~ x - 0":                       "character 9: got \"0\", want a term",
		"y ~ 0":                           "character 6: the formula has no terms",
		"y ~ the dose + x":                `character 9: got "dose", want "+" or the end, or a name with spaces in backquotes`,
		"y ~ x | g":                       `character 7: got "|", want "+" or the end`,
		"y ~ (x | g":                      `character 11: got the end, want ")" after the group`,
		"y ~ (x | )":                      `character 10: got ")", want the column of the group`,
		"y ~ ( | g)":                      `character 7: got "|", want a term`,
		"y ~ (0 | g)":                     "character 5: nothing varies by group here",
		"y ~ (1 | g) + (x | g)":           "character 15: (Intercept) varies by g twice",
		"y ~ (x | a:b) + (x|b:a)":         "varies by b:a twice",
		"y ~ x:(1|g)":                     "character 7: terms that vary by group cannot be part of a product",
		"y ~ x - (1|g)":                   "character 9: only population terms can be taken away",
		"y ~ x - offset(z)":               "only population terms can be taken away",
		"y ~ (1 + (1|h) | g)":             "character 10: terms that vary by group cannot be part of a product",
		"y ~ (1|log(g))":                  "character 8: a group is a column as it is, without log()",
		"y ~ log(x, 2)":                   `character 10: got ",", want ")"`,
		"y ~ x^2":                         `character 6: a power of a column is I(x^2)`,
		"y ~ cut(x)":                      `character 5: unknown function "cut"; want log, log1p, exp, sqrt, factor`,
		"y ~ poly(x)":                     `character 11: got ")", want "," and the degree, as in poly(x, 2)`,
		"y ~ poly(x, 2.5)":                `character 13: got "2.5", want a degree, 1 to 20`,
		"y ~ poly(x, 2, raw)":             `character 14: got ",", want ")"`,
		"y ~ C(x, sums)":                  `character 10: got "sums", want sum, helmert, treatment or reference="label"`,
		"y ~ C(x, reference=b)":           `character 20: got "b", want a label in quotes`,
		"y ~ C(x, sum, reference='b')":    "a reference is for treatment coding; this one is sum",
		"y ~ C(x, reference='b":           "want a label between quotes",
		"y ~ I(x^2":                       `character 10: got the end, want ")" after the expression`,
		"y ~ I(cut(x))":                   `character 7: unknown function "cut" inside I(); want log, log1p, exp or sqrt`,
		"y ~ I(x*)":                       `character 9: got ")", want a column or a number`,
		"y ~ I(2)":                        "character 5: I() has no column in it",
		"scale(y) ~ x":                    "character 7: scale(y) is for predictors",
		"y ~ offset(poly(x, 2))":          "poly(x, 2) is for predictors",
		"y | weights(factor(w)) ~ x":      "a weight is a number",
		"y | weights(w) + weights(v) ~ x": "character 18: weights() twice",
		"cbind(a, b) | trials(n) ~ x":     "cbind() has the number of trials already",
		"y ~ log()":                       `character 9: got ")", want a column`,
		"y ~ log(x":                       `character 10: got the end, want ")"`,
		"y ~ `x":                          "want a name between backticks",
		"y ~ ``":                          "want a name between backticks",
		"y ~ (a + b":                      `got the end, want ")"`,
		"y ~ a:(1 + b)":                   "character 7: the intercept cannot be part of a product",
		"factor(y) ~ x":                   "character 8: the response is a number",
		"y ~ offset(factor(x))":           "an offset is a number",
		"y ~ (1|g|h)":                     `character 9: got "|", want ")" after the group`,
	} {
		t.Run(text, func(t *testing.T) {
			_, err := Parse(text)
			require.ErrorContains(t, err, want)
			var where *Error
			require.True(t, errors.As(err, &where))
			require.GreaterOrEqual(t, where.Position, 1)
			require.LessOrEqual(t, where.Position, len([]rune(text))+1)
		})
	}
	_, err := Parse("y ~ x + 2")
	require.EqualError(t, err, "formula, character 9: got \"2\", want a term, 1 for the intercept, or 0 for none\n  y ~ x + 2\n          ^")
	_, err = Parse("y ~ " + strings.Repeat("(", 1000) + "x" + strings.Repeat(")", 1000))
	require.ErrorContains(t, err, "parentheses inside each other")
	_, err = Parse("y ~ a" + strings.Repeat("*(a1+a2+a3+a4+a5+a6+a7+a8+a9)", 9))
	require.ErrorContains(t, err, "more than 1000 terms")
}

// Parsing any text gives a formula that parses to itself, or an error with its position.
func FuzzParseFormula(f *testing.F) {
	for _, seed := range []string{
		"y ~ x", "log_radon ~ floor*u + (1 + floor | county)", "y ~ 0 + a:b - a + (x || g/h) + offset(log(e))", "`a b` ~ -1+((x))", "y ~ (a+b)/c|", "y~1(",
	} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		if len(text) > 200 {
			return
		}
		formula, err := Parse(text)
		if err != nil {
			var where *Error
			require.True(t, errors.As(err, &where))
			require.GreaterOrEqual(t, where.Position, 1)
			_ = err.Error()
			return
		}
		again, err := Parse(formula.String())
		require.NoError(t, err, formula.String())
		require.Equal(t, formula.String(), again.String())
	})
}
