// Package evaluate evaluates a target, the unnormalised posterior density of models m and their
// parameters θ, and an approximation q(m) q(θ | m) of it on a device, batch by batch. A model is
// given by its code, an integer for each of S sites. Graphs are compiled once. Their inputs and
// outputs are slices in the memory of the host.
package evaluate
