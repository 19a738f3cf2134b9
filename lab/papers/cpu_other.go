//go:build !unix

package papers

// cpuSeconds returns NaN, because the processor time is unknown on this system.
func cpuSeconds() float64 { return nan }
