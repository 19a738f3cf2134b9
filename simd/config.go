package simd

import (
	"runtime"
	"strconv"
	"strings"

	"github.com/pkg/errors"

	"github.com/transdim/vti/internal/kernel"
)

// config is what the text after "simd:" selects. The zero value of each field but isa and threads
// is the default.
type config struct {
	isa     kernel.ISA // instruction set of the kernels
	threads int        // goroutines that compute, the caller of Execute included
	unfused bool       // "fuse=off": every operation is a pass of its own
}

// parseConfig reads a comma-separated list of key=value options:
//
//	isa=portable|avx2|avx512   default: the best of this CPU
//	threads=N                  default: GOMAXPROCS
//	fuse=on|off                default: on
func parseConfig(text string) (config, error) {
	isa, err := kernel.DetectErr()
	if err != nil {
		return config{}, errors.WithMessage(err, "simd")
	}
	c := config{isa: isa, threads: runtime.GOMAXPROCS(0)}
	for option := range strings.SplitSeq(text, ",") {
		option = strings.TrimSpace(option)
		if option == "" {
			continue
		}
		key, value, _ := strings.Cut(option, "=")
		switch key {
		case "isa":
			isa, err := parseISA(value)
			if err != nil {
				return config{}, err
			}
			c.isa = isa
		case "threads":
			n, err := strconv.Atoi(value)
			if err != nil || n < 1 {
				return config{}, errors.Errorf("simd: option threads=%q: want a positive integer", value)
			}
			c.threads = n
		case "fuse":
			if value != "on" && value != "off" {
				return config{}, errors.Errorf("simd: option fuse=%q: want on or off", value)
			}
			c.unfused = value == "off"
		default:
			return config{}, errors.Errorf("simd: unknown option %q: want isa=, threads= or fuse=", option)
		}
	}
	return c, nil
}

// parseISA accepts the instruction sets this CPU can run.
func parseISA(name string) (kernel.ISA, error) {
	available := kernel.Available()
	for _, isa := range available {
		if isa.String() == name {
			return isa, nil
		}
	}
	return 0, errors.Errorf("simd: option isa=%q: want one of %v, which this CPU has", name, available)
}
