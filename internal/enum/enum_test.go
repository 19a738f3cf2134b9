package enum

import (
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/require"
)

type fruit int

const (
	apple fruit = iota
	pear
	plum
)

var fruits = New[fruit]("fruit", "apple", "pear", "plum")

func (f fruit) String() string                   { return fruits.String(f) }
func (f fruit) MarshalText() ([]byte, error)     { return fruits.Marshal(f) }
func (f *fruit) UnmarshalText(text []byte) error { return fruits.Unmarshal(text, f) }

func TestNames(t *testing.T) {
	for _, want := range []fruit{apple, pear, plum} {
		got, err := fruits.Parse(want.String())
		require.NoError(t, err)
		require.Equal(t, want, got)
	}
	require.Equal(t, []string{"apple", "pear", "plum"}, fruits.List())
	_, err := fruits.Parse("fig")
	require.EqualError(t, err, `unknown fruit "fig"; want apple, pear or plum`)
	require.Equal(t, "enum.fruit(3)", fruit(3).String())
	require.Equal(t, "enum.fruit(-1)", fruit(-1).String())
	require.Equal(t, "one", New[fruit]("f", "one").Choice())
}

func TestText(t *testing.T) {
	text, err := json.Marshal([]fruit{pear, plum})
	require.NoError(t, err)
	require.JSONEq(t, `["pear", "plum"]`, string(text))
	var back []fruit
	require.NoError(t, json.Unmarshal(text, &back))
	require.Equal(t, []fruit{pear, plum}, back)
	require.ErrorContains(t, json.Unmarshal([]byte(`["fig"]`), &back), `unknown fruit "fig"`)
	_, err = json.Marshal(fruit(7))
	require.ErrorContains(t, err, "got the fruit enum.fruit(7), want apple, pear or plum")
}
