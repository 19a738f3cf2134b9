package main

import (
	"strings"

	"github.com/mmcloughlin/avo/build"
)

// elementwise describes a kernel that computes dst[i] = f(a[i], b[i], …, s).
type elementwise struct {
	field   string // name of the field of kernel.Vectors
	doc     string
	inputs  int  // number of slices
	scalar  bool // whether there is an operand s, after the slices
	compare bool // whether the result is a []bool; f then returns a mask
	unroll  int  // vectors per iteration of the main loop; 0 for the default
	only32  bool // whether there is no float64 kernel
	f       func(m *machine, x []vec) op
}

// vectors generates the element-wise kernels and the reductions.
func vectors(isa isa) func(*build.Context) {
	return func(ctx *build.Context) {
		forBoth(ctx, isa, func(m *machine) {
			for _, k := range elementwiseKernels() {
				if m.single() || !k.only32 {
					m.elementwise(k)
				}
			}
			if isa == avx2 {
				m.transpose()
			}
			m.selectKernel()
			m.spreadKernel()
			m.copyRows()
			m.reductions()
			m.dotRows()
		})
	}
}

// elementwiseKernels returns the kernels that a formula for one element defines.
func elementwiseKernels() []elementwise {
	binary := func(field string, f func(m *machine, x, y op) vec) elementwise {
		return elementwise{field: field, doc: "dst = " + strings.ToLower(field) + "(a, b)", inputs: 2, unroll: 2,
			f: func(m *machine, x []vec) op { return f(m, x[0], x[1]) }}
	}
	scalar := func(field string, f func(m *machine, x, y op) vec) elementwise {
		return elementwise{field: field + "Scalar", doc: "dst = " + strings.ToLower(field) + "(a, s)", inputs: 1, scalar: true,
			unroll: 2, f: func(m *machine, x []vec) op { return f(m, x[0], x[1]) }}
	}
	swapped := func(field string, f func(m *machine, x, y op) vec) elementwise {
		return elementwise{field: "Scalar" + field, doc: "dst = " + strings.ToLower(field) + "(s, a)", inputs: 1, scalar: true,
			unroll: 2, f: func(m *machine, x []vec) op { return f(m, x[1], x[0]) }}
	}
	unary := func(field string, f func(m *machine, x vec) vec) elementwise {
		return elementwise{field: field, doc: "dst = " + strings.ToLower(field) + "(a)", inputs: 1,
			f: func(m *machine, x []vec) op { return f(m, x[0]) }}
	}
	kernels := []elementwise{
		binary("Add", (*machine).add), scalar("Add", (*machine).add),
		binary("Sub", (*machine).sub), scalar("Sub", (*machine).sub), swapped("Sub", (*machine).sub),
		binary("Mul", (*machine).mul), scalar("Mul", (*machine).mul),
		binary("Div", (*machine).div), scalar("Div", (*machine).div), swapped("Div", (*machine).div),
		binary("Min", (*machine).minOrNaN), scalar("Min", (*machine).minOrNaN),
		binary("Max", (*machine).maxOrNaN), scalar("Max", (*machine).maxOrNaN),
		{field: "AddScaled", doc: "dst = a + s*b", inputs: 2, scalar: true, unroll: 2,
			f: func(m *machine, x []vec) op { return m.mulAdd(x[1], x[2], x[0]) }},
		{field: "ExpRatio", doc: "dst = exp(s*a*a/b)/sqrt(b)", inputs: 2, scalar: true, unroll: 2,
			f: func(m *machine, x []vec) op {
				root := m.div(num(1), m.sqrt(x[1]))
				ratio := m.mul(x[0], root)
				return m.mul(m.exp(m.mul(m.mul(ratio, ratio), x[2])), root)
			}},
		unary("Neg", func(m *machine, x vec) vec { return m.xor(x, m.signBit()) }),
		unary("Abs", (*machine).abs),
		unary("Sqrt", (*machine).sqrt),
		unary("Rsqrt", func(m *machine, x vec) vec { return m.div(num(1), m.sqrt(x)) }),
		unary("Floor", func(m *machine, x vec) vec { return m.round(x, down) }),
		unary("Ceil", func(m *machine, x vec) vec { return m.round(x, up) }),
		unary("Round", func(m *machine, x vec) vec { return m.round(x, toEven) }),
		unary("Sign", (*machine).signum),
		unary("Exp", (*machine).exp),
		unary("Expm1", (*machine).expm1),
		unary("Log", (*machine).log),
		unary("Log1p", (*machine).log1p),
		unary("Tanh", (*machine).tanh),
		unary("Logistic", (*machine).logistic),
		unary("Erf", (*machine).erf),
		unary("Sin", (*machine).sin),
		unary("Cos", (*machine).cos),
		{field: "Pow", doc: "dst = pow(a, b)", inputs: 2, only32: true,
			f: func(m *machine, x []vec) op { return m.pow(x[0], x[1]) }},
	}
	return append(kernels, comparisonKernels()...)
}

// comparisonKernels returns the kernels that compare two vectors, or a vector and a scalar.
func comparisonKernels() (kernels []elementwise) {
	for _, c := range []struct {
		field string
		p     predicate
	}{{"Equal", equal}, {"NotEqual", notEqual}, {"Less", less}, {"LessEqual", lessEqual},
		{"Greater", greater}, {"GreaterEqual", greaterEqual}} {
		f := func(m *machine, x []vec) op { return m.compare(x[0], c.p, x[1]) }
		kernels = append(kernels,
			elementwise{field: c.field, doc: "dst = " + strings.ToLower(c.field) + "(a, b)", inputs: 2, compare: true, f: f},
			elementwise{field: c.field + "Scalar", doc: "dst = " + strings.ToLower(c.field) + "(a, s)", inputs: 1, scalar: true,
				compare: true, f: f})
	}
	return kernels
}

func (m *machine) minOrNaN(x, y op) vec {
	return m.choose(m.compare(x.(vec), unordered, x), x, m.min(x, y))
}
func (m *machine) maxOrNaN(x, y op) vec {
	return m.choose(m.compare(x.(vec), unordered, x), x, m.max(x, y))
}

// signum returns x where it is 0 or NaN, and otherwise 1 with the sign of x.
func (m *machine) signum(x vec) vec {
	one := m.or(m.sign(x), num(1))
	one = m.choose(m.compare(x, unordered, x), x, one)
	return m.choose(m.compare(x, equal, num(0)), x, one)
}

// signature returns the names of the operands that are slices, and the parameters of the Go
// function.
func (k elementwise) signature() (names []string, parameters string) {
	names = []string{"a", "b"}[:k.inputs]
	parameters = "(dst, " + strings.Join(names, ", ") + " []T"
	if k.compare {
		parameters = strings.Replace(parameters, "dst", "dst []bool", 1)
	}
	if k.scalar {
		parameters += ", s T"
	}
	return names, parameters
}

// elementwise generates a kernel. It has a loop over whole vectors, and a second loop for the
// remaining elements that uses only some lanes. With opmask registers and formulas of many
// instructions, the second loop is as fast as the first one; the kernel then consists of the second
// loop only.
func (m *machine) elementwise(k elementwise) {
	names, signature := k.signature()
	m.function(lowerFirst(k.field), "computes "+k.doc+".", signature+")")

	dst, n := m.slice("dst")
	var from []gp
	for _, name := range names {
		from = append(from, m.Load(m.Param(name).Base(), m.GP64()).(gp))
	}
	var s vec
	if k.scalar {
		s = m.broadcast(m.resolve(m.Param("s")))
	}
	apply := func(load func(from gp, to vec), store func(result op)) {
		var x []vec
		for _, p := range from {
			v := m.reg()
			load(p, v)
			x = append(x, v)
		}
		if k.scalar {
			x = append(x, s)
		}
		store(k.f(m, x))
	}
	advance := func(elements int) {
		for _, p := range from {
			m.ADDQ(number(elements*m.size), p)
		}
		if k.compare {
			m.ADDQ(number(elements), dst)
		} else {
			m.ADDQ(number(elements*m.size), dst)
		}
	}

	unroll := k.unroll
	if unroll == 0 && !m.wide() {
		unroll = 1
	}
	if unroll > 0 {
		whole := unroll * m.lanes()
		m.Label("whole")
		m.CMPQ(n, number(whole))
		m.JLT(jump("rest"))
		for u := range unroll {
			apply(func(from gp, to vec) { m.load(m.at(from, u*m.lanes()), to) },
				func(result op) {
					if k.compare {
						m.storeBools(result.(mask), mem{Base: dst, Disp: u * m.lanes()})
					} else {
						m.store(result.(vec), m.at(dst, u*m.lanes()))
					}
				})
		}
		advance(whole)
		m.SUBQ(number(whole), n)
		m.JMP(jump("whole"))
	}

	m.Label("rest")
	m.TESTQ(n, n)
	m.JLE(jump("done"))
	lanes := m.firstLanes(n)
	apply(func(from gp, to vec) { m.loadLanes(m.at(from, 0), lanes, to) },
		func(result op) {
			if k.compare {
				m.storeSomeBools(result.(mask), lanes, n, dst)
			} else {
				m.storeLanes(result.(vec), lanes, m.at(dst, 0))
			}
		})
	advance(m.lanes())
	m.SUBQ(number(m.lanes()), n)
	m.JMP(jump("rest"))

	m.Label("done")
	m.end()
}

// check returns the name of the function of package kernel that checks the lengths of the operands.
func (k elementwise) check() string {
	switch {
	case k.scalar && k.inputs == 2:
		return "checkBinaryScalar"
	case k.scalar:
		return "checkScalar"
	}
	return []string{"checkUnary", "checkBinary"}[k.inputs-1]
}

func lowerFirst(s string) string { return strings.ToLower(s[:1]) + s[1:] }
