//go:build !unix

package papers

// cpuSeconds is unknown on this system.
func cpuSeconds() float64 { return nan }
