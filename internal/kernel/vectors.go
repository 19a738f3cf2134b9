package kernel

import "fmt"

// Float is an element type for which there are kernels.
type Float interface{ float32 | float64 }

// Vectors holds the kernels on slices of one element type for one instruction set.
//
// All slices of a call must have the same length, which may be 0, unless the comment of the kernel
// states otherwise. The kernel panics if they do not. dst may be the same slice as an operand but
// must not overlap an operand in any other way. A kernel never accesses memory outside its slices.
// The result for an element depends on the values of the operands only, not on where in the slice
// it is.
type Vectors[T Float] struct {
	// dst[i] = a[i] op b[i]. Min and Max return NaN if an operand is NaN, and b[i] if both are
	// zeros. Pow has the special cases of [math.Pow]; for float64 it calls that function.
	Add, Sub, Mul, Div, Min, Max, Pow func(dst, a, b []T)

	// dst[i] = a[i] op s; the two Scalar… kernels compute s op a[i].
	AddScalar, SubScalar, MulScalar, DivScalar, MinScalar, MaxScalar func(dst, a []T, s T)
	ScalarSub, ScalarDiv                                             func(dst, a []T, s T)

	// dst[i] = a[i] + s*b[i]. It is rounded once on AVX2 and AVX512, or twice on Portable.
	AddScaled func(dst, a, b []T, s T)

	// dst[i] = exp(s*a[i]²/b[i]) / √b[i], the integral of a normal density times a normal
	// likelihood with suitable a, b and s. The error of the exponent is a few units in its last
	// place.
	ExpRatio func(dst, a, b []T, s T)

	// dst[i] = f(a[i]), exact or correctly rounded. Round rounds to the nearest integer, and ties
	// to even. Sign(±0) = ±0, Sign(NaN) = NaN.
	Neg, Abs, Sqrt, Floor, Ceil, Round, Sign func(dst, a []T)

	// dst[i] = f(a[i]). Results differ from the exact value by at most 4 units in the last place,
	// also for denormal operands and results. Limits and special cases are the same as in package
	// math. Logistic(x) = 1/(1+exp(-x)), Rsqrt(x) = 1/sqrt(x). Angles of 2⁴⁵ or more are left to
	// package math, which is less precise next to multiples of π/2. Sin and Cos are slow for slices
	// with angles above 2¹⁷ (float32) or 2³⁰ (float64).
	Exp, Expm1, Log, Log1p, Tanh, Logistic, Erf, Sin, Cos, Rsqrt func(dst, a []T)

	// dst[i] = a[i] op b[i]. If an operand is NaN, all comparisons are false except NotEqual.
	Equal, NotEqual, Less, LessEqual, Greater, GreaterEqual func(dst []bool, a, b []T)

	// dst[i] = a[i] op s.
	EqualScalar, NotEqualScalar, LessScalar, LessEqualScalar, GreaterScalar, GreaterEqualScalar func(dst []bool, a []T, s T)

	// dst[i] = a[i] where cond[i], otherwise b[i].
	Select func(dst []T, cond []bool, a, b []T)

	// dst[i*dstStride+j] = src[i*srcStride+j] for 0 <= i < rows and 0 <= j < cols; dst and src must
	// not overlap.
	CopyRows func(dst []T, dstStride int, src []T, srcStride, rows, cols int)

	// dst[j*dstStride+i] = src[i*srcStride+j] for 0 <= i < rows and 0 <= j < cols; dst and src must
	// not overlap.
	Transpose func(dst []T, dstStride int, src []T, srcStride, rows, cols int)

	// Sum adds in one fixed order, the same on every instruction set: element i goes to partial sum
	// i mod 256/sizeof(T), and the partial sums are added in pairs at distance 128/sizeof(T),
	// 64/sizeof(T), …, 1. The sum of nothing is 0.
	Sum func(a []T) T

	// MaxOf and MinOf return NaN if an element is NaN. Of an empty slice MaxOf is -Inf, MinOf +Inf.
	MaxOf, MinOf func(a []T) T

	// dst[i] = Sum, MaxOf or MinOf of row i of a, which holds len(dst) rows of equal length.
	SumRows, MaxRows, MinRows func(dst, a []T)

	// dst[i] = Σ_j a[i*stride+j]·x[j] for 0 <= j < len(x). The products are added in the
	// order of Sum, rounded as in AddScaled. dst must not overlap a or x.
	DotRows func(dst, a []T, stride int, x []T)

	// dst[i*n+j] = a[i] for 0 <= j < n, where len(dst) = n*len(a).
	Spread func(dst, a []T)
}

// VectorsOf returns the kernels for T on isa, which must be one of [Available].
func VectorsOf[T Float](isa ISA) *Vectors[T] {
	mustHave("VectorsOf", isa)
	v := portableVectors[T]()
	switch v := any(v).(type) {
	case *Vectors[float32]:
		useAssembly32(v, isa)
	case *Vectors[float64]:
		useAssembly64(v, isa)
	}
	return v
}

// checkLength panics if found, the length of an operand, differs from want, the result's length.
func checkLength(want, found int) {
	if want != found {
		panic(fmt.Sprintf("kernel.Vectors: operand of length %d for a result of length %d", found, want))
	}
}

// rowLength returns the length of a row, given the number of rows and the number of elements of all
// rows together. It panics if rows cannot have equal length.
func rowLength(rows, elements int) int {
	if rows == 0 && elements == 0 {
		return 0
	}
	if rows == 0 || elements%rows != 0 {
		panic(fmt.Sprintf("kernel.Vectors: %d elements are not %d rows of equal length", elements, rows))
	}
	return elements / rows
}

// checkStride panics unless rows of n elements, whose starts are stride elements apart, lie within
// the given number of elements.
func checkStride(rows, elements, stride, n int) {
	if stride < 0 || rows > 0 && (rows-1)*stride+n > elements {
		panic(fmt.Sprintf("kernel.Vectors: %d rows of %d elements at a stride of %d do not lie within %d elements", rows, n, stride, elements))
	}
}
