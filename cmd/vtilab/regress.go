package main

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strconv"

	"github.com/spf13/cobra"

	"github.com/transdim/vti/lab/regress"
)

// regressFlags holds the flags of vtilab regress.
type regressFlags struct {
	binary, paired, against, out, only, data string
	compare, times                           bool
	jobs, shift, most                        int
}

// regressCommand returns the command that compares the answers of two builds.
func regressCommand() *cobra.Command {
	var f regressFlags
	command := &cobra.Command{
		Use:   "regress",
		Short: "Compare the answers of two builds",
		Long: `Runs the commands in lab/regress/runs.txt with a build, in the root of the repository, and records
their verdicts, probabilities, evidences and processor seconds. A build is ./vti with ./vtilab
beside it, or ./vti-before with ./vtilab-before; without vtilab, the calibrations are left out.

--against compares the build with a record. --paired compares it with another build, which answers
each command beside it. --compare compares two records and runs nothing. The command lists numbers
that differ by more than four combined standard errors. Processor times can be compared only with
--paired, because they depend on the load of the machine.

The exit status is 1 if a number differs by more than chance allows, given how many numbers are
compared, and if a verdict is worse, or an answer is wrong or missing.`,
		Example: `  vtilab regress --binary ./vti --paired ./vti-before
  vtilab regress --binary ./vti --against lab/regress/baseline.json --only varsel
  vtilab regress --binary ./vti --out now.json
  vtilab regress --compare lab/regress/baseline.json now.json`,
		Args: cobra.MaximumNArgs(2),
		RunE: f.run,
	}
	flags := command.Flags()
	flags.StringVar(&f.binary, "binary", "./vti", "the build")
	flags.StringVar(&f.paired, "paired", "", "another build, which answers each command before it")
	flags.StringVar(&f.against, "against", "", "the record to compare with")
	flags.BoolVar(&f.compare, "compare", false, "compare the two records named, before and now, and run nothing")
	flags.StringVar(&f.out, "out", "", "file for the record of the build")
	flags.StringVar(&f.only, "only", "", "only runs whose names match this regular expression, and those that they need")
	flags.StringVar(&f.data, "data", "../shared/data", "the folder of shared data sets")
	flags.IntVar(&f.jobs, "jobs", 1, "runs at a time")
	flags.IntVar(&f.shift, "shift", 0, "number to add to every seed")
	flags.IntVar(&f.most, "most", 8, "largest number of differences of a run to print")
	flags.BoolVar(&f.times, "times", false, "print the processor seconds of every run")
	command.MarkFlagsMutuallyExclusive("paired", "against", "compare")
	return command
}

func (f *regressFlags) run(cmd *cobra.Command, args []string) error {
	if f.compare != (len(args) == 2) {
		return fmt.Errorf("got %d arguments, want two records with --compare and none without", len(args))
	}
	if f.compare {
		before, err := regress.Read(args[0])
		if err != nil {
			return err
		}
		now, err := regress.Read(args[1])
		if err != nil {
			return err
		}
		return f.print(cmd, before, now)
	}
	records, err := f.records(cmd)
	if err != nil {
		return err
	}
	now := records[len(records)-1]
	if f.out != "" {
		if err := now.Write(f.out); err != nil {
			return err
		}
	}
	switch {
	case f.paired != "":
		return f.print(cmd, records[0], now)
	case f.against == "":
		return nil
	}
	before, err := regress.Read(f.against)
	if err != nil {
		return err
	}
	for name := range before { // leaves out runs that the flags did not select, or whose data are missing
		if _, ran := now[name]; !ran {
			delete(before, name)
		}
	}
	return f.print(cmd, before, now)
}

// records computes the runs with one or two builds of the program, and returns their answers.
func (f *regressFlags) records(cmd *cobra.Command) ([]regress.Record, error) {
	only, err := regexp.Compile(f.only)
	if err != nil {
		return nil, err
	}
	scratch, err := os.MkdirTemp("", "regress")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(scratch)
	if _, err := os.Stat(f.data); err != nil {
		fmt.Fprintf(cmd.ErrOrStderr(), "no folder %s: runs that need it are left out\n", f.data)
		f.data = ""
	}
	var machines []regress.Machine
	for _, binary := range []string{f.paired, f.binary} {
		if binary == "" {
			continue
		}
		m := regress.Machine{Binary: binary, Data: f.data, Scratch: filepath.Join(scratch, strconv.Itoa(len(machines))), Shift: f.shift}
		if err := os.Mkdir(m.Scratch, 0o755); err != nil {
			return nil, err
		}
		machines = append(machines, m)
	}
	return regress.Make(cmd.Context(), regress.Runs(only), machines, f.jobs, func(machine int, run regress.Run, answer regress.Answer, err error) {
		fmt.Fprintf(cmd.ErrOrStderr(), "%-26s %-9s exit %d %7.2f s\n", run.Name, answer.Verdict, answer.Exit, answer.CPU)
		if err != nil {
			fmt.Fprintln(cmd.ErrOrStderr(), err)
		}
	})
}

func (f *regressFlags) print(cmd *cobra.Command, before, now regress.Record) error {
	c := regress.Compare(before, now)
	c.Print(cmd.OutOrStdout(), f.most, f.times)
	if n := c.Failures(); n > 0 {
		return fmt.Errorf("%d answers differ", n)
	}
	return nil
}
