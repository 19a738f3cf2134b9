package shard

import (
	"encoding/binary"
	"io"
	"math"
)

// Numbers writes slices of numbers to w, each preceded by its length. It is used in Stage.Key.
func Numbers[T int | int32 | float64](w io.Writer, slices ...[]T) {
	for _, values := range slices {
		encoded := make([]byte, 0, 8*(len(values)+1))
		encoded = binary.LittleEndian.AppendUint64(encoded, uint64(len(values)))
		for _, value := range values {
			bits := uint64(0)
			switch value := any(value).(type) {
			case int:
				bits = uint64(value)
			case int32:
				bits = uint64(value)
			case float64:
				bits = math.Float64bits(value)
			}
			encoded = binary.LittleEndian.AppendUint64(encoded, bits)
		}
		_, _ = w.Write(encoded) // writing to a hash does not fail
	}
}
