package calibrate

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/transdim/vti/internal/stream"
)

// ResultsFile is the name of the file with one line for each replicate in the directory of a study.
const ResultsFile = "results.jsonl"

// Source makes replicates.
type Source interface {
	// Name identifies what is drawn; a study goes on only with the same.
	Name() string
	// Replicate draws a problem from a seed, answers it and compares. It may write to dir, which is
	// that of the study. What the command refuses, or fails at, is part of the replicate; its error
	// is that of ctx, or one that makes the study useless.
	Replicate(ctx context.Context, seed uint64, dir string) (*Replicate, error)
}

// Config says how a study is run.
type Config struct {
	// Replicates is their number, at least 1.
	Replicates int
	// Seed is the root of the seeds of all replicates.
	Seed uint64
	// Dir is the directory of the study, which must exist.
	Dir string
	// Repeat is the command that draws one replicate again, up to its number.
	Repeat string
	// Progress, when set, is called after each replicate.
	Progress func(done, total int, last *Replicate)
}

// record is the first line of results.jsonl: what the rest belong to.
type record struct {
	Study string `json:"study"`
	Seed  uint64 `json:"seed"`
}

// Run draws replicates until there are as many as asked for, counting those that an earlier run
// left in the directory, and returns all of them in order. When ctx is cancelled its error is
// returned, and another Run goes on.
func Run(ctx context.Context, source Source, cfg Config) ([]*Replicate, error) {
	if cfg.Replicates < 1 {
		return nil, fmt.Errorf("replicates: got %d, want at least 1", cfg.Replicates)
	}
	path := filepath.Join(cfg.Dir, ResultsFile)
	header := record{source.Name(), cfg.Seed}
	done, err := readResults(path, header)
	if err != nil {
		return nil, err
	}
	file, err := os.OpenFile(path, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o644)
	if err != nil {
		return nil, err
	}
	if done == nil {
		if err := appendLine(file, header); err != nil {
			return nil, errors.Join(err, file.Close())
		}
	}
	for number := len(done); number < cfg.Replicates; number++ {
		r, err := replicate(ctx, source, cfg, number, false)
		if err != nil {
			return nil, errors.Join(err, file.Close())
		}
		if err := appendLine(file, r); err != nil {
			return nil, errors.Join(err, file.Close())
		}
		done = append(done, r)
		if cfg.Progress != nil {
			cfg.Progress(len(done), cfg.Replicates, r)
		}
	}
	return done, file.Close()
}

// One draws one replicate of a study alone, and leaves its table in the directory.
func One(ctx context.Context, source Source, cfg Config, number int) (*Replicate, error) {
	return replicate(ctx, source, cfg, number, true)
}

// replicate draws one replicate. Its table stays in the directory where keep says so, and where the
// answer is wrong or there is none.
func replicate(ctx context.Context, source Source, cfg Config, number int, keep bool) (*Replicate, error) {
	seed := stream.Seed(cfg.Seed, fmt.Sprintf("replicate/%d", number)) >> 16 // short enough to type
	r, err := source.Replicate(ctx, seed, cfg.Dir)
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

// tableName is the name of the file of a table.
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

// readResults reads the replicates of an earlier run; nil when there is none. A last line that was
// cut off is removed.
func readResults(path string, want record) ([]*Replicate, error) {
	file, err := os.OpenFile(path, os.O_RDWR, 0)
	if errors.Is(err, os.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	list, err := readLines(file, want)
	if err != nil {
		err = fmt.Errorf("%s: %w", path, err)
	}
	return list, errors.Join(err, file.Close())
}

func readLines(file *os.File, want record) ([]*Replicate, error) {
	reader := bufio.NewReader(file)
	list := []*Replicate{}
	var whole int64 // bytes of the lines that are whole
	for number := 0; ; number++ {
		line, err := reader.ReadBytes('\n')
		if err != nil { // the end, perhaps within a line
			if number == 0 {
				return nil, file.Truncate(0)
			}
			return list, file.Truncate(whole)
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
