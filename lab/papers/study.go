package papers

import (
	"context"
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/transdim/vti/gpu"
	"github.com/transdim/vti/internal/picture"
	"github.com/transdim/vti/shard"
)

// Study is a figure or a table of a paper. It consists of cells: measurements that are made
// separately, each with a row in a CSV file.
type Study struct {
	// Paper and Name identify the study on the command line. Title is its title for readers.
	Paper, Name, Title string
	// Store is the name of the CSV file with a row for each cell. Figures with the same cells share
	// a file. Keys are the columns that identify a cell, and Values are the columns of its numbers.
	Store        string
	Keys, Values []string
	// Cells returns the cells of the study, in the order of the page.
	Cells func(l *Lab) ([]Cell, error)
	// header and lines make up the table on the page. pictures, if not nil, returns the pictures on
	// the page.
	header   []string
	lines    func(rows []Row) [][]string
	pictures func(rows []Row) []*picture.Picture
	// Claims returns the claims of the paper that the numbers must support, after any number of
	// training steps.
	Claims func(rows []Row) []Claim
	// Note is a text on the page that explains how the numbers differ from those in the paper.
	Note string
	// Missing, if not "", is the reason why the study cannot be run.
	Missing string
}

// Cell is one measurement of a study.
type Cell struct {
	Key     []string // values of the columns Study.Keys
	Measure func(ctx context.Context) (values []string, err error)
}

// Claim is a claim about a result. If Equal is false, the claim is that a difference is positive,
// and Z is this difference in standard errors. If Equal is true, the claim is that a number equals
// the number of the paper, and Z is the difference between the two in standard errors.
type Claim struct {
	Text  string
	Z     float64
	Equal bool
}

// claimZ is the value of Z from which on a difference counts as positive, and the |Z| above which
// two numbers count as different. By chance alone, a difference counts as positive in 3 of 100,000
// runs, and two equal numbers count as different in 6.
const claimZ = 4

// Holds reports whether the numbers show the claim.
func (c Claim) Holds() bool {
	if c.Equal {
		return math.Abs(c.Z) <= claimZ
	}
	return c.Z >= claimZ
}

// Lab holds the device, the directory and the size of measurements.
type Lab struct {
	// Device is the device on which cells are measured.
	Device *gpu.Device
	// Dir is the directory of the CSV files, one for each Study.Store.
	Dir string
	// Own is the share of the work that this process does, if several processes measure a study.
	Own *shard.Shard
	// Quick makes studies small enough for tests that run with every change.
	Quick bool
	// Steps and DataSets, if not 0, replace the numbers of the settings.
	Steps, DataSets int
	// Width, if not 0, replaces the width of the networks of exchangeable data sets.
	Width int
	// Only, if not nil, selects the cells to measure: it must match the cell's keys, joined by
	// spaces.
	Only *regexp.Regexp
	// Status is called with a description of each cell before it is measured.
	Status func(text string)
}

// Row holds the settings and the results of one fit of a study, by the names of the columns.
type Row map[string]string

// number returns the number in a column, or NaN if there is none.
func (r Row) number(column string) float64 {
	value, err := strconv.ParseFloat(r[column], 64)
	if err != nil {
		return nan
	}
	return value
}

// cpuColumn is the column with the processor seconds of a cell.
const cpuColumn = "cpu_seconds"

func (s *Study) columns() []string { return append(slices.Concat(s.Keys, s.Values), cpuColumn) }

func (s *Study) path(dir string) string { return filepath.Join(dir, s.Store+".csv") }

// Read returns the rows of the CSV file in dir. Of several rows of a cell, it returns the first.
func (s *Study) Read(dir string) ([]Row, error) {
	file, err := os.Open(s.path(dir))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	defer file.Close()
	lines, err := csv.NewReader(file).ReadAll()
	if err != nil {
		return nil, fmt.Errorf("%s: %w", file.Name(), err)
	}
	if len(lines) == 0 || !slices.Equal(lines[0], s.columns()) {
		return nil, fmt.Errorf("%s: got other columns than %s %s has: want %q", file.Name(), s.Paper, s.Name, s.columns())
	}
	var rows []Row
	seen := map[string]bool{}
	for _, line := range lines[1:] {
		row := Row{}
		for i, column := range lines[0] {
			row[column] = line[i]
		}
		if name := strings.Join(line[:len(s.Keys)], " "); !seen[name] {
			seen[name] = true
			rows = append(rows, row)
		}
	}
	return rows, nil
}

// begin creates the CSV file with its header, unless the file exists. The file appears with its
// complete header, so that another process neither reads a file without a header nor writes a
// second header.
func (s *Study) begin(dir string) error {
	if _, err := os.Stat(s.path(dir)); !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	file, err := os.CreateTemp(dir, "."+s.Store+"-")
	if err != nil {
		return err
	}
	defer os.Remove(file.Name())
	_, err = io.WriteString(file, record(s.columns()))
	if err = errors.Join(err, file.Chmod(0o644), file.Close()); err != nil {
		return err
	}
	if err = os.Link(file.Name(), s.path(dir)); errors.Is(err, fs.ErrExist) {
		return nil // another process has created the file
	}
	return err
}

// append adds a row to the file in one write, so that processes can share it.
func (s *Study) append(dir string, line []string) error {
	if err := s.begin(dir); err != nil {
		return err
	}
	file, err := os.OpenFile(s.path(dir), os.O_APPEND|os.O_WRONLY, 0)
	if err != nil {
		return err
	}
	_, err = io.WriteString(file, record(line))
	return errors.Join(err, file.Close())
}

// record returns fields as a line of CSV.
func record(fields []string) string {
	var text strings.Builder
	w := csv.NewWriter(&text)
	_ = w.Write(fields) // writing to a Builder cannot fail
	w.Flush()
	return text.String()
}

// key returns the values of the columns Keys of a row.
func (s *Study) key(row Row) []string {
	var key []string
	for _, column := range s.Keys {
		key = append(key, row[column])
	}
	return key
}

// Run measures the cells that have no row in the CSV file yet, and returns the rows of the study.
func (s *Study) Run(ctx context.Context, l *Lab) ([]Row, error) {
	if s.Missing != "" {
		return nil, fmt.Errorf("%s %s cannot be run: %s", s.Paper, s.Name, s.Missing)
	}
	cells, err := s.Cells(l)
	if err != nil {
		return nil, err
	}
	if l.Only != nil {
		cells = slices.DeleteFunc(cells, func(c Cell) bool { return !l.Only.MatchString(strings.Join(c.Key, " ")) })
	}
	if len(cells) == 0 {
		return nil, fmt.Errorf("--only %s: no cell of %s %s", l.Only, s.Paper, s.Name)
	}
	there, err := s.Read(l.Dir)
	if err != nil {
		return nil, err
	}
	known := map[string]bool{}
	for _, row := range there {
		known[strings.Join(s.key(row), " ")] = true
	}
	left := slices.DeleteFunc(slices.Clone(cells), func(c Cell) bool { return known[strings.Join(c.Key, " ")] })
	if _, err := shard.Map(ctx, l.Own, shard.Stage[Cell, []string]{
		Name: s.Store,
		Key:  func(w io.Writer, c Cell) { fmt.Fprintf(w, "%q", c.Key) },
		Do: func(ctx context.Context, c Cell) ([]string, error) {
			l.Status(s.Store + ": " + strings.Join(c.Key, " "))
			before := cpuSeconds()
			values, err := c.Measure(ctx)
			if err != nil {
				return nil, fmt.Errorf("%s: %w", strings.Join(c.Key, " "), err)
			}
			line := append(slices.Concat(c.Key, values), text(cpuSeconds()-before, 1))
			return line, s.append(l.Dir, line)
		},
	}, left); err != nil {
		return nil, err
	}
	rows, err := s.Read(l.Dir)
	return slices.DeleteFunc(rows, func(row Row) bool {
		return !slices.ContainsFunc(cells, func(c Cell) bool { return slices.Equal(c.Key, s.key(row)) })
	}), err
}

// text returns a number with the given decimals.
func text(value float64, decimals int) string { return strconv.FormatFloat(value, 'f', decimals, 64) }
