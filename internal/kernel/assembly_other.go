//go:build !amd64 || noasm

package kernel

func best() ISA { return Portable }

func useAssembly32(*Vectors[float32], ISA) {}
func useAssembly64(*Vectors[float64], ISA) {}

func tileKernels32(ISA) *tileKernels[float32] { return nil }
func tileKernels64(ISA) *tileKernels[float64] { return nil }
