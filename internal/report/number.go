// Package report holds the types that the answers of all applications share.
package report

import (
	"encoding/json"
	"math"
)

// Number is a float64 that JSON shows as null when it is not finite.
type Number float64

// MarshalJSON implements json.Marshaler.
func (n Number) MarshalJSON() ([]byte, error) {
	if value := float64(n); math.IsNaN(value) || math.IsInf(value, 0) {
		return []byte("null"), nil
	}
	return json.Marshal(float64(n))
}

// UnmarshalJSON implements json.Unmarshaler; null becomes NaN.
func (n *Number) UnmarshalJSON(data []byte) error {
	if string(data) == "null" {
		*n = Number(math.NaN())
		return nil
	}
	return json.Unmarshal(data, (*float64)(n))
}

// Text returns the number as a cell of a CSV file. It is empty if the number is not finite.
func (n Number) Text() string {
	encoded, err := n.MarshalJSON()
	if err != nil || string(encoded) == "null" {
		return ""
	}
	return string(encoded)
}
