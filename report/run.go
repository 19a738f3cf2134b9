package report

import (
	"cmp"
	"encoding/csv"
	"errors"
	"fmt"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/transdim/vti/internal/draws"
	results "github.com/transdim/vti/internal/report"
	"github.com/transdim/vti/internal/rundir"
	"github.com/transdim/vti/likelihood"
	"github.com/transdim/vti/run"
)

// source holds the contents that the run directories of all applications share.
type source struct {
	dir      string
	page     Page
	header   run.Header
	settings map[string]string    // settings in the record of the run, by the paths of their fields
	trace    map[string][]float64 // the columns of the log of training, none if the run trained nothing
	draws    *draws.Draws         // nil before readDraws, or if the run stores no draws that a page can show
}

func open(dir string, page Page) (*source, error) {
	s := &source{dir: dir, page: page}
	var record map[string]any
	if err := rundir.ReadRecord(dir, &record); err != nil {
		return nil, err
	}
	if err := rundir.ReadRecord(dir, &s.header); err != nil {
		return nil, err
	}
	var err error
	if s.settings, err = results.Leaves(record, "command", "version", "started", "finished", "flags", "data", "fingerprint", "seconds"); err != nil {
		return nil, err
	}
	if s.trace, err = readTrace(filepath.Join(dir, rundir.TraceFile)); err != nil {
		return nil, err
	}
	return s, nil
}

// readDraws reads the draws of the posterior if the run stores any and the page can show their
// format.
func (s *source) readDraws() (err error) {
	if path := filepath.Join(s.dir, draws.ParquetFile); rundir.Exists(path) && !s.page.ownDraws {
		s.draws, err = draws.Read(path)
	}
	return err
}

// nonzero returns the draws of a coordinate, without the draws from models in which the coordinate
// is absent.
func (s *source) nonzero(coordinate int) (values []float64) {
	for i := range s.draws.Len() {
		if x := s.draws.Values(i)[coordinate]; x != 0 {
			values = append(values, x)
		}
	}
	return values
}

// readTrace reads the columns of the log of training, by name. It returns none if there is no log.
func readTrace(path string) (map[string][]float64, error) {
	file, err := os.Open(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	defer file.Close()
	rows, err := csv.NewReader(file).ReadAll()
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	columns := map[string][]float64{}
	for _, row := range rows[min(1, len(rows)):] {
		for k, cell := range row {
			x, err := strconv.ParseFloat(cell, 64)
			if err != nil {
				x = math.NaN()
			}
			columns[rows[0][k]] = append(columns[rows[0][k]], x)
		}
	}
	return columns, nil
}

// command returns the command line that repeats the run. It names the table without its folder.
func (s *source) command() string {
	words := []string{"vti", s.header.Command, rundir.Quoted(filepath.Base(s.header.Data))}
	flags := rundir.FlagWords(s.header.Flags, func(value string) string { return rundir.Quoted(withoutFolder(value)) },
		"out", "quiet", "json", "device", "pjrt-plugin", "resume") // flags of the output, the device and resuming
	return strings.ReplaceAll(strings.Join(append(words, flags...), " "), "=true", "")
}

// withoutFolder returns the last element of a path. Pages do not show folders, because they may be
// sent to other people.
func withoutFolder(value string) string {
	if filepath.IsAbs(value) {
		return filepath.Base(value)
	}
	return value
}

func (s *source) table() string {
	name := s.header.Data
	return name[strings.LastIndexAny(name, `/\`)+1:]
}

// kind returns the kind of likelihood of a selection of variables or a regression.
func (s *source) kind() likelihood.Kind {
	kind, err := likelihood.Parse(cmp.Or(s.settings["model.likelihood"], s.settings["frame.response"], s.settings["frame.likelihood"]))
	if err != nil {
		return likelihood.GaussianKind
	}
	return kind
}

func finite(values []float64) []float64 {
	return slices.DeleteFunc(slices.Clone(values), func(x float64) bool { return math.IsNaN(x) || math.IsInf(x, 0) })
}
