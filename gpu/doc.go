// Package gpu decides where graphs run. It is the only package of the module that names a GoMLX
// backend: every other package receives a *Device, whatever its backend.
//
//	device, err := gpu.Open(gpu.Auto)
//	if err != nil { … }
//	defer device.Close()
//	exec, err := context.NewExec(device.Backend(), ctx, buildGraph)
//
// # Files
//
//	device.go    Open: a kind of device to a backend
//	kind.go      the kinds of devices and their names
//	list.go      the devices of this machine
//	plugin.go    where PJRT plugins are looked for
//	xla_cgo.go   XLA through a plugin, in builds with cgo on Linux
//	xla_off.go   and its absence in others
//	guard.go     memory of a card: data that cannot fit are refused before transfer
//	contract.go  sums of broadcast products become matrix products
//	failure.go   failures of an open device
package gpu
