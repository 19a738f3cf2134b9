package cli

import (
	"fmt"
	"maps"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// Renamed lets a command take flags by the names that they had before, with a note on standard
// error that says the new one. Old names are gone in the next version.
func Renamed(cmd *cobra.Command, lists ...map[string]string) {
	names := map[string]string{}
	for _, list := range lists {
		maps.Copy(names, list)
	}
	noted := map[string]bool{}
	cmd.Flags().SetNormalizeFunc(func(_ *pflag.FlagSet, name string) pflag.NormalizedName {
		now, old := names[name]
		if !old {
			return pflag.NormalizedName(name)
		}
		if !noted[name] {
			noted[name] = true
			fmt.Fprintf(cmd.ErrOrStderr(), "vti: --%s is now called --%s; the old name goes with the next version\n", name, now)
		}
		return pflag.NormalizedName(now)
	})
}

// FlowSizes are the names that the sizes of flows had.
var FlowSizes = map[string]string{"layers": "flow-layers", "blocks": "flow-blocks", "hidden": "flow-hidden", "bins": "flow-bins"}
