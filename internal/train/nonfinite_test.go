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
		{60, 60, 0.01, 0.01},  // the last report is judged however short the training
		{1, 2000, 0.75, 0.75}, // more was allowed anyway
	} {
		assert.Equal(t, c.wants, NonFiniteLimit(c.step, c.steps, c.limit), "%+v", c)
	}
}
