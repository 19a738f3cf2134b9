// Package evaluate evaluates a target and an approximation q(m) q(θ | m) of it on a device, batch
// by batch. Graphs are compiled once; their inputs and outputs are slices of the host.
package evaluate
