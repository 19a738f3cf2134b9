package simd

import (
	"slices"

	"github.com/gomlx/gomlx/backends"
	"github.com/gomlx/gomlx/backends/shapeinference"
	"github.com/gomlx/gomlx/pkg/core/dtypes"
	"github.com/gomlx/gomlx/pkg/core/shapes"
	"github.com/pkg/errors"
)

func (b *Builder) unary(op backends.OpType, x backends.Op) (backends.Op, error) {
	in, err := b.check(op.String(), x)
	if err != nil {
		return nil, err
	}
	shape, err := shapeinference.UnaryOp(op, in[0].shape())
	if err != nil {
		return nil, err
	}
	return b.add(op, shape, nil, in[0]), nil
}

// predicate records a unary operation on floats that returns bools. It refuses integers, which are
// always finite and never NaN.
func (b *Builder) predicate(op backends.OpType, x backends.Op) (backends.Op, error) {
	in, err := b.check(op.String(), x)
	if err != nil {
		return nil, err
	}
	if dtype := in[0].dtype; !dtype.IsFloat() {
		return nil, errors.Errorf("simd: %s: want floats, got %s", op, in[0].shape())
	}
	return b.add(op, shapes.Make(dtypes.Bool, in[0].dims...), nil, in[0]), nil
}

func (b *Builder) binary(op backends.OpType, lhs, rhs backends.Op) (backends.Op, error) {
	in, err := b.check(op.String(), lhs, rhs)
	if err != nil {
		return nil, err
	}
	shape, err := shapeinference.BinaryOp(op, in[0].shape(), in[1].shape())
	if err != nil {
		return nil, err
	}
	if (op == backends.OpTypeMax || op == backends.OpTypeMin) && shape.DType == dtypes.Bool {
		return nil, errors.Errorf("simd: %s: want numbers, got bools", op)
	}
	return b.addBinary(op, shape.DType, in), nil
}

// addBinary records a binary operation whose operands were checked to have shapes that can be
// broadcast against each other. An axis of size 1 takes the size of that axis in the other operand.
// This holds even for size 0, for which package shapeinference would return a wrong shape.
func (b *Builder) addBinary(op backends.OpType, dtype dtypes.DType, in []*node) *node {
	dims := slices.Clone(in[0].dims)
	if len(dims) == 0 {
		dims = slices.Clone(in[1].dims)
	}
	for axis, d := range in[1].dims {
		if d != 1 {
			dims[axis] = d
		}
	}
	return b.add(op, shapes.Make(dtype, dims...), nil, in...)
}

// shift records a shift of bits. Package shapeinference does not know these operations; their
// operands are broadcast like the operands of other binary operations.
func (b *Builder) shift(op backends.OpType, lhs, rhs backends.Op) (backends.Op, error) {
	in, err := b.check(op.String(), lhs, rhs)
	if err != nil {
		return nil, err
	}
	shape, err := shapeinference.BinaryOp(backends.OpTypeBitwiseAnd, in[0].shape(), in[1].shape())
	if err != nil {
		return nil, errors.WithMessagef(err, "simd: %s", op)
	}
	return b.addBinary(op, shape.DType, in), nil
}

func (b *Builder) compare(op backends.OpType, lhs, rhs backends.Op) (backends.Op, error) {
	in, err := b.check(op.String(), lhs, rhs)
	if err != nil {
		return nil, err
	}
	inferAs := op
	if op == backends.OpTypeNotEqualTotalOrder { // missing in the table of package shapeinference
		inferAs = backends.OpTypeEqualTotalOrder
	}
	if _, err := shapeinference.ComparisonOp(inferAs, in[0].shape(), in[1].shape()); err != nil {
		return nil, err
	}
	return b.addBinary(op, dtypes.Bool, in), nil
}

// Where returns the elements of onTrue where condition is true and the elements of onFalse
// elsewhere. Scalar operands are broadcast.
func (b *Builder) Where(condition, onTrue, onFalse backends.Op) (backends.Op, error) {
	in, err := b.check("Where", condition, onTrue, onFalse)
	if err != nil {
		return nil, err
	}
	if in[1].dtype != in[2].dtype {
		return nil, errors.Errorf("simd: Where: want values of one element type, got %s and %s", in[1].shape(), in[2].shape())
	}
	shape, err := shapeinference.WhereOp(in[0].shape(), in[1].shape(), in[2].shape())
	if err != nil {
		return nil, err
	}
	return b.add(backends.OpTypeWhere, shape, nil, in...), nil
}

// Clamp returns min(max(x, low), high), element-wise. low and high may be scalars.
func (b *Builder) Clamp(low, x, high backends.Op) (backends.Op, error) {
	raised, err := b.Max(x, low)
	if err != nil {
		return nil, errors.WithMessage(err, "simd: Clamp")
	}
	clamped, err := b.Min(raised, high)
	return clamped, errors.WithMessage(err, "simd: Clamp")
}

// ConvertDType converts the elements of x to dtype. Floats are truncated to integers; NaN becomes
// 0, and a value out of range becomes the nearest integer of the type. In a conversion to bool, 0
// becomes false and every other value true.
func (b *Builder) ConvertDType(x backends.Op, dtype dtypes.DType) (backends.Op, error) {
	in, err := b.check("ConvertDType", x)
	if err != nil {
		return nil, err
	}
	if err := checkDType("ConvertDType", dtype); err != nil {
		return nil, err
	}
	return b.add(backends.OpTypeConvertDType, shapes.Make(dtype, in[0].dims...), nil, in[0]), nil
}

// Abs is |x|, element-wise.
func (b *Builder) Abs(x backends.Op) (backends.Op, error) { return b.unary(backends.OpTypeAbs, x) }

// BitCount is the number of bits of x that are 1, element-wise.
func (b *Builder) BitCount(x backends.Op) (backends.Op, error) {
	return b.unary(backends.OpTypeBitCount, x)
}

// BitwiseNot is ^x, element-wise.
func (b *Builder) BitwiseNot(x backends.Op) (backends.Op, error) {
	return b.unary(backends.OpTypeBitwiseNot, x)
}

// Ceil is the smallest integer ≥ x, element-wise.
func (b *Builder) Ceil(x backends.Op) (backends.Op, error) { return b.unary(backends.OpTypeCeil, x) }

// Clz is the number of leading bits of x that are 0, element-wise.
func (b *Builder) Clz(x backends.Op) (backends.Op, error) { return b.unary(backends.OpTypeClz, x) }

// Cos is cos x, element-wise.
func (b *Builder) Cos(x backends.Op) (backends.Op, error) { return b.unary(backends.OpTypeCos, x) }

// Erf is erf x, element-wise.
func (b *Builder) Erf(x backends.Op) (backends.Op, error) { return b.unary(backends.OpTypeErf, x) }

// Exp is eˣ, element-wise.
func (b *Builder) Exp(x backends.Op) (backends.Op, error) { return b.unary(backends.OpTypeExp, x) }

// Expm1 is eˣ−1, accurate near 0, element-wise.
func (b *Builder) Expm1(x backends.Op) (backends.Op, error) { return b.unary(backends.OpTypeExpm1, x) }

// Floor is the largest integer ≤ x, element-wise.
func (b *Builder) Floor(x backends.Op) (backends.Op, error) { return b.unary(backends.OpTypeFloor, x) }

// Log is ln x, element-wise.
func (b *Builder) Log(x backends.Op) (backends.Op, error) { return b.unary(backends.OpTypeLog, x) }

// Log1p is ln(1+x), accurate near 0, element-wise.
func (b *Builder) Log1p(x backends.Op) (backends.Op, error) { return b.unary(backends.OpTypeLog1p, x) }

// LogicalNot is !x, element-wise.
func (b *Builder) LogicalNot(x backends.Op) (backends.Op, error) {
	return b.unary(backends.OpTypeLogicalNot, x)
}

// Logistic is 1/(1+e⁻ˣ), element-wise.
func (b *Builder) Logistic(x backends.Op) (backends.Op, error) {
	return b.unary(backends.OpTypeLogistic, x)
}

// Neg is −x, element-wise.
func (b *Builder) Neg(x backends.Op) (backends.Op, error) { return b.unary(backends.OpTypeNeg, x) }

// Round is the integer nearest to x, element-wise; ties go to the even integer.
func (b *Builder) Round(x backends.Op) (backends.Op, error) { return b.unary(backends.OpTypeRound, x) }

// Rsqrt is 1/√x, element-wise.
func (b *Builder) Rsqrt(x backends.Op) (backends.Op, error) { return b.unary(backends.OpTypeRsqrt, x) }

// Sign is −1, 0 or 1 for negative, zero or positive x and NaN for NaN, element-wise.
func (b *Builder) Sign(x backends.Op) (backends.Op, error) { return b.unary(backends.OpTypeSign, x) }

// Sin is sin x, element-wise.
func (b *Builder) Sin(x backends.Op) (backends.Op, error) { return b.unary(backends.OpTypeSin, x) }

// Sqrt is √x, element-wise.
func (b *Builder) Sqrt(x backends.Op) (backends.Op, error) { return b.unary(backends.OpTypeSqrt, x) }

// Tanh is tanh x, element-wise.
func (b *Builder) Tanh(x backends.Op) (backends.Op, error) { return b.unary(backends.OpTypeTanh, x) }

// IsFinite reports which elements are neither infinite nor NaN.
func (b *Builder) IsFinite(x backends.Op) (backends.Op, error) {
	return b.predicate(backends.OpTypeIsFinite, x)
}

// IsNaN reports which elements are NaN.
func (b *Builder) IsNaN(x backends.Op) (backends.Op, error) {
	return b.predicate(backends.OpTypeIsNaN, x)
}

// Add is lhs + rhs, element-wise with broadcasting.
func (b *Builder) Add(lhs, rhs backends.Op) (backends.Op, error) {
	return b.binary(backends.OpTypeAdd, lhs, rhs)
}

// BitwiseAnd is lhs & rhs, element-wise with broadcasting.
func (b *Builder) BitwiseAnd(lhs, rhs backends.Op) (backends.Op, error) {
	return b.binary(backends.OpTypeBitwiseAnd, lhs, rhs)
}

// BitwiseOr is lhs | rhs, element-wise with broadcasting.
func (b *Builder) BitwiseOr(lhs, rhs backends.Op) (backends.Op, error) {
	return b.binary(backends.OpTypeBitwiseOr, lhs, rhs)
}

// BitwiseXor is lhs ^ rhs, element-wise with broadcasting.
func (b *Builder) BitwiseXor(lhs, rhs backends.Op) (backends.Op, error) {
	return b.binary(backends.OpTypeBitwiseXor, lhs, rhs)
}

// Div is lhs / rhs, element-wise with broadcasting. An integer divided by 0 gives −1 (all bits
// set), as in XLA.
func (b *Builder) Div(lhs, rhs backends.Op) (backends.Op, error) {
	return b.binary(backends.OpTypeDiv, lhs, rhs)
}

// LogicalAnd is lhs && rhs, element-wise with broadcasting.
func (b *Builder) LogicalAnd(lhs, rhs backends.Op) (backends.Op, error) {
	return b.binary(backends.OpTypeLogicalAnd, lhs, rhs)
}

// LogicalOr is lhs || rhs, element-wise with broadcasting.
func (b *Builder) LogicalOr(lhs, rhs backends.Op) (backends.Op, error) {
	return b.binary(backends.OpTypeLogicalOr, lhs, rhs)
}

// LogicalXor is lhs != rhs, element-wise with broadcasting.
func (b *Builder) LogicalXor(lhs, rhs backends.Op) (backends.Op, error) {
	return b.binary(backends.OpTypeLogicalXor, lhs, rhs)
}

// Max is the larger of lhs and rhs, or NaN if one of them is NaN, element-wise with broadcasting.
func (b *Builder) Max(lhs, rhs backends.Op) (backends.Op, error) {
	return b.binary(backends.OpTypeMax, lhs, rhs)
}

// Min is the smaller of lhs and rhs, or NaN if one of them is NaN, element-wise with broadcasting.
func (b *Builder) Min(lhs, rhs backends.Op) (backends.Op, error) {
	return b.binary(backends.OpTypeMin, lhs, rhs)
}

// Mul is lhs · rhs, element-wise with broadcasting.
func (b *Builder) Mul(lhs, rhs backends.Op) (backends.Op, error) {
	return b.binary(backends.OpTypeMul, lhs, rhs)
}

// Pow is lhs to the power rhs, element-wise with broadcasting.
func (b *Builder) Pow(lhs, rhs backends.Op) (backends.Op, error) {
	return b.binary(backends.OpTypePow, lhs, rhs)
}

// Rem is the remainder of lhs / rhs, with the sign of lhs, element-wise with broadcasting. An
// integer modulo 0 is that integer.
func (b *Builder) Rem(lhs, rhs backends.Op) (backends.Op, error) {
	return b.binary(backends.OpTypeRem, lhs, rhs)
}

// Sub is lhs − rhs, element-wise with broadcasting.
func (b *Builder) Sub(lhs, rhs backends.Op) (backends.Op, error) {
	return b.binary(backends.OpTypeSub, lhs, rhs)
}

// ShiftLeft is lhs << rhs, element-wise with broadcasting. A negative rhs shifts all bits out, like
// a very large one.
func (b *Builder) ShiftLeft(lhs, rhs backends.Op) (backends.Op, error) {
	return b.shift(backends.OpTypeShiftLeft, lhs, rhs)
}

// ShiftRightArithmetic is lhs >> rhs with copies of the sign bit shifted in, element-wise with
// broadcasting. A negative rhs shifts all bits out, like a very large one.
func (b *Builder) ShiftRightArithmetic(lhs, rhs backends.Op) (backends.Op, error) {
	return b.shift(backends.OpTypeShiftRightArithmetic, lhs, rhs)
}

// ShiftRightLogical is lhs >> rhs with zeros shifted in, element-wise with broadcasting. A negative
// rhs shifts all bits out, like a very large one.
func (b *Builder) ShiftRightLogical(lhs, rhs backends.Op) (backends.Op, error) {
	return b.shift(backends.OpTypeShiftRightLogical, lhs, rhs)
}

// Equal is lhs == rhs, element-wise with broadcasting.
func (b *Builder) Equal(lhs, rhs backends.Op) (backends.Op, error) {
	return b.compare(backends.OpTypeEqual, lhs, rhs)
}

// EqualTotalOrder is lhs == rhs in the order −NaN < −Inf < … < −0 < +0 < … < +Inf < +NaN.
func (b *Builder) EqualTotalOrder(lhs, rhs backends.Op) (backends.Op, error) {
	return b.compare(backends.OpTypeEqualTotalOrder, lhs, rhs)
}

// NotEqual is lhs != rhs, element-wise with broadcasting.
func (b *Builder) NotEqual(lhs, rhs backends.Op) (backends.Op, error) {
	return b.compare(backends.OpTypeNotEqual, lhs, rhs)
}

// NotEqualTotalOrder is lhs != rhs in the order −NaN < −Inf < … < −0 < +0 < … < +Inf < +NaN.
func (b *Builder) NotEqualTotalOrder(lhs, rhs backends.Op) (backends.Op, error) {
	return b.compare(backends.OpTypeNotEqualTotalOrder, lhs, rhs)
}

// LessThan is lhs < rhs, element-wise with broadcasting.
func (b *Builder) LessThan(lhs, rhs backends.Op) (backends.Op, error) {
	return b.compare(backends.OpTypeLessThan, lhs, rhs)
}

// LessThanTotalOrder is lhs < rhs in the order −NaN < −Inf < … < −0 < +0 < … < +Inf < +NaN.
func (b *Builder) LessThanTotalOrder(lhs, rhs backends.Op) (backends.Op, error) {
	return b.compare(backends.OpTypeLessThanTotalOrder, lhs, rhs)
}

// LessOrEqual is lhs ≤ rhs, element-wise with broadcasting.
func (b *Builder) LessOrEqual(lhs, rhs backends.Op) (backends.Op, error) {
	return b.compare(backends.OpTypeLessOrEqual, lhs, rhs)
}

// LessOrEqualTotalOrder is lhs ≤ rhs in the order −NaN < −Inf < … < −0 < +0 < … < +Inf < +NaN.
func (b *Builder) LessOrEqualTotalOrder(lhs, rhs backends.Op) (backends.Op, error) {
	return b.compare(backends.OpTypeLessOrEqualTotalOrder, lhs, rhs)
}

// GreaterThan is lhs > rhs, element-wise with broadcasting.
func (b *Builder) GreaterThan(lhs, rhs backends.Op) (backends.Op, error) {
	return b.compare(backends.OpTypeGreaterThan, lhs, rhs)
}

// GreaterThanTotalOrder is lhs > rhs in the order −NaN < −Inf < … < −0 < +0 < … < +Inf < +NaN.
func (b *Builder) GreaterThanTotalOrder(lhs, rhs backends.Op) (backends.Op, error) {
	return b.compare(backends.OpTypeGreaterThanTotalOrder, lhs, rhs)
}

// GreaterOrEqual is lhs ≥ rhs, element-wise with broadcasting.
func (b *Builder) GreaterOrEqual(lhs, rhs backends.Op) (backends.Op, error) {
	return b.compare(backends.OpTypeGreaterOrEqual, lhs, rhs)
}

// GreaterOrEqualTotalOrder is lhs ≥ rhs in the order −NaN < −Inf < … < −0 < +0 < … < +Inf < +NaN.
func (b *Builder) GreaterOrEqualTotalOrder(lhs, rhs backends.Op) (backends.Op, error) {
	return b.compare(backends.OpTypeGreaterOrEqualTotalOrder, lhs, rhs)
}
