package cosmic

import (
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestConfigAsText(t *testing.T) {
	config := Config{Kind: Spline, Hidden: 7, Encoder: []int{3}, Seed: 1<<64 - 1}.WithDefaults()
	text, err := json.Marshal(config)
	require.NoError(t, err)
	require.JSONEq(t, `{"kind":"spline","layers":5,"blocks":2,"hidden":7,"bins":8,"encoder":[3],"seed":18446744073709551615}`, string(text))
	var read Config
	require.NoError(t, json.Unmarshal(text, &read))
	require.Equal(t, config, read)
	for kind := Affine; kind <= Diagonal; kind++ {
		text, err := kind.MarshalText()
		require.NoError(t, err)
		var read Kind
		require.NoError(t, read.UnmarshalText(text))
		require.Equal(t, kind, read)
	}
	require.ErrorContains(t, json.Unmarshal([]byte(`{"kind":"planar"}`), &read), `unknown kind of flow "planar"; want affine, spline or diagonal`)
	require.Error(t, json.Unmarshal([]byte(`{"kind":1}`), &read))
	_, err = json.Marshal(Kind(9))
	require.ErrorContains(t, err, "got the kind of flow cosmic.Kind(9), want affine, spline or diagonal")
}
