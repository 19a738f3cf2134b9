// Package evaluate evaluates a target and an approximation q(m) q(θ | m) of it on a device, batch
// by batch. Graphs are compiled once. Their inputs and outputs are slices in the memory of the
// host.
package evaluate
