package report

import (
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestLeaves(t *testing.T) {
	var object map[string]any
	require.NoError(t, json.Unmarshal([]byte(`{"model": {"sigma": 1.50, "prior": "uniform", "none": {}}, "of": ["a", 2], "off": false, "x": null, "left": {"out": 1}}`), &object))
	got, err := Leaves(object, "left")
	require.NoError(t, err)
	require.Equal(t, map[string]string{"model.sigma": "1.5", "model.prior": "uniform", "of": `["a",2]`, "off": "false", "x": "null"}, got)
}
