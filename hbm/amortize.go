package hbm

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"math"
	"strings"

	"github.com/gomlx/gomlx/pkg/core/dtypes"

	"github.com/transdim/vti/gpu"
	"github.com/transdim/vti/internal/apply"
	"github.com/transdim/vti/internal/checkpoint"
)

// template returns lines that describe a model without the sizes of its plates (such as groups).
func template(m *Model) (lines []string) {
	names := func(plates []*Plate) []string { return apply.To(plates, (*Plate).Name) }
	for _, p := range m.plates {
		above := apply.To(p.parents, func(parent *membership) *Plate { return parent.plate })
		lines = append(lines, fmt.Sprintf("plate %q in %q", p.name, names(above)))
	}
	for _, v := range m.variables {
		lines = append(lines, fmt.Sprintf("%s variable %q on %q of shape %v", v.role, v.name, names(v.plates), v.event))
	}
	return lines
}

// LoadAmortized opens a checkpoint of a Fit with Config.Amortize, and returns the posterior given
// data. The argument model is the model of this Fit, or differs from it only in sizes of plates.
// Only the fields Checkpoint and Seed of cfg are used. Other settings come from the checkpoint.
func LoadAmortized(device *gpu.Device, model *Model, data Values, cfg Config) (*Posterior, error) {
	if err := model.CheckData(data); err != nil {
		return nil, err
	}
	info, err := checkpoint.ReadInfo(cfg.Checkpoint)
	if err != nil {
		return nil, err
	}
	var fit struct {
		Flow  string `json:"flow"`
		Seed  uint64 `json:"seed"`
		DType string `json:"dtype"`
	} // as in the settings of vti.Config
	var stored familySettings
	err = json.Unmarshal(info.Settings, &fit)
	if _, text, ok := strings.Cut(fit.Flow, " "); err == nil && ok {
		err = json.Unmarshal([]byte(text), &stored)
	}
	if err != nil || stored.Family == "" {
		return nil, fmt.Errorf("%s: want a checkpoint of a fit of one model by this version of package hbm, got the settings %s", cfg.Checkpoint, info.Settings)
	}
	if stored.Amortize == 0 {
		return nil, fmt.Errorf("%s was trained on one data set, want a family trained for many (Config.Amortize)", cfg.Checkpoint)
	}
	if err := sameTemplate(stored.Template, model); err != nil {
		return nil, fmt.Errorf("%s was trained for data of another shape: %w", cfg.Checkpoint, err)
	}
	if cfg.Family, err = ParseFamily(stored.Family); err != nil {
		return nil, fmt.Errorf("%s: %w", cfg.Checkpoint, err)
	}
	if cfg.DType, err = dtypes.DTypeString(fit.DType); err != nil {
		return nil, fmt.Errorf("%s: %w", cfg.Checkpoint, err)
	}
	cfg.Encoding, cfg.Products, cfg.Encoder, cfg.Thin, cfg.Flow, cfg.Amortize = stored.Encoding, stored.Products, stored.Encoder, stored.Thin, stored.Flow, stored.Amortize
	draws := cfg.Seed
	cfg.Seed = fit.Seed // the flows of the family were made with this seed
	p, err := newPosterior(device, model, data, cfg.WithDefaults())
	if err != nil {
		return nil, err
	}
	p.config.Seed = draws
	if p.step, err = checkpoint.RestoreVariables(cfg.Checkpoint, p.graphs.Variables, info.Settings); err != nil {
		return nil, err
	}
	if p.family.reader() == nil {
		return nil, fmt.Errorf("%s: got family %v, which computes no encodings from data, want one that does", cfg.Checkpoint, cfg.Family)
	}
	return p, nil
}

// sameTemplate returns an error for the first difference between the template of a model (see the
// function template) and the argument want, another template. Densities are not compared.
func sameTemplate(want []string, m *Model) error {
	got := template(m)
	for i := range max(len(want), len(got)) {
		line := func(lines []string) string {
			if i < len(lines) {
				return lines[i]
			}
			return "nothing more"
		}
		if is, was := line(got), line(want); is != was {
			return fmt.Errorf("got %s, want %s", is, was)
		}
	}
	return nil
}

// fingerprint returns a digest of the values of variables that are not latent.
func fingerprint(m *Model, data Values) string {
	digest := sha256.New()
	for _, v := range m.variables {
		if v.role != Latent {
			bytes := []byte(v.name)
			for _, value := range data[v] {
				bytes = binary.LittleEndian.AppendUint64(bytes, math.Float64bits(value))
			}
			digest.Write(bytes)
		}
	}
	return fmt.Sprintf("%x", digest.Sum(nil)[:8])
}
