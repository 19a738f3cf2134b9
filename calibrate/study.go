package calibrate

import (
	"bufio"
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

// ResultsFile is the name of the file with one line for each replicate in the directory of a study.
const ResultsFile = "results.jsonl"

// Source makes replicates.
type Source interface {
	// Name identifies the study; a study continues only under the same name.
	Name() string
	// Replicate draws a problem from a seed, answers it and compares. It may write to dir, where
	// nobody else works. Refusals and failures of the command are part of the replicate. The error
	// is the error of ctx, or one that makes the study useless.
	Replicate(ctx context.Context, seed uint64, dir string) (*Replicate, error)
}

// Config configures a study.
type Config struct {
	// Replicates is the number of replicates, at least 1.
	Replicates int
	// Seed is the root of the seeds of all replicates.
	Seed uint64
	// Dir is the directory of the study, which must exist.
	Dir string
	// Repeat is the command that draws one replicate again, without its number.
	Repeat string
	// Shard, if not nil, is the part of this process among several that draw the replicates; its
	// directory holds their pieces. Each ends when all replicates are drawn, but only a process
	// that works alone (Count 1) writes results.
	Shard *shard.Shard
	// Progress, if not nil, is called after each replicate.
	Progress func(done, total int, last *Replicate)

	work string // the directory that replicates may write to
}

// record is the first line of results.jsonl: the study of the other lines.
type record struct {
	Study string `json:"study"`
	Seed  uint64 `json:"seed"`
}

// Run draws replicates up to their number, counting replicates that an earlier run left in the
// directory, and returns all of them in order. If ctx is cancelled its error is returned, and
// another Run continues.
func Run(ctx context.Context, source Source, cfg Config) ([]*Replicate, error) {
	if cfg.Replicates < 1 {
		return nil, fmt.Errorf("replicates: got %d, want at least 1", cfg.Replicates)
	}
	path := filepath.Join(cfg.Dir, ResultsFile)
	header := record{source.Name(), cfg.Seed}
	var err error
	cfg.work = cfg.Dir
	if cfg.Shard != nil { // others work in the directory too
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

// sharedReplicates is the number of replicates that several processes share at a time. At the end
// of each group processes without work wait for the others, so that smaller groups waste more time.
const sharedReplicates = 256

// drawNext draws the next replicates together with other processes, or one without them.
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

// One draws one replicate of a study alone, and leaves its table in the directory.
func One(ctx context.Context, source Source, cfg Config, number int) (*Replicate, error) {
	cfg.work = cfg.Dir
	return replicate(ctx, source, cfg, number, true)
}

// replicate draws one replicate. Its table stays in dir with keep, or if the answer is wrong or
// missing.
func replicate(ctx context.Context, source Source, cfg Config, number int, keep bool) (*Replicate, error) {
	seed := stream.Seed(cfg.Seed, fmt.Sprintf("replicate/%d", number)) >> 16 // short enough to type
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

// appendLine writes a value as one line, at once.
func appendLine(file *os.File, value any) error {
	line, err := json.Marshal(value)
	if err != nil {
		return err
	}
	_, err = file.Write(append(line, '\n'))
	return err
}

// readResults reads the replicates of an earlier run; nil if there is none. With mend, for the one
// process that writes, it removes a last line that was cut off; others leave it.
func readResults(path string, want record, mend bool) ([]*Replicate, error) {
	file, err := os.OpenFile(path, os.O_RDWR, 0)
	if errors.Is(err, os.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	list, err := readLines(file, want, mend)
	if err != nil {
		err = fmt.Errorf("%s: %w", path, err)
	}
	return list, errors.Join(err, file.Close())
}

func readLines(file *os.File, want record, mend bool) ([]*Replicate, error) {
	cut := func(size int64) error {
		if !mend {
			return nil
		}
		return file.Truncate(size)
	}
	reader := bufio.NewReader(file)
	list := []*Replicate{}
	var whole int64 // bytes of the lines that are whole
	for number := 0; ; number++ {
		line, err := reader.ReadBytes('\n')
		if err != nil { // the end, perhaps within a line
			if number == 0 {
				return nil, cut(0)
			}
			return list, cut(whole)
		}
		if number == 0 {
			var found record
			if err := json.Unmarshal(line, &found); err != nil {
				return nil, fmt.Errorf("line 1: %w", err)
			}
			if found != want {
				return nil, fmt.Errorf("holds another study: got %q with seed %d, want %q with seed %d", found.Study, found.Seed, want.Study, want.Seed)
			}
		} else {
			r := &Replicate{}
			if err := json.Unmarshal(line, r); err != nil {
				return nil, fmt.Errorf("line %d: %w", number+1, err)
			}
			list = append(list, r)
		}
		whole += int64(len(line))
	}
}
