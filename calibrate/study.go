package calibrate

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"github.com/transdim/vti/internal/stream"
	"github.com/transdim/vti/shard"
)

// ResultsFile is the name of the file in the directory of a study with a line for each replicate.
const ResultsFile = "results.jsonl"

// Source draws problems and answers them.
type Source interface {
	// Name identifies the study; a study continues only under the same name.
	Name() string
	// Replicate draws a problem with a seed, answers it, and compares the answer with the truth or
	// an exact one. It may write to dir, which no other replicate uses. If the command refuses or
	// fails, this is noted in the replicate. Replicate returns an error if ctx is cancelled, or for
	// a mistake that makes the whole study useless.
	Replicate(ctx context.Context, seed uint64, dir string) (*Replicate, error)
}

// Config holds the size, the seed and the directory of a study, a series of replicates.
type Config struct {
	// Replicates is the number of replicates, at least 1.
	Replicates int
	// Seed is the root of the seeds of all replicates.
	Seed uint64
	// Dir is the directory of the study, which must exist.
	Dir string
	// Repeat is the command line that draws one replicate again, without the number of the
	// replicate, which is its last word.
	Repeat string
	// Shard, if not nil, says which part of the replicates this process draws; other processes draw
	// the rest. The processes exchange replicates through files in the directory of the Shard. Each
	// process ends when all replicates are drawn, but writes no results. A later run with a single
	// process (Count 1) reads these files and writes the results.
	Shard *shard.Shard
	// Progress, if not nil, is called after each replicate.
	Progress func(done, total int, last *Replicate)

	work string // the directory that replicates may write to
}

// record is the first line of results.jsonl. It identifies the study.
type record struct {
	Study string `json:"study"`
	Seed  uint64 `json:"seed"`
}

// Run draws replicates until there are cfg.Replicates of them, and returns all in order. It counts
// replicates that an earlier run left in the directory. If ctx is cancelled, Run returns the error
// of ctx; another call of Run with the same directory then continues the study.
func Run(ctx context.Context, source Source, cfg Config) ([]*Replicate, error) {
	if cfg.Replicates < 1 {
		return nil, fmt.Errorf("replicates: got %d, want at least 1", cfg.Replicates)
	}
	path := filepath.Join(cfg.Dir, ResultsFile)
	header := record{source.Name(), cfg.Seed}
	var err error
	cfg.work = cfg.Dir
	if cfg.Shard != nil { // other processes work in the directory too
		if cfg.work, err = os.MkdirTemp(cfg.Dir, "shard-"); err != nil {
			return nil, err
		}
		defer os.RemoveAll(cfg.work)
	}
	merging := cfg.Shard == nil || cfg.Shard.Count == 1
	done, err := readResults(path, header, merging)
	if err != nil {
		return nil, err
	}
	var file *os.File
	if merging {
		if file, err = os.OpenFile(path, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o644); err != nil {
			return nil, err
		}
		defer file.Close()
		if done == nil {
			if err := appendLine(file, header); err != nil {
				return nil, err
			}
		}
	}
	for len(done) < cfg.Replicates {
		next, err := drawNext(ctx, source, cfg, len(done))
		if err != nil {
			return nil, err
		}
		for _, r := range next {
			if merging {
				if err := appendLine(file, r); err != nil {
					return nil, err
				}
			}
			done = append(done, r)
			if cfg.Progress != nil {
				cfg.Progress(len(done), cfg.Replicates, r)
			}
		}
	}
	return done, nil
}

// sharedReplicates is the number of replicates in a group that several processes share. At the end
// of a group all processes wait for the slowest one. Smaller groups would waste more time.
const sharedReplicates = 256

// drawNext draws the next group of replicates together with other processes, or a single replicate
// if this process works alone.
func drawNext(ctx context.Context, source Source, cfg Config, first int) ([]*Replicate, error) {
	numbers := []int{first}
	if cfg.Shard != nil {
		for number := first + 1; number < min(first+sharedReplicates, cfg.Replicates); number++ {
			numbers = append(numbers, number)
		}
	}
	lines, err := shard.Map(ctx, cfg.Shard, shard.Stage[int, []byte]{
		Name: source.Name(),
		Key:  func(w io.Writer, number int) { fmt.Fprintln(w, cfg.Seed, number) },
		Do: func(ctx context.Context, number int) ([]byte, error) {
			r, err := replicate(ctx, source, cfg, number, false)
			if err != nil {
				return nil, err
			}
			return json.Marshal(r)
		},
	}, numbers)
	if err != nil {
		return nil, err
	}
	list := make([]*Replicate, len(lines))
	for i, line := range lines {
		list[i] = &Replicate{}
		if err := json.Unmarshal(line, list[i]); err != nil {
			return nil, fmt.Errorf("replicate %d: %w", numbers[i], err)
		}
	}
	return list, nil
}

// One draws the replicate with the given number, and writes its table to cfg.Dir.
func One(ctx context.Context, source Source, cfg Config, number int) (*Replicate, error) {
	cfg.work = cfg.Dir
	return replicate(ctx, source, cfg, number, true)
}

// replicate draws one replicate. Its table stays in the directory if keep is set, or if the answer
// is wrong or missing.
func replicate(ctx context.Context, source Source, cfg Config, number int, keep bool) (*Replicate, error) {
	seed := stream.Seed(cfg.Seed, fmt.Sprintf("replicate/%d", number)) >> 16 // short enough to be typed
	r, err := source.Replicate(ctx, seed, cfg.work)
	if err != nil {
		return nil, fmt.Errorf("replicate %d: %w", number, err)
	}
	r.Number, r.Seed = number, seed
	if cfg.Repeat != "" {
		r.Repeat = fmt.Sprintf("%s %d", cfg.Repeat, number)
	}
	if r.table != nil && (keep || r.Verdict == broken || len(r.Wrong()) > 0) {
		err = os.WriteFile(filepath.Join(cfg.Dir, tableName(seed)), r.table, 0o644)
	}
	return r, err
}

func tableName(seed uint64) string { return fmt.Sprintf("table-%d.csv", seed) }

// appendLine writes a value as one line of JSON, in a single write.
func appendLine(file *os.File, value any) error {
	line, err := json.Marshal(value)
	if err != nil {
		return err
	}
	_, err = file.Write(append(line, '\n'))
	return err
}

// readResults reads the replicates of an earlier run, or returns nil if there was no earlier run.
// If mend is true it removes an incomplete last line. Only the process that writes the file may set
// mend.
func readResults(path string, want record, mend bool) (list []*Replicate, err error) {
	content, err := os.ReadFile(path)
	if errors.Is(err, os.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	lines := bytes.SplitAfter(content, []byte("\n"))
	last := len(lines) - 1 // the index of an incomplete line, or of an empty one
	for number, line := range lines[:last] {
		if number == 0 {
			var found record
			if err := json.Unmarshal(line, &found); err != nil {
				return nil, fmt.Errorf("%s: line 1: %w", path, err)
			}
			if found != want {
				return nil, fmt.Errorf("%s: holds another study: got %q with seed %d, want %q with seed %d", path, found.Study, found.Seed, want.Study, want.Seed)
			}
			list = []*Replicate{}
			continue
		}
		r := &Replicate{}
		if err := json.Unmarshal(line, r); err != nil {
			return nil, fmt.Errorf("%s: line %d: %w", path, number+1, err)
		}
		list = append(list, r)
	}
	if mend {
		err = os.Truncate(path, int64(len(content)-len(lines[last])))
	}
	return list, err
}
