package english

import (
	"testing"

	"github.com/stretchr/testify/assert"
)

func TestCount(t *testing.T) {
	for want, got := range map[string]string{
		"1 row":           Count(1, "row"),
		"0 rows":          Count(0, "row"),
		"2 rows":          Count(int64(2), "row"),
		"1 family":        Count(uint64(1), "family"),
		"3 families":      Count(3, "family"),
		"3 arrays":        Count(3, "array"),
		"2 classes":       Count(2, "class"),
		"2 branches":      Count(2, "branch"),
		"5 missing cells": Count(5, "missing cell"),
		"2 y":             "2 " + Form(2, "x", "y"),
		"a, b":            List([]string{"a", "b"}, 2),
		"a and 2 more":    List([]string{"a", "b", "c"}, 1),
	} {
		assert.Equal(t, want, got)
	}
	assert.Equal(t, "has", Form(1, "has", "have"))
	assert.Equal(t, "-1 rows", Count(-1, "row"), "wrong settings are written too")
}
