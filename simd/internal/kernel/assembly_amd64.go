package kernel

import "golang.org/x/sys/cpu"

// best returns the best instruction set of this CPU, as far as the operating system saves its registers.
func best() ISA {
	x := &cpu.X86
	switch {
	case !x.HasAVX2 || !x.HasFMA || !x.HasBMI2:
		return Portable
	case !x.HasAVX512F || !x.HasAVX512BW || !x.HasAVX512DQ || !x.HasAVX512VL:
		return AVX2
	}
	return AVX512
}

func useAssembly32(*Vectors[float32], ISA) {}
func useAssembly64(*Vectors[float64], ISA) {}
