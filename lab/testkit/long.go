package testkit

import "testing"

// Long skips a test unless the tests are built with -tags long. Tests that take more than about
// five seconds of a processor call it. A quicker test should cover the same code less thoroughly.
func Long(t testing.TB) {
	t.Helper()
	if !long {
		t.Skip("takes many seconds of a processor: go test -tags long")
	}
}

// Slow skips a test in short mode (go test -short). Tests that take more than about a second of a
// processor call it.
func Slow(t testing.TB) {
	t.Helper()
	if testing.Short() {
		t.Skip("takes seconds of a processor")
	}
}
