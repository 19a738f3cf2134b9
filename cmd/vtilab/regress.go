package main

import (
	"fmt"
	"os"

	"github.com/spf13/cobra"

	"github.com/transdim/vti/lab/regress"
)

// regressCommand compares the answers of two builds.
func regressCommand() *cobra.Command {
	var binary, paired, against, out, only, data string
	command := &cobra.Command{
		Use:   "regress",
		Short: "Compare the answers of a build with those of another one",
		Long: `Runs the commands of lab/regress/runs.txt, in the root of the repository, and records verdicts,
probabilities, evidences and processor seconds. With --against it compares them with a record, and
with --paired with another binary that answers each command beside it. A number that differs by more
than four combined standard errors, a worse verdict and a wrong answer are listed, and the exit
status is 1.`,
		Example: `  vtilab regress --binary ./vti --paired ./vti-before
  vtilab regress --binary ./vti --against lab/regress/baseline.json --only varsel`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			scratch, err := os.MkdirTemp("", "regress")
			if err != nil {
				return err
			}
			defer os.RemoveAll(scratch)
			if _, err := os.Stat(data); err != nil {
				fmt.Fprintf(cmd.ErrOrStderr(), "no folder %s: runs that need it are left out\n", data)
				data = ""
			}
			before, now := regress.Record{}, regress.Record{}
			if against != "" {
				if before, err = regress.Read(against); err != nil {
					return err
				}
			}
			for _, run := range regress.Runs(only) {
				for _, side := range []struct {
					binary string
					record regress.Record
				}{{paired, before}, {binary, now}} {
					if side.binary == "" {
						continue
					}
					answer, ok, err := regress.Machine{Binary: side.binary, Data: data, Scratch: scratch}.Do(cmd.Context(), run)
					if err != nil {
						fmt.Fprintln(cmd.ErrOrStderr(), err)
					}
					if ok {
						side.record[run.Name] = answer
						fmt.Fprintf(cmd.ErrOrStderr(), "%-30s %-8s exit %d  %6.1f s\n", run.Name, answer.Verdict, answer.Exit, answer.CPU)
					}
				}
				if cmd.Context().Err() != nil {
					return cmd.Context().Err()
				}
			}
			if out != "" {
				if err := now.Write(out); err != nil {
					return err
				}
			}
			if against == "" && paired == "" {
				return nil
			}
			if only != "" {
				for name := range before {
					if _, ran := now[name]; !ran {
						delete(before, name)
					}
				}
			}
			comparison := regress.Compare(before, now)
			comparison.Print(cmd.OutOrStdout())
			if len(comparison.Differences) > 0 {
				return fmt.Errorf("%d answers differ", len(comparison.Differences))
			}
			return nil
		},
	}
	flags := command.Flags()
	flags.StringVar(&binary, "binary", "./vti", "the build")
	flags.StringVar(&paired, "paired", "", "another build, which answers beside it")
	flags.StringVar(&against, "against", "", "the record to compare with")
	flags.StringVar(&out, "out", "", "file for the record of the build")
	flags.StringVar(&only, "only", "", "only runs whose names contain this")
	flags.StringVar(&data, "data", "../shared/data", "the folder of shared data sets")
	return command
}
