// Package report holds the types that the answers of all applications share.
package report

import (
	"encoding/json"
	"math"
	"slices"

	"gonum.org/v1/gonum/stat"
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

// Central returns the ends of the central 95 percent interval of draws, and their median. It sorts
// the draws. The results are NaN without draws.
func Central(draws []float64) (low, median, high Number) {
	if len(draws) == 0 {
		draws = []float64{math.NaN()}
	}
	slices.Sort(draws)
	quantile := func(p float64) Number { return Number(stat.Quantile(p, stat.Empirical, draws, nil)) }
	return quantile(0.025), quantile(0.5), quantile(0.975)
}
