package formula

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/transdim/vti/internal/apply"
	"github.com/transdim/vti/internal/enum"
)

// Variable is a column of a table, perhaps transformed, or an expression of columns.
type Variable struct {
	// Column is the name of the column; "" for an expression.
	Column string
	// Transform is the transformation of the column.
	Transform Transform
	// Degree is the degree of TakePolynomials.
	Degree int
	// Coding and Reference are the coding of labels by AsFactor. Reference is the baseline of
	// treatment coding, "" for the first label.
	Coding    Coding
	Reference string
	// order holds the labels of an ordered predictor in one text, which the method Order splits.
	order string
	// Expression is the expression of Compute; nil otherwise.
	Expression *Expression
	// Position is the index of the variable's first character in the formula, from 1. Comparisons
	// ignore it.
	Position int
}

// Transform is a transformation of a column in a formula.
type Transform int

// The transforms of a formula.
const (
	AsIs      Transform = iota
	TakeLog             // natural logarithm
	TakeLog1p           // log(1 + x)
	TakeExp
	TakeSqrt
	AsFactor        // the values are labels
	TakeScale       // (x − mean) / standard deviation
	TakePolynomials // orthogonal polynomials, a column for each degree
	Compute         // an expression
	TakeSteps       // an ordered predictor, a column for each step up
)

var transformNames = [...]string{"", "log", "log1p", "exp", "sqrt", "factor", "scale", "poly", "I", "mo"}

// pointwise is the number of transforms that are functions of a single number, which come first.
const pointwise = int(TakeSqrt) + 1

// String returns the name as a formula spells it; AsIs has none.
func (f Transform) String() string {
	if f < 0 || int(f) >= len(transformNames) {
		return fmt.Sprintf("Transform(%d)", int(f))
	}
	return transformNames[f]
}

// Coding is the coding of labels as the columns of a design that has an intercept.
type Coding int

// The codings of labels, as R's contr.treatment, contr.sum and contr.helmert.
const (
	// TreatmentCoding stands for indicators of all labels but a reference.
	TreatmentCoding Coding = iota
	// SumCoding stands for indicators of all labels but the last. Rows of the last label have −1 in
	// all columns, so that the intercept is the mean over labels.
	SumCoding
	// HelmertCoding stands for a column for each label but the first, for its difference from the
	// mean of the labels before it.
	HelmertCoding
)

var codings = enum.New[Coding]("coding", "treatment", "sum", "helmert")

// String returns the name as a formula spells it.
func (c Coding) String() string { return codings.String(c) }

// String returns the variable as a formula spells it.
func (v Variable) String() string {
	if v.Transform == Compute {
		return "I(" + v.Expression.String() + ")"
	}
	name := quotedName(v.Column)
	switch {
	case v.Transform == AsIs:
		return name
	case v.Transform == TakePolynomials:
		return fmt.Sprintf("poly(%s, %d)", name, v.Degree)
	case v.Coding != TreatmentCoding:
		return fmt.Sprintf("C(%s, %s)", name, v.Coding)
	case v.order != "":
		return fmt.Sprintf("mo(%s, %s)", name, strings.Join(apply.To(v.Order(), quotedText), ", "))
	case v.Reference != "":
		return fmt.Sprintf("C(%s, reference=%s)", name, quotedText(v.Reference))
	}
	return v.Transform.String() + "(" + name + ")"
}

// quotedName returns a column as a formula spells it, in backticks if it is no word.
func quotedName(name string) string {
	if plainName.MatchString(name) {
		return name
	}
	return "`" + name + "`"
}

// quotedText returns a text in quotation marks that do not occur in the text.
func quotedText(text string) string {
	if strings.Contains(text, `"`) {
		return "'" + text + "'"
	}
	return `"` + text + `"`
}

// Columns returns the columns of the table in the variable.
func (v Variable) Columns() []string {
	switch {
	case v.Expression != nil:
		return v.Expression.Columns()
	case v.Column == "":
		return nil
	}
	return []string{v.Column}
}

// ColumnsOf returns the columns in some variables, each once.
func ColumnsOf(variables ...Variable) (names []string) {
	for _, v := range variables {
		for _, name := range v.Columns() {
			if !slices.Contains(names, name) {
				names = append(names, name)
			}
		}
	}
	return names
}

// same reports whether two variables are equal, apart from their positions.
func (v Variable) same(w Variable) bool {
	if (v.Expression == nil) != (w.Expression == nil) || v.Expression != nil && v.Expression.text != w.Expression.text {
		return false
	}
	v.Position, v.Expression, w.Position, w.Expression = 0, nil, 0, nil
	return v == w
}

// variable reads a column, function(column), or I(expression); the next token is a name.
func (p *formulaParser) variable() (Variable, error) {
	t := p.peek()
	if t.kind != nameToken {
		return Variable{}, p.fail(t.position, "got %s, want a column", t)
	}
	if p.computes() {
		e, err := p.operand()
		return Variable{Transform: Compute, Expression: e, Position: t.position}, err
	}
	p.next()
	if p.peek().kind != '(' {
		return Variable{Column: t.text, Position: t.position}, nil
	}
	v := Variable{Position: t.position}
	switch t.text {
	case "log", "log1p", "exp", "sqrt", "factor", "scale", "poly", "mo":
		v.Transform = Transform(slices.Index(transformNames[:], t.text))
	case "C":
		v.Transform = AsFactor
	case "I":
		p.next()
		v.Transform = Compute
		var err error
		if v.Expression, err = p.expression(); err != nil {
			return v, err
		}
		if len(v.Expression.Columns()) == 0 {
			return v, p.fail(t.position, "I() has no column in it")
		}
		return v, p.expect(')', `")" after the expression`)
	default:
		return v, p.fail(t.position, "unknown function %s; want log, log1p, exp, sqrt, factor, scale, poly(x, degree), C(x, sum), I(expression), or offset, s(x) and mo(x) in a sum of population terms", t)
	}
	p.next()
	column := p.peek()
	if column.kind != nameToken {
		return v, p.fail(column.position, "got %s, want a column", column)
	}
	p.next()
	v.Column, v.Position = column.text, column.position
	if rest := map[string]func(*Variable) error{"poly": p.degree, "mo": p.order, "C": p.coding}[t.text]; rest != nil {
		if err := rest(&v); err != nil {
			return v, err
		}
	}
	return v, p.expect(')', `")"`)
}

// computes reports whether the next token begins a function of an expression, not only of a column:
// log(1 + x) is I(log(1 + x)).
func (p *formulaParser) computes() bool {
	if slices.Index(transformNames[:pointwise], p.peek().text) <= 0 || p.tokens[1].kind != '(' {
		return false
	}
	inside := p.tokens[2:]
	end := slices.IndexFunc(inside, func(t token) bool { return t.kind == ')' || t.kind == endToken })
	return end > 1 && slices.ContainsFunc(inside[:end], func(t token) bool { return t.kind == nameToken })
}

// maxDegree bounds polynomials: higher degrees cannot be told from each other in double precision
// on most columns.
const maxDegree = 20

// degree reads ", 3" of poly(x, 3).
func (p *formulaParser) degree(v *Variable) error {
	if err := p.expect(',', `"," and the degree, as in poly(x, 2)`); err != nil {
		return err
	}
	t := p.next()
	if t.text == "degree" && p.accept('=') {
		t = p.next()
	}
	degree, err := strconv.Atoi(t.text)
	if t.kind != numberToken || err != nil || degree < 1 || degree > maxDegree {
		return p.fail(t.position, "got %s, want a degree, 1 to %d", t, maxDegree)
	}
	v.Degree = degree
	return nil
}

// coding reads ", sum" or ", reference=\"b\"" of C().
func (p *formulaParser) coding(v *Variable) error {
	for p.accept(',') {
		t := p.next()
		coding, err := codings.Parse(strings.TrimPrefix(t.text, "contr."))
		switch {
		case t.kind == nameToken && err == nil:
			v.Coding = coding
		case t.text != "reference" || !p.accept('='):
			return p.fail(t.position, `got %s, want sum, helmert, treatment or reference="label"`, t)
		default:
			label := p.next()
			if label.kind != textToken {
				return p.fail(label.position, `got %s, want a label in quotes, as in reference="b"`, label)
			}
			v.Reference = label.text
		}
	}
	if v.Reference != "" && v.Coding != TreatmentCoding {
		return p.fail(v.Position, "a reference is for treatment coding; this one is %s", v.Coding)
	}
	return nil
}
