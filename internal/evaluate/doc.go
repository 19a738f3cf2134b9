// Package evaluate evaluates a target and an approximation q(m) q(θ | m) of it on a device, batch
// by batch. Graphs are compiled once; what goes in and out are slices of the host.
package evaluate
