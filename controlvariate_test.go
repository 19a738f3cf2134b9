package vti

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func TestControlVariateNames(t *testing.T) {
	require.Equal(t, "leave-one-out", ControlVariate(0).String(), "the zero value is the default")
	require.Equal(t, "surrogate-mean", SurrogateMean.String())
	require.Equal(t, "ControlVariate(3)", ControlVariate(3).String())
	require.Equal(t, "ControlVariate(-1)", ControlVariate(-1).String())
}
