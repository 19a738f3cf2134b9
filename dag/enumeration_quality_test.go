//go:build quality

package dag

import "testing"

// TestChainsAgainstEnumeration runs chains over graphs on all 30 tables. Of 480 edges one would be
// off by 4 standard errors in 1 of 33 such runs:
//
//	go test -tags quality -run ChainsAgainstEnumeration -v ./dag
func TestChainsAgainstEnumeration(t *testing.T) {
	for k, s := range enumerationSets() {
		p, values, counted := s.build(t, uint64(k))
		s.checkChains(t, k, p, s.enumerate(p, values, counted))
	}
}
