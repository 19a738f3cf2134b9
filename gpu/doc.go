// Package gpu decides where graphs run. It is the only package of the module that names a GoMLX
// backend: every other package receives a *Device, whatever its backend.
//
//	device, err := gpu.Open(gpu.Auto)
//	if err != nil { … }
//	defer device.Close()
//	exec, err := context.NewExec(device.Backend(), ctx, buildGraph)
package gpu
