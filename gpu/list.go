package gpu

import (
	"fmt"
	"os/exec"
	"strconv"
	"strings"

	"github.com/gomlx/gomlx/backends"
)

// Listing describes a kind of device on this machine.
type Listing struct {
	Kind Kind
	// Available reports whether Open succeeds.
	Available bool
	// Description is the backend's own, or its plugin; or why the device cannot be opened.
	Description string
	// Units are its processors or cards, one line each.
	Units []string
}

// List tries every kind of device but Auto.
func List(plugin string) []Listing {
	var list []Listing
	for kind := CPU; kind <= Reference; kind++ {
		list = append(list, describe(Options{Kind: kind, Plugin: plugin}))
	}
	return list
}

func describe(options Options) Listing {
	device, err := OpenWith(options)
	if err != nil {
		return Listing{Kind: options.Kind, Description: err.Error()}
	}
	defer device.Close()
	listing := Listing{Kind: options.Kind, Available: true, Description: device.backend.Description()}
	if device.plugin == "" {
		return listing
	}
	listing.Description = "XLA with plugin " + device.plugin
	for i := range device.backend.NumDevices() {
		listing.Units = append(listing.Units, device.backend.DeviceDescription(backends.DeviceNum(i)))
	}
	return listing
}

// Cards lists the NVIDIA cards as the driver's own tool sees them, with their memory: also those
// that no plugin can reach. Nil if there is no such tool or no card.
func Cards() []string {
	var cards []string
	for line := range strings.Lines(querySMI("index,name,memory.total,memory.free,driver_version")) {
		fields := strings.Split(strings.TrimSpace(line), ", ")
		if len(fields) == 5 {
			cards = append(cards, fmt.Sprintf("%s: %s, %s memory, %s free, driver %s", fields[0], fields[1], fields[2], fields[3], fields[4]))
		}
	}
	return cards
}

// querySMI asks the driver's tool for properties: a line with commas for each card, or nothing.
func querySMI(properties string) string {
	output, err := exec.Command("nvidia-smi", "--query-gpu="+properties, "--format=csv,noheader").Output()
	if err != nil {
		return ""
	}
	return string(output)
}

// largestMemory returns the most bytes in an answer such as "81559 MiB", or 0.
func largestMemory(answer string) (largest uint64) {
	for line := range strings.Lines(answer) {
		number, unit, _ := strings.Cut(strings.TrimSpace(line), " ")
		if size, err := strconv.ParseUint(number, 10, 64); err == nil && unit == "MiB" {
			largest = max(largest, size<<20)
		}
	}
	return largest
}
