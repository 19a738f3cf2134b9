package parallel

import (
	"errors"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestDo(t *testing.T) {
	done := make([]bool, 20)
	first, second := errors.New("first"), errors.New("second")
	err := Do(len(done), func(i int) error {
		done[i] = true
		switch i {
		case 3:
			return first
		case 17:
			return second
		}
		return nil
	})
	require.EqualError(t, err, "first\nsecond")
	for i := range done {
		require.True(t, done[i])
	}
	require.NoError(t, Do(0, nil))
}
