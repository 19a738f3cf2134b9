package kernel

import "math"

// portableVectors returns the kernels in plain Go. Package math computes the functions of one
// argument in float64; for float32, results are therefore almost always rounded correctly.
func portableVectors[T Float]() *Vectors[T] {
	return &Vectors[T]{
		Add: binary(func(a, b T) T { return a + b }),
		Sub: binary(func(a, b T) T { return a - b }),
		Mul: binary(func(a, b T) T { return a * b }),
		Div: binary(func(a, b T) T { return a / b }),
		Min: binary(lesser[T]),
		Max: binary(greater[T]),
		Pow: binary(func(a, b T) T { return T(math.Pow(float64(a), float64(b))) }),

		AddScalar: withScalar(func(a, s T) T { return a + s }),
		SubScalar: withScalar(func(a, s T) T { return a - s }),
		MulScalar: withScalar(func(a, s T) T { return a * s }),
		DivScalar: withScalar(func(a, s T) T { return a / s }),
		MinScalar: withScalar(lesser[T]),
		MaxScalar: withScalar(greater[T]),
		ScalarSub: withScalar(func(a, s T) T { return s - a }),
		ScalarDiv: withScalar(func(a, s T) T { return s / a }),

		AddScaled: withBoth(func(a, b, s T) T { return s*b + a }),

		ExpRatio: withBoth(func(a, b, s T) T { return T(exp(float64(s*(a*a/b))) / math.Sqrt(float64(b))) }),

		Neg:      unary(func(x T) T { return -x }),
		Abs:      unary(func(x T) T { return T(math.Abs(float64(x))) }),
		Sqrt:     unary(func(x T) T { return T(math.Sqrt(float64(x))) }),
		Floor:    unary(func(x T) T { return T(math.Floor(float64(x))) }),
		Ceil:     unary(func(x T) T { return T(math.Ceil(float64(x))) }),
		Round:    unary(func(x T) T { return T(math.RoundToEven(float64(x))) }),
		Sign:     unary(sign[T]),
		Exp:      unary(func(x T) T { return T(exp(float64(x))) }),
		Expm1:    unary(func(x T) T { return T(math.Expm1(float64(x))) }),
		Log:      unary(func(x T) T { return T(log(float64(x))) }),
		Log1p:    unary(func(x T) T { return T(math.Log1p(float64(x))) }),
		Tanh:     unary(func(x T) T { return T(math.Tanh(float64(x))) }),
		Logistic: unary(func(x T) T { return T(logistic(float64(x))) }),
		Erf:      unary(func(x T) T { return T(math.Erf(float64(x))) }),
		Sin:      unary(func(x T) T { return T(sin(float64(x))) }),
		Cos:      unary(func(x T) T { return T(cos(float64(x))) }),
		Rsqrt:    unary(func(x T) T { return T(1 / math.Sqrt(float64(x))) }),

		Equal:        binary(func(a, b T) bool { return a == b }),
		NotEqual:     binary(func(a, b T) bool { return a != b }),
		Less:         binary(func(a, b T) bool { return a < b }),
		LessEqual:    binary(func(a, b T) bool { return a <= b }),
		Greater:      binary(func(a, b T) bool { return a > b }),
		GreaterEqual: binary(func(a, b T) bool { return a >= b }),

		EqualScalar:        withScalar(func(a, s T) bool { return a == s }),
		NotEqualScalar:     withScalar(func(a, s T) bool { return a != s }),
		LessScalar:         withScalar(func(a, s T) bool { return a < s }),
		LessEqualScalar:    withScalar(func(a, s T) bool { return a <= s }),
		GreaterScalar:      withScalar(func(a, s T) bool { return a > s }),
		GreaterEqualScalar: withScalar(func(a, s T) bool { return a >= s }),

		Select: selectValues[T],

		CopyRows:  copyRows[T],
		Transpose: transposeRows[T],

		Sum:   sum[T],
		MaxOf: maxOf[T],
		MinOf: minOf[T],

		SumRows: reduceRows(sum[T]),
		MaxRows: reduceRows(maxOf[T]),
		MinRows: reduceRows(minOf[T]),

		DotRows: dotRows[T],

		Spread: spread[T],
	}
}

func selectValues[T Float](dst []T, cond []bool, a, b []T) {
	checkLength(len(dst), len(cond))
	checkLength(len(dst), len(a))
	checkLength(len(dst), len(b))
	for i, c := range cond {
		if c {
			dst[i] = a[i]
		} else {
			dst[i] = b[i]
		}
	}
}

func unary[T Float](f func(T) T) func(dst, a []T) {
	return func(dst, a []T) {
		checkLength(len(dst), len(a))
		for i, x := range a {
			dst[i] = f(x)
		}
	}
}

func binary[T Float, R any](f func(a, b T) R) func(dst []R, a, b []T) {
	return func(dst []R, a, b []T) {
		checkLength(len(dst), len(a))
		checkLength(len(dst), len(b))
		for i, x := range a {
			dst[i] = f(x, b[i])
		}
	}
}

func withScalar[T Float, R any](f func(a, s T) R) func(dst []R, a []T, s T) {
	return func(dst []R, a []T, s T) {
		checkLength(len(dst), len(a))
		for i, x := range a {
			dst[i] = f(x, s)
		}
	}
}

func withBoth[T Float](f func(a, b, s T) T) func(dst, a, b []T, s T) {
	return func(dst, a, b []T, s T) {
		checkLength(len(dst), len(a))
		checkLength(len(dst), len(b))
		for i, x := range a {
			dst[i] = f(x, b[i], s)
		}
	}
}

// copyRows implements [Vectors.CopyRows].
func copyRows[T Float](dst []T, dstStride int, src []T, srcStride, rows, cols int) {
	for i := range rows {
		copy(dst[i*dstStride:][:cols], src[i*srcStride:])
	}
}

// transposeRows implements [Vectors.Transpose].
func transposeRows[T Float](dst []T, dstStride int, src []T, srcStride, rows, cols int) {
	for i := range rows {
		for j, x := range src[i*srcStride:][:cols] {
			dst[j*dstStride+i] = x
		}
	}
}

func lesser[T Float](a, b T) T {
	if a < b || a != a {
		return a
	}
	return b
}

func greater[T Float](a, b T) T {
	if a > b || a != a {
		return a
	}
	return b
}

func sign[T Float](x T) T {
	if x == 0 || x != x {
		return x
	}
	return T(math.Copysign(1, float64(x)))
}

// exp is [math.Exp], corrected for CPUs on which [math.Exp] overflows below the true limit of x.
func exp(x float64) float64 {
	if x > 709 {
		return math.Exp(x-1) * math.E
	}
	return math.Exp(x)
}

// log is [math.Log], corrected for CPUs on which [math.Log] is wrong for denormal numbers.
func log(x float64) float64 {
	const normal, digits = 0x1p-1022, 54
	if 0 < x && x < normal {
		return math.Log(x*(1<<digits)) - digits*math.Ln2
	}
	return math.Log(x)
}

// sin and cos subtract multiples of π/2 themselves, because [math.Sin] loses digits near them.
func sin(x float64) float64 { return sinOfQuarter(x, 0) }
func cos(x float64) float64 { return sinOfQuarter(x, 1) }

// sinOfQuarter returns sin(x + quarter·π/2). quarter is 0 or 1.
func sinOfQuarter(x float64, quarter int) float64 {
	const (
		large = 0x1p45 // for larger x, n is not exact enough
		// The parts of π/2, each as a float64.
		high = 0x1.921fb54442d18p+0
		mid  = 0x1.1a62633145c07p-54
		low  = -0x1.f1976b7ed8fbcp-110
	)
	n := 0.0
	if size := math.Abs(x); math.Pi/4 < size && size < large {
		n = math.RoundToEven(x * (2 / math.Pi))
		x = math.FMA(-n, high, x) // exact
		x = math.FMA(-n, mid, x)
		x = math.FMA(-n, low, x)
	}
	var y float64
	turn := int(n) + quarter
	if turn%2 == 0 {
		y = math.Sin(x)
	} else {
		y = math.Cos(x)
	}
	if turn&2 != 0 {
		return -y
	}
	return y
}

// logistic returns 1/(1+exp(-x)). It takes the exponential of negative numbers only, so that small
// results keep their relative precision.
func logistic(x float64) float64 {
	z := math.Exp(-math.Abs(x))
	if x < 0 {
		return z / (1 + z)
	}
	return 1 / (1 + z)
}
