// Package devices checks whether a device computes correctly, and measures its speed.
//
// Check runs the same computation graphs, with the same inputs and the same random bits, on a
// device and on GoMLX's interpreter in float64, and compares the outputs: every kind of flow, every
// q(m), every likelihood, and whole training runs. Benchmark times training steps.
package devices
