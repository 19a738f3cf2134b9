package cli

import (
	"encoding/csv"
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/transdim/vti/gpu"
	"github.com/transdim/vti/internal/report"
	"github.com/transdim/vti/internal/rundir"
	runs "github.com/transdim/vti/run"
)

// All commands treat --resume alike: a resumed run takes all settings from its record. The table
// and flags may be given again, for example if --resume is added to the command line that began the
// run, but they must agree with the record. A few flags do not change the computation and may have
// any value.

// RegisterResume adds --resume to a command.
func (f *Output) RegisterResume(cmd *cobra.Command) {
	Group(cmd, OutputGroup, func() {
		cmd.Flags().StringVar(&f.Resume, "resume", "", "continue the run in `directory`; needs no TABLE and no other flag")
	})
	if err := cmd.MarkFlagDirname("resume"); err != nil {
		panic("registerResume: " + err.Error()) // no such flag
	}
}

// RegisterCertifyDraws adds --certify-draws to a command.
func RegisterCertifyDraws(cmd *cobra.Command, value *int, usage string) {
	Group(cmd, "Certification", func() {
		cmd.Flags().Var(Count(value, 1), "certify-draws", "draws of certification, "+usage+"; with --resume a trained run is certified again")
	})
}

// free lists the flags that may be given with --resume and need not agree with the record.
var free = []string{"resume", "json", "quiet", "pjrt-plugin", "steps-per-launch", "certify-draws", "max-time", "stack"}

// Record is the description of a run that is stored with it. It contains a header.
type Record interface{ Head() *runs.Header }

// Flags is implemented by the flags of a command that makes runs whose records have type R.
type Flags[R Record] interface {
	// Register adds the flags to the command.
	Register(cmd *cobra.Command)
	// Describe returns the record that the flags ask for, without its header.
	Describe(flags *pflag.FlagSet) (R, error)
	// Common returns the flags that all commands with run directories have.
	Common() *Output
}

// CheckResume checks the flags given with --resume against the record of the run to resume. The
// function fresh returns the flags of the same command at their defaults.
func CheckResume[R Record](cmd *cobra.Command, args []string, record R, output *Output, fresh func() Flags[R]) error {
	dir, header := output.Resume, record.Head()
	if command := CommandName(cmd); header.Command != command {
		return fmt.Errorf("%s is a run of vti %s, which cannot be resumed by vti %s", dir, header.Command, command)
	}
	list, err := contradictions(cmd.Flags(), record, fresh)
	if err != nil {
		return err
	}
	if len(args) > 0 {
		if path, err := filepath.Abs(args[0]); err != nil || path != header.Data {
			list = append(list, "the table "+args[0])
		}
	}
	if output.Out != "" {
		list = append(list, "--out "+output.Out)
	}
	if output.Device != gpu.Auto && output.Device.String() != header.Device {
		list = append(list, "--device "+output.Device.String())
	}
	if len(list) > 0 {
		return fmt.Errorf("%s: a resumed run takes everything from %s, which says otherwise than %s: leave out what differs",
			dir, rundir.RecordFile, strings.Join(list, ", "))
	}
	return nil
}

// CommandName returns the name of a command as it is stored in records, such as "rjmcmc varsel".
func CommandName(cmd *cobra.Command) string {
	_, name, _ := strings.Cut(cmd.CommandPath(), " ")
	return name
}

// contradictions returns the given flags that contradict the record of the run. To check a flag, it
// computes the record that the flags of the original command line give, and the record that these
// flags give together with this flag. In every field in which the two records differ, the second
// must agree with the record of the run.
func contradictions[R Record](flags *pflag.FlagSet, record R, fresh func() Flags[R]) (list []string, err error) {
	header := record.Head()
	stored, err := Leaves(record)
	if err != nil {
		return nil, err
	}
	asked := func(flags map[string][]string) (map[string]string, error) {
		cmd, defaults := &cobra.Command{}, fresh()
		defaults.Register(cmd)
		if err := setFlags(cmd.Flags(), flags); err != nil {
			return nil, err
		}
		record, err := defaults.Describe(cmd.Flags())
		if err != nil {
			return nil, err
		}
		return Leaves(record)
	}
	before, err := asked(header.Flags)
	if err != nil {
		before = nil // no flag can be compared with a record of another version
	}
	flags.Visit(func(flag *pflag.Flag) {
		if slices.Contains(free, flag.Name) || flag.Name == "out" || flag.Name == "device" {
			return
		}
		flags := maps.Clone(header.Flags)
		if flags == nil {
			flags = map[string][]string{}
		}
		flags[flag.Name] = flagValues(flag)
		after, err := asked(flags)
		agrees := err == nil && before != nil && len(header.Flags) > 0
		for _, path := range slices.Concat(slices.Collect(maps.Keys(before)), slices.Collect(maps.Keys(after))) {
			if before[path] != after[path] && after[path] != stored[path] {
				agrees = false
			}
		}
		if !agrees {
			list = append(list, fmt.Sprintf("--%s %s", flag.Name, flag.Value))
		}
	})
	return list, nil
}

// GivenFlags returns the values of the flags given on a command line, by name. A list has a value
// for each element.
func GivenFlags(flags *pflag.FlagSet) map[string][]string {
	values := map[string][]string{}
	flags.Visit(func(flag *pflag.Flag) { values[flag.Name] = flagValues(flag) })
	return values
}

func flagValues(flag *pflag.Flag) []string {
	if list, ok := flag.Value.(pflag.SliceValue); ok {
		return list.GetSlice()
	}
	return []string{flag.Value.String()}
}

// Listed returns values of a flag as one text, in which commas separate them.
func Listed(values ...string) string {
	var line strings.Builder
	w := csv.NewWriter(&line)
	_ = w.Write(values) // writing to memory does not fail
	w.Flush()
	return strings.TrimSuffix(line.String(), "\n")
}

func setFlags(flags *pflag.FlagSet, values map[string][]string) error {
	for name, value := range values {
		flag := flags.Lookup(name)
		if flag == nil || len(value) == 0 {
			return fmt.Errorf("no flag --%s", name)
		}
		if list, ok := flag.Value.(pflag.SliceValue); ok {
			if err := list.Replace(value); err != nil {
				return err
			}
			flag.Changed = true
			continue
		}
		if err := flags.Set(name, value[0]); err != nil {
			return err
		}
	}
	return nil
}

// Leaves returns the numbers and texts of a record by their paths in its JSON. The header, which
// does not describe the computation, is left out.
func Leaves(record any) (map[string]string, error) {
	return report.Leaves(record, "command", "version", "started", "finished", "flags", "data", "fingerprint", "device", "backend", "seconds")
}
