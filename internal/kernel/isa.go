package kernel

import (
	"fmt"
	"os"
)

// ISA is an instruction set for which there are kernels.
type ISA int

const (
	Portable ISA = iota // plain Go, for every CPU
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

// Available returns the instruction sets of this CPU, from [Portable] to the best.
func Available() []ISA {
	var isas []ISA
	for isa := Portable; isa <= best(); isa++ {
		isas = append(isas, isa)
	}
	return isas
}

// Detect returns the instruction set to use: the best one of this CPU, or a lower one if the
// environment variable [EnvISA] names it. Detect ignores an unknown value of the variable;
// [DetectErr] returns an error for it.
func Detect() ISA {
	isa, _ := DetectErr()
	return isa
}

// DetectErr is like [Detect] but returns an error if [EnvISA] has an unknown value. It is no error
// if the CPU lacks the named instruction set: DetectErr then returns the CPU's best.
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

// mustHave panics if the CPU lacks isa. The message names the calling function.
func mustHave(function string, isa ISA) {
	if isa < Portable || isa > best() {
		panic(fmt.Sprintf("kernel.%s: got %v, want at most %v, which this CPU has", function, isa, best()))
	}
}
