package studies

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/spf13/cobra"

	"github.com/transdim/vti/cmd/internal/cli"
	"github.com/transdim/vti/cmd/internal/shell"
	"github.com/transdim/vti/internal/rundir"
	"github.com/transdim/vti/study"
)

// Simulate returns the command vti simulate eqtl.
func Simulate(a *shell.App) *cobra.Command {
	var e study.Expression
	var out string
	cmd := &cobra.Command{
		Use:   "eqtl --out DIRECTORY",
		Short: "Simulate gene expressions and nearby markers",
		Long: `Writes expression.csv, a row a person with a column for every gene and every marker (SNP, 0 to 2
alleles, neighbours correlate); nearby.csv, the pairs of genes and markers near them; and truth.csv,
the markers that matter. Two genes in five have one or two. The same flags give the same files.`,
		Example: "  vti simulate eqtl --genes 100 --out .",
		Args:    cobra.NoArgs,
		RunE: func(*cobra.Command, []string) error {
			if out == "" {
				return errors.New("no directory was given: expected --out DIRECTORY")
			}
			for _, name := range []string{"expression.csv", "nearby.csv", "truth.csv"} {
				if path := filepath.Join(out, name); rundir.Exists(path) {
					return fmt.Errorf("%s exists already", path)
				}
			}
			if err := os.MkdirAll(out, 0o755); err != nil {
				return err
			}
			return e.Write(out)
		},
	}
	flags := cmd.Flags()
	flags.SortFlags = false
	flags.Var(cli.Count(&e.Genes, 1), "genes", "genes (default 2000)")
	flags.Var(cli.Count(&e.People, 3), "people", "rows (default 150)")
	flags.Var(cli.Count(&e.Nearby, 2), "nearby", "markers near a gene, an even number (default 8)")
	flags.Uint64Var(&e.Seed, "seed", 0, "random seed")
	flags.StringVarP(&out, "out", "o", "", "`directory` for the three files (required)")
	return cmd
}
