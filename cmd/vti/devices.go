package main

import (
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/transdim/vti/cmd/internal/cli"
	"github.com/transdim/vti/cmd/internal/shell"
	"github.com/transdim/vti/gpu"
)

// devicesAnswer is the output of vti devices --json.
type devicesAnswer struct {
	Command string       `json:"command"`
	Auto    string       `json:"auto"` // kind of device that --device auto opens
	Devices []deviceLine `json:"devices"`
	Cards   []string     `json:"cards"`
}

type deviceLine struct {
	Device      string   `json:"device"`
	Available   bool     `json:"available"`
	Description string   `json:"description"`
	Units       []string `json:"units"`
}

func devicesCommand(a *shell.App) *cobra.Command {
	var plugin string
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "devices",
		Short: "List the devices that vti can compute on",
		Long: `Tries every device that --device can name and lists those that work: the CPU with the vector
instructions in use, the PJRT plugins found, and their GPUs with memory. For a device that cannot be
opened it says what is missing. Nothing is downloaded.`,
		Example: "  vti devices",
		Args:    cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			answer, err := surveyDevices(plugin)
			if err != nil {
				return err
			}
			return a.Answer(asJSON, shell.Described{Schema: "devices", Object: answer}, func() { fmt.Fprint(a.Text, answer.text()) })
		},
	}
	cli.RegisterPlugin(cmd, &plugin)
	for _, name := range []string{"check", "benchmark"} {
		cmd.Flags().BoolFunc(name, "", func(string) error { return errors.New("another command does it: vtilab devices --" + name) })
		cmd.Flags().Lookup(name).Hidden = true
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "print one JSON object")
	return cmd
}

func surveyDevices(plugin string) (*devicesAnswer, error) {
	answer := &devicesAnswer{Command: "devices", Cards: gpu.Cards()}
	for _, listing := range gpu.List(plugin) {
		answer.Devices = append(answer.Devices, deviceLine{listing.Kind.String(), listing.Available, listing.Description, listing.Units})
	}
	device, err := gpu.OpenWith(gpu.Options{Plugin: plugin})
	if err != nil {
		return nil, err
	}
	defer device.Close()
	answer.Auto = device.Kind().String()
	return answer, nil
}

func (d *devicesAnswer) text() string {
	var text strings.Builder
	for _, line := range d.Devices {
		mark := ""
		if !line.Available {
			mark = "not available: "
		}
		if line.Device == d.Auto {
			mark = "(auto) "
		}
		description := strings.TrimPrefix(line.Description, "device "+line.Device+": ")
		fmt.Fprintf(&text, "%-8s %s%s\n", line.Device, mark, strings.ReplaceAll(description, "\n", "\n         "))
		for _, unit := range line.Units {
			fmt.Fprintf(&text, "         %s\n", unit)
		}
	}
	for _, card := range d.Cards {
		fmt.Fprintf(&text, "card     %s\n", card)
	}
	return text.String()
}
