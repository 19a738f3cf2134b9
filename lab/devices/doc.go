// Package devices finds out whether a device computes what it should, and how fast.
//
// Check runs the same graphs, with the same inputs and the same random bits, on a device and on
// GoMLX's interpreter in float64, and compares what comes out: every kind of flow, every q(m),
// every likelihood, and whole training runs. Benchmark times training steps.
package devices
