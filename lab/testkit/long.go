package testkit

import "testing"

// Long skips a test that takes more than about five seconds of a processor, unless the tests are
// built with -tags long. What it tests should be covered by a quicker test too, less sharply.
func Long(t testing.TB) {
	t.Helper()
	if !long {
		t.Skip("takes many seconds of a processor: go test -tags long")
	}
}
