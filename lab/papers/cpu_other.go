//go:build !unix

package papers

// cpuSeconds is not known here.
func cpuSeconds() float64 { return nan }
