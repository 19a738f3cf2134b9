package report

import (
	"math"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestRows checks that fields are found by their names in JSON, including fields of embedded
// structs.
func TestRows(t *testing.T) {
	type inner struct {
		Count int `json:"count"`
	}
	type row struct {
		inner
		Name  string  `json:"name,omitempty"`
		Mean  Number  `json:"mean"`
		Other *Number `json:"other"`
		Sure  bool    `json:"sure"`
	}
	half := Number(0.5)
	list := []row{{inner{3}, "a", Number(math.NaN()), &half, true}, {Name: "b", Mean: 2}}
	require.Equal(t, [][]string{{"name", "other", "mean", "count", "sure"}, {"a", "0.5", "", "3", "true"}, {"b", "", "2", "0", "false"}},
		Rows(list, "name", "other", "mean", "count", "sure"))
	require.Equal(t, [][]string{{"mean"}}, Rows([]row{}, "mean"))
	require.Panics(t, func() { Rows(list, "median") })
}
