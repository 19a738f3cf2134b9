package gpu

import (
	"fmt"
	"math"
	"math/bits"
	"regexp"
	"strconv"
	"strings"

	"github.com/transdim/vti/internal/memory"
)

// Failure is an error of an open device: the device is out of memory, or no longer responds.
type Failure struct {
	// Device is the name of the device, as Device.String returns it.
	Device      string
	OutOfMemory bool
	// Held is the number of bytes of data and variables, which are needed whatever the batch size.
	// Asked is the number of bytes of the allocation that failed, and Memory the number of bytes of
	// the card. Each is 0 if it is not known.
	Held, Asked, Memory uint64
	// Err is the error of the backend. It is nil if the computation was refused because of its size
	// before it started.
	Err error
}

// Error returns a message that names the allocation that did not fit, with sizes.
func (f *Failure) Error() string {
	if !f.OutOfMemory {
		return fmt.Sprintf("device %s: %v", f.Device, f.Err)
	}
	if f.tooLarge() {
		return fmt.Sprintf("device %s: data and variables take %s and the card has %s: use fewer rows or columns, or --device cpu",
			f.Device, memory.Text(float64(f.Held)), memory.Text(float64(f.Memory)))
	}
	text := fmt.Sprintf("device %s: out of memory", f.Device)
	for _, part := range []struct {
		bytes  uint64
		format string
	}{{f.Asked, " asking for %s"}, {f.Memory, ", the card has %s"}, {f.Held, ", data and variables take %s"}} {
		if part.bytes > 0 {
			text += fmt.Sprintf(part.format, memory.Text(float64(part.bytes)))
		}
	}
	if f.Err != nil {
		text += ": " + f.Err.Error()
	}
	return text
}

// Unwrap returns the error of the backend.
func (f *Failure) Unwrap() error { return f.Err }

// tooLarge reports whether data and variables alone do not fit on the card.
func (f *Failure) tooLarge() bool { return f.Memory > 0 && f.Held > f.Memory }

// usable is the share of a card's memory that XLA allocates at start, and so the most that a
// computation can use.
const usable = 0.75

// Fits returns an estimate of the largest batch size, a power of two, that fits on the card, given
// a batch size that did not fit. It assumes that the memory besides data and variables is
// proportional to the batch size. The result is at most half of batch, also if sizes are unknown.
// It is 0 if no batch fits.
func (f *Failure) Fits(batch int) int {
	if f.tooLarge() || batch < 2 {
		return 0
	}
	share := 0.5
	if f.Asked > 0 && f.Memory > 0 {
		free := math.Max(usable*float64(f.Memory)-float64(f.Held), 0)
		share = math.Min(share, free/float64(f.Asked))
	}
	fits := uint(share * float64(batch))
	if fits == 0 {
		return 0
	}
	return 1 << (bits.Len(fits) - 1)
}

// noMemory matches out-of-memory messages of XLA and drivers; asked matches their number of bytes.
var (
	noMemory = regexp.MustCompile(`(?i)RESOURCE_EXHAUSTED|out[ _]of[ _]memory`)
	asked    = regexp.MustCompile(`(?i)allocat(?:e|ing) ([0-9.]+) ?([KMGT]i?B|bytes|B)`)
)

// asFailure turns an error of a backend into a Failure.
func asFailure(err error, device string, held, memory uint64) *Failure {
	f := &Failure{Device: device, Err: err}
	text := err.Error()
	if !noMemory.MatchString(text) {
		return f
	}
	f.OutOfMemory, f.Held, f.Memory = true, held, memory
	if found := asked.FindStringSubmatch(text); found != nil {
		number, err := strconv.ParseFloat(found[1], 64)
		if unit := strings.Index("BKMGT", strings.ToUpper(found[2][:1])); err == nil && unit >= 0 {
			f.Asked = uint64(math.Ldexp(number, 10*unit))
		}
	}
	return f
}
