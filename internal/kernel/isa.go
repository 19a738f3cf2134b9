package kernel

import (
	"fmt"
	"os"
)

// ISA is an instruction set that kernels exist for.
type ISA int

const (
	Portable ISA = iota // plain Go, every CPU
	AVX2                // amd64 with AVX2 and FMA
	AVX512              // amd64 with AVX-512 F, BW, DQ and VL, and BMI2
)

// EnvISA is the environment variable that lowers the instruction set which [Detect] chooses.
const EnvISA = "VTI_SIMD"

// String returns the value of the environment variable [EnvISA] that selects the instruction set.
func (isa ISA) String() string {
	switch isa {
	case Portable:
		return "portable"
	case AVX2:
		return "avx2"
	case AVX512:
		return "avx512"
	}
	return fmt.Sprintf("ISA(%d)", int(isa))
}

// Available returns the instruction sets this CPU has, from [Portable] to the best.
func Available() []ISA {
	var isas []ISA
	for isa := Portable; isa <= best(); isa++ {
		isas = append(isas, isa)
	}
	return isas
}

// Detect returns the instruction set to use: the best one of this CPU, or the lower one that
// [EnvISA] asks for. It ignores a value of [EnvISA] that it does not know; [DetectErr] reports it.
func Detect() ISA {
	isa, _ := DetectErr()
	return isa
}

// DetectErr is [Detect] with an error when [EnvISA] holds an unknown value. An instruction set that
// the CPU lacks is not an error: the best one it has is returned.
func DetectErr() (ISA, error) {
	asked := os.Getenv(EnvISA)
	if asked == "" {
		return best(), nil
	}
	for isa := Portable; isa <= AVX512; isa++ {
		if isa.String() == asked {
			return min(isa, best()), nil
		}
	}
	return best(), fmt.Errorf("environment variable %s: want %q, %q or %q, got %q", EnvISA, Portable, AVX2, AVX512, asked)
}

// mustHave panics when the CPU lacks isa.
func mustHave(function string, isa ISA) {
	if isa < Portable || isa > best() {
		panic(fmt.Sprintf("kernel.%s: got %v, want at most %v, which this CPU has", function, isa, best()))
	}
}
