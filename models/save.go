package models

import (
	"cmp"
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/transdim/vti/internal/apply"
	"github.com/transdim/vti/internal/atomicfile"
	"github.com/transdim/vti/internal/draws"
	"github.com/transdim/vti/internal/english"
)

// These are the files that Save writes.
const (
	// DrawsParquet and DrawsCSV are the names of two files with the same equally weighted draws.
	// DrawsCSV has the format of CmdStan.
	DrawsParquet = draws.ParquetFile
	DrawsCSV     = draws.CSVFile
	// ModelsCSV is the name of a file with a row for each model.
	ModelsCSV = "models.csv"
)

// SaveConfig sets names, the number of draws and whether Save may replace files.
type SaveConfig struct {
	// Sites and Coordinates are the names of sites and of coordinates of theta; nil stands for
	// "site.1", … and "theta.1", ….
	Sites, Coordinates []string
	// Draws is the number of equally weighted draws; 0 stands for 10,000.
	Draws int
	// Seed is the random seed of the resampling.
	Seed uint64
	// Replace allows Save to replace the files that it writes. If it is false Save fails if one of
	// them exists.
	Replace bool
}

// Save writes the certified posterior to a directory, which it creates if need be: equally weighted
// draws in two formats (DrawsParquet, and DrawsCSV, which ArviZ and the R package posterior read)
// and the models with their probabilities and evidences (ModelsCSV). Each file is either whole or
// absent.
func (c *Certificate) Save(dir string, cfg SaveConfig) error {
	if c.Space == nil {
		return errors.New("models.Save: got a certificate that does not come from Certify")
	}
	cfg.Draws = cmp.Or(cfg.Draws, 10_000)
	header := draws.Header{
		Kind: draws.IID, Cards: c.Space.Cards(), Seed: cfg.Seed,
		Sites: orNumbered(cfg.Sites, "site", len(c.Space.Cards())), Coordinates: orNumbered(cfg.Coordinates, "theta", c.Space.Dim()),
	}
	if len(header.Sites) != len(header.Cards) || len(header.Coordinates) != c.Space.Dim() {
		return fmt.Errorf("models.Save: got names of %s and %s, want %d and %d", english.Count(len(header.Sites), "site"), english.Count(len(header.Coordinates), "coordinate"), len(header.Cards), c.Space.Dim())
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return fmt.Errorf("models.Save: %w", err)
	}
	for _, name := range []string{DrawsParquet, DrawsCSV, ModelsCSV} {
		if _, err := os.Lstat(filepath.Join(dir, name)); !cfg.Replace && !errors.Is(err, fs.ErrNotExist) {
			return fmt.Errorf("models.Save: %s: %w", filepath.Join(dir, name), errors.Join(fs.ErrExist, err))
		}
	}
	sample := c.Resample(cfg.Draws, cfg.Seed)
	file := &draws.Draws{Header: header}
	file.LogP, file.LogQ = sample.LogP, sample.LogQ
	for i, code := range sample.Codes {
		file.Codes = append(file.Codes, code...)
		file.Theta = append(file.Theta, sample.Theta.RawRowView(i)...)
	}
	if err := errors.Join(
		draws.WriteBoth(dir, file),
		atomicfile.Write(filepath.Join(dir, ModelsCSV), c.writeModels),
	); err != nil {
		return fmt.Errorf("models.Save: %w", err)
	}
	return nil
}

// writeModels writes a row for each model. A number that is not finite is an empty field.
func (c *Certificate) writeModels(w io.Writer) error {
	rows := [][]string{{"code", "q", "certified", "se", "log_evidence", "log_evidence_se", "khat", "draws"}}
	for _, model := range c.Models {
		outcomes := apply.To(model.Code, func(outcome int32) string { return strconv.Itoa(int(outcome)) })
		row := []string{strings.Join(outcomes, " ")}
		for _, value := range []float64{model.Q, model.Certified, model.SE, model.LogEvidence, model.LogEvidenceSE, model.KHat} {
			cell := ""
			if finite(value) {
				cell = strconv.FormatFloat(value, 'g', -1, 64)
			}
			row = append(row, cell)
		}
		rows = append(rows, append(row, strconv.Itoa(model.Draws)))
	}
	return csv.NewWriter(w).WriteAll(rows)
}

func orNumbered(names []string, prefix string, n int) []string {
	if names != nil {
		return names
	}
	return apply.UpTo(n, func(i int) string { return prefix + "." + strconv.Itoa(i+1) })
}
