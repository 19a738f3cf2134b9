package formula

import (
	"math"
	"slices"
	"strconv"
	"strings"
)

// Expression is arithmetic on columns, inside I().
type Expression struct {
	operator   rune // one of + - * / ^, negation, or the kind of an operand
	number     float64
	column     string
	function   Transform
	parts      []*Expression
	text       string // as a formula spells it
	precedence int
}

const (
	negation rune = 'n'
	called   rune = 'f'
)

// Precedences of operators, the weakest first: sums, products, signs, powers, and operands without
// parentheses.
const (
	ofSum = iota
	ofProduct
	ofSign
	ofPower
	ofAtom
)

// String returns the expression as a formula spells it.
func (e *Expression) String() string { return e.text }

// Columns returns the columns in the expression, each once.
func (e *Expression) Columns() (columns []string) {
	if e.operator == nameToken {
		return []string{e.column}
	}
	for _, part := range e.parts {
		for _, column := range part.Columns() {
			if !slices.Contains(columns, column) {
				columns = append(columns, column)
			}
		}
	}
	return columns
}

// Value is the value of the expression. The function valueOf returns the value of a column.
func (e *Expression) Value(valueOf func(column string) float64) float64 {
	var x, y float64
	if len(e.parts) > 0 {
		x = e.parts[0].Value(valueOf)
	}
	if len(e.parts) > 1 {
		y = e.parts[1].Value(valueOf)
	}
	switch e.operator {
	case nameToken:
		return valueOf(e.column)
	case '+':
		return x + y
	case '-':
		return x - y
	case '*':
		return x * y
	case '/':
		return x / y
	case '^':
		return math.Pow(x, y)
	case negation:
		return -x
	case called:
		value, _ := e.function.value(x)
		return value
	}
	return e.number
}

// value returns f(x) of a pointwise transform, and a description of the x at which it is finite.
func (f Transform) value(x float64) (value float64, domain string) {
	switch f {
	case TakeLog:
		return math.Log(x), "a positive number"
	case TakeLog1p:
		return math.Log1p(x), "a number above -1"
	case TakeExp:
		return math.Exp(x), "a number whose exponential is finite"
	case TakeSqrt:
		return math.Sqrt(x), "a number from 0"
	}
	return x, "a number"
}

// node makes an expression of an operator and its operands, with the necessary parentheses.
func node(operator rune, precedence int, sign string, parts ...*Expression) *Expression {
	e := &Expression{operator: operator, parts: parts, precedence: precedence}
	for i, part := range parts {
		text := part.text
		// parentheses are needed in a - (b - c) and (a^b)^c
		if part.precedence < precedence || part.precedence == precedence && (i == 1) != (operator == '^') {
			text = "(" + text + ")"
		}
		if i == 1 || len(parts) == 1 {
			e.text += sign
		}
		e.text += text
	}
	return e
}

func (p *formulaParser) expression() (*Expression, error) {
	if p.depth++; p.depth > maxFormulaDepth {
		return nil, p.fail(p.peek().position, "more than %d parentheses inside each other", maxFormulaDepth)
	}
	defer func() { p.depth-- }()
	return p.chain("+-", ofSum, p.product)
}

func (p *formulaParser) product() (*Expression, error) { return p.chain("*/", ofProduct, p.signed) }

// chain reads operands joined by operators of one precedence. The argument part reads one operand.
func (p *formulaParser) chain(signs string, precedence int, part func() (*Expression, error)) (*Expression, error) {
	left, err := part()
	for err == nil && strings.ContainsRune(signs, p.peek().kind) {
		sign := p.next().kind
		var right *Expression
		if right, err = part(); err == nil {
			left = node(sign, precedence, " "+string(sign)+" ", left, right)
		}
	}
	return left, err
}

// signed reads a power, with or without a minus sign, which binds less than the power: -x^2 is
// -(x^2).
func (p *formulaParser) signed() (*Expression, error) {
	if p.depth++; p.depth > maxFormulaDepth {
		return nil, p.fail(p.peek().position, "more than %d signs inside each other", maxFormulaDepth)
	}
	defer func() { p.depth-- }()
	if p.accept('-') {
		operand, err := p.signed()
		if err != nil {
			return nil, err
		}
		return node(negation, ofSign, "-", operand), nil
	}
	base, err := p.operand()
	if err != nil || !p.accept('^') {
		return base, err
	}
	exponent, err := p.signed()
	if err != nil {
		return nil, err
	}
	return node('^', ofPower, "^", base, exponent), nil
}

// operand reads a number, a column, a function of an expression, or an expression in parentheses.
func (p *formulaParser) operand() (*Expression, error) {
	t := p.next()
	switch t.kind {
	case numberToken:
		value, err := strconv.ParseFloat(t.text, 64)
		if err != nil {
			return nil, p.fail(t.position, "got %s, want a number", t)
		}
		return &Expression{operator: numberToken, number: value, text: t.text, precedence: ofAtom}, nil
	case '(':
		e, err := p.expression()
		if err != nil {
			return nil, err
		}
		return e, p.expect(')', `")"`)
	case nameToken:
		if !p.accept('(') {
			return &Expression{operator: nameToken, column: t.text, text: quotedName(t.text), precedence: ofAtom}, nil
		}
		function := slices.Index(transformNames[:pointwise], t.text)
		if function <= 0 {
			return nil, p.fail(t.position, "unknown function %s inside I(); want log, log1p, exp or sqrt", t)
		}
		inner, err := p.expression()
		if err != nil {
			return nil, err
		}
		return &Expression{operator: called, function: Transform(function), parts: []*Expression{inner}, text: t.text + "(" + inner.text + ")", precedence: ofAtom}, p.expect(')', `")"`)
	}
	return nil, p.fail(t.position, "got %s, want a column or a number", t)
}
