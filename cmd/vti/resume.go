package main

import (
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"reflect"
	"strings"

	"github.com/gomlx/gomlx/pkg/core/dtypes"
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/transdim/vti"
	"github.com/transdim/vti/gpu"
	"github.com/transdim/vti/varsel"
)

// recorded finds in a record what a flag asks for. Flags that are not here may be given to a
// resumed run freely.
var recorded = map[string]func(r *varsel.Record) any{
	"target":          func(r *varsel.Record) any { return r.Design.Target },
	"always":          func(r *varsel.Record) any { return r.Design.Always },
	"exclude":         func(r *varsel.Record) any { return r.Design.Exclude },
	"factor":          func(r *varsel.Record) any { return r.Design.Factors },
	"group":           func(r *varsel.Record) any { return r.Design.Groups },
	"offset":          func(r *varsel.Record) any { return r.Design.Offset },
	"no-intercept":    func(r *varsel.Record) any { return r.Design.NoIntercept },
	"no-standardize":  func(r *varsel.Record) any { return r.Design.NoStandardize },
	"na":              func(r *varsel.Record) any { return r.Design.NA },
	"drop-degenerate": func(r *varsel.Record) any { return r.Design.DropDegenerate },
	"likelihood":      func(r *varsel.Record) any { return r.Model.Likelihood },
	"sigma":           func(r *varsel.Record) any { return r.Model.Sigma },
	"sigma1":          func(r *varsel.Record) any { return [2]any{r.Model.Sigma1, r.Model.UnknownSigma1} },
	"sigma2":          func(r *varsel.Record) any { return r.Model.Sigma2 },
	"outlier":         func(r *varsel.Record) any { return r.Model.Outlier },
	"df":              func(r *varsel.Record) any { return r.Model.Degrees },
	"slab-scale":      func(r *varsel.Record) any { return r.Model.SlabScale },
	"model-prior": func(r *varsel.Record) any {
		prior := r.Model.Prior
		prior.MaxSize = 0 // a flag of its own
		return prior
	},
	"interactions": func(r *varsel.Record) any { return r.Design.Interactions },
	"heredity":     func(r *varsel.Record) any { return r.Model.Heredity },
	"max-size":     func(r *varsel.Record) any { return r.Model.Prior.MaxSize },
	"codes":        func(r *varsel.Record) any { return r.Model.Codes },
	"flow":         func(r *varsel.Record) any { return r.Flow },
	"layers":       func(r *varsel.Record) any { return r.Flow.Layers },
	"blocks":       func(r *varsel.Record) any { return r.Flow.Blocks },
	"hidden":       func(r *varsel.Record) any { return r.Flow.Hidden },
	"bins":         func(r *varsel.Record) any { return r.Flow.Bins },
	"sampler":      func(r *varsel.Record) any { return r.Sampler },
	"beta":         func(r *varsel.Record) any { return r.Surrogate.Beta },
	"utility":      func(r *varsel.Record) any { return r.Surrogate.Utility },
	"steps":        func(r *varsel.Record) any { return r.Steps },
	"batch":        func(r *varsel.Record) any { return r.Batch },
	"dtype": func(r *varsel.Record) any {
		if r.DType == dtypes.InvalidDType {
			return dtypes.Float32 // a record from before it was kept
		}
		return r.DType
	},
	"seed": func(r *varsel.Record) any { return r.Seed },
}

// contradictions lists the flags given whose value is not that of the record.
func contradictions(flags *pflag.FlagSet, asked, record *varsel.Record) (list []string) {
	// A family without sizes asks for no sizes.
	for _, size := range [][2]*int{
		{&asked.Flow.Layers, &record.Flow.Layers}, {&asked.Flow.Blocks, &record.Flow.Blocks},
		{&asked.Flow.Hidden, &record.Flow.Hidden}, {&asked.Flow.Bins, &record.Flow.Bins},
	} {
		if *size[0] == 0 {
			*size[0] = *size[1]
		}
	}
	flags.Visit(func(flag *pflag.Flag) {
		if of, ok := recorded[flag.Name]; ok && !reflect.DeepEqual(of(asked), of(record)) {
			list = append(list, fmt.Sprintf("--%s %s", flag.Name, flag.Value))
		}
	})
	return list
}

// resumedSelection reads a run directory and checks that it can go on; nothing is written.
func (a *app) resumedSelection(cmd *cobra.Command, args []string, asked *varsel.Record, f *varselFlags) (*varselJob, vti.Config, error) {
	fail := func(err error) (*varselJob, vti.Config, error) { return nil, vti.Config{}, err }
	record, err := varsel.ReadRecord(f.resume)
	if err != nil {
		return fail(err)
	}
	if record.Command != asked.Command {
		return fail(fmt.Errorf("%s is a run of vti %s, which cannot be resumed", f.resume, record.Command))
	}
	list := contradictions(cmd.Flags(), asked, record)
	if len(args) > 0 {
		if path, err := filepath.Abs(args[0]); err != nil || path != record.Data {
			list = append(list, "the table "+args[0])
		}
	}
	if f.output.out != "" {
		list = append(list, "--out "+f.output.out)
	}
	kind, err := gpu.ParseKind(record.Device)
	if err != nil {
		return fail(fmt.Errorf("%s: %w", filepath.Join(f.resume, varsel.RecordFile), err))
	}
	if f.output.device != gpu.Auto && f.output.device != kind {
		list = append(list, "--device "+f.output.device.String())
	}
	if len(list) > 0 {
		return fail(fmt.Errorf("%s: a resumed run takes everything from %s, which says otherwise than %s",
			f.resume, varsel.RecordFile, strings.Join(list, ", ")))
	}

	problem, err := record.Problem()
	if err != nil {
		return fail(err)
	}
	if cmd.Flags().Changed("certify-draws") { // no part of training
		record.Draws = f.certifyDraws
	}
	j := a.varselJobOf(record, problem, f.output)
	j.dir = f.resume
	config, err := record.FitConfig(problem)
	if err != nil {
		return fail(err)
	}
	if err := j.open(kind); err != nil {
		return fail(err)
	}
	config.Resume = true
	check := config
	check.Checkpoint = filepath.Join(f.resume, varsel.PosteriorFile)
	// A run killed before its first checkpoint starts again; any other checkpoint must be readable
	// and of this run.
	if _, err := vti.Load(j.device, problem.Posterior(), check); err != nil && !errors.Is(err, fs.ErrNotExist) {
		j.device.Close()
		return fail(err)
	}
	return j, config, nil
}
