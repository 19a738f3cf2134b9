package train

import (
	"testing"

	"github.com/stretchr/testify/assert"
)

func TestNonFiniteLimit(t *testing.T) {
	for _, c := range []struct {
		step, steps  int
		limit, wants float64
	}{
		{1, 2000, 0.01, 0.5}, {100, 2000, 0.01, 0.5}, {101, 2000, 0.01, 0.01}, {2000, 2000, 0.01, 0.01},
		{60, 60, 0.01, 0.01},  // the last step has the usual limit, even of a short training
		{1, 2000, 0.75, 0.75}, // the limit is larger than the limit for early steps
	} {
		assert.Equal(t, c.wants, NonFiniteLimit(c.step, c.steps, c.limit), "%+v", c)
	}
}
