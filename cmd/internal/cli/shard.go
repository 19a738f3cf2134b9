package cli

import (
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/transdim/vti/shard"
	"github.com/transdim/vti/study"
)

// Shards holds the flags of commands whose work can be split among processes that share a
// directory.
type Shards struct {
	part  string // "I/N"
	count int    // number of processes, if the scheduler of a cluster gives each its index
}

func (f *Shards) Register(cmd *cobra.Command) {
	flags := cmd.Flags()
	flags.StringVar(&f.part, "shard", "", "compute shard I of N, given as `I/N` with I from 0")
	flags.Var(Count(&f.count, 1), "shards", "number of shards; the scheduler gives the index of this one")
	cmd.MarkFlagsMutuallyExclusive("shard", "shards")
}

// Given reports whether the flags say that this process is one of several.
func (f *Shards) Given() bool { return f.part != "" || f.count > 0 }

// Own returns the part of the work of this process, as the flags or the scheduler of a cluster
// assign it. Without flags it returns nil: this process does all of the work.
func (f *Shards) Own() (*shard.Shard, error) {
	text, from := f.part, "--shard"
	if f.count > 0 {
		index, variable, found, err := study.FromScheduler()
		if err != nil {
			return nil, err
		}
		if !found {
			return nil, errors.New("--shards is for array jobs: neither SLURM_ARRAY_TASK_ID nor JOB_COMPLETION_INDEX is set; else --shard I/N")
		}
		text, from = fmt.Sprintf("%d/%d", index, f.count), variable
	}
	if text == "" {
		return &shard.Shard{Count: 1}, nil
	}
	s, err := study.ParseShard(text)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", from, err)
	}
	return &shard.Shard{Index: s.Index, Count: s.Step}, nil
}
