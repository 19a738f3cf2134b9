// Command vtilab measures vti: it compares builds, repeats published studies and checks devices.
package main

import (
	"context"
	"fmt"
	"os"
	"os/signal"

	"github.com/spf13/cobra"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	root := &cobra.Command{
		Use: "vtilab", Short: "Measure vti: compare builds, repeat published studies, check devices",
		SilenceUsage: true, SilenceErrors: true,
	}
	root.AddCommand(regressCommand())
	if err := root.ExecuteContext(ctx); err != nil {
		fmt.Fprintln(os.Stderr, "vtilab:", err)
		stop()
		os.Exit(1)
	}
}
