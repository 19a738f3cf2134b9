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
	// Available reports whether a device of this kind can be opened.
	Available bool
	// Description is the backend's description of itself, or its plugin. If the device cannot be
	// opened, Description is the reason.
	Description string
	// Units describes the processors or cards of the device, one text each.
	Units []string
}

// List tries to open every kind of device but Auto, and describes each.
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

// Cards returns the NVIDIA cards with their memory, as nvidia-smi lists them. It includes cards
// that no plugin can use. It returns nil if there is no nvidia-smi or no card.
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

// querySMI asks nvidia-smi for properties. The result has a line for each card, with values
// separated by commas; it is empty on failure.
func querySMI(properties string) string {
	output, err := exec.Command("nvidia-smi", "--query-gpu="+properties, "--format=csv,noheader").Output()
	if err != nil {
		return ""
	}
	return string(output)
}

// largestMemory returns the largest number of bytes in an answer such as "81559 MiB", or 0.
func largestMemory(answer string) (largest uint64) {
	for line := range strings.Lines(answer) {
		number, unit, _ := strings.Cut(strings.TrimSpace(line), " ")
		if size, err := strconv.ParseUint(number, 10, 64); err == nil && unit == "MiB" {
			largest = max(largest, size<<20)
		}
	}
	return largest
}
