package columnar

import (
	"encoding/binary"
	"fmt"
	"math"
	"math/big"
	"strconv"

	"github.com/parquet-go/parquet-go"
	"github.com/parquet-go/parquet-go/format"
	"github.com/x448/float16"
)

// cells decodes the values of one column of a file.
type cells struct {
	column *parquet.Column
	kind   Kind
	number func(parquet.Value) float64 // converts a value of the kind Double or Bool
}

func newCells(column *parquet.Column, element format.SchemaElement) cells {
	c := cells{column: column, kind: Double}
	if !column.Leaf() || column.Repeated() {
		return cells{column: column}
	}
	var logical format.LogicalTypeValue
	if t := column.Type().LogicalType(); t != nil {
		logical = t.Value
	}
	_, integer := logical.(*format.IntType)
	integer = integer || logical == nil
	decimal, isDecimal := logical.(*format.DecimalType)
	_, isHalf := element.LogicalType.Value.(*format.Float16Type)
	_, isText := logical.(*format.StringType)
	switch kind := column.Type().Kind(); {
	case isDecimal:
		c.number = decimals(kind, int(decimal.Scale))
	case isHalf && kind == parquet.FixedLenByteArray && column.Type().Length() == 2:
		c.number = func(v parquet.Value) float64 {
			return float64(float16.Frombits(binary.LittleEndian.Uint16(v.ByteArray())).Float32())
		}
	case kind == parquet.Double:
		c.number = parquet.Value.Double
	case kind == parquet.Float:
		c.number = func(v parquet.Value) float64 { return float64(v.Float()) }
	case kind == parquet.Boolean:
		c.kind = Bool
		c.number = func(v parquet.Value) float64 {
			if v.Boolean() {
				return 1
			}
			return 0
		}
	case integer && kind == parquet.Int32:
		c.number = func(v parquet.Value) float64 { return float64(v.Int32()) }
		if unsigned(logical) {
			c.number = func(v parquet.Value) float64 { return float64(v.Uint32()) }
		}
	case integer && kind == parquet.Int64:
		c.number = func(v parquet.Value) float64 { return float64(v.Int64()) }
		if unsigned(logical) {
			c.number = func(v parquet.Value) float64 { return float64(v.Uint64()) }
		}
	case isText && kind == parquet.ByteArray:
		c.kind = Text
	default:
		c.kind = Other
	}
	return c
}

func unsigned(logical format.LogicalTypeValue) bool {
	integer, ok := logical.(*format.IntType)
	return ok && !integer.IsSigned
}

func (c cells) typeName() string {
	if !c.column.Leaf() || c.column.Repeated() {
		return "of nested columns"
	}
	return c.column.Type().String()
}

// decimals returns a function that converts values of decimal type, with the given scale, to the
// nearest float64.
func decimals(kind parquet.Kind, scale int) func(parquet.Value) float64 {
	return func(v parquet.Value) float64 {
		var digits string
		switch kind {
		case parquet.Int32:
			digits = strconv.FormatInt(int64(v.Int32()), 10)
		case parquet.Int64:
			digits = strconv.FormatInt(v.Int64(), 10)
		default:
			digits = bigEndian(v.ByteArray()).String()
		}
		number, err := strconv.ParseFloat(fmt.Sprintf("%se%d", digits, -scale), 64)
		if err != nil {
			return math.NaN()
		}
		return number
	}
}

func bigEndian(content []byte) *big.Int {
	n := new(big.Int).SetBytes(content)
	if len(content) > 0 && content[0] >= 0x80 {
		n.Sub(n, new(big.Int).Lsh(big.NewInt(1), uint(8*len(content))))
	}
	return n
}
