package varsel

import (
	"bytes"
	"encoding/json"
	"fmt"

	"github.com/transdim/vti"
	"github.com/transdim/vti/amortize"
	"github.com/transdim/vti/gpu"
)

// ReadFamily reads the file of a network. It returns the family, the set of tables that the network
// is trained for, and the settings of the network.
func ReadFamily(path string) (*Family, *amortize.Settings, error) {
	settings, err := amortize.Read(path)
	if err != nil {
		return nil, nil, err
	}
	var cfg FamilyConfig
	decoder := json.NewDecoder(bytes.NewReader(settings.Family))
	decoder.DisallowUnknownFields()
	if err := decoder.Decode(&cfg); err != nil {
		return nil, nil, fmt.Errorf("%s: not a network of vti amortize varsel: %w", path, err)
	}
	if cfg.Start != startOfNetworks {
		return nil, nil, fmt.Errorf("%s: another version of vti trained this network, from other approximations (got start %d, want %d): train it again", path, cfg.Start, startOfNetworks)
	}
	family, err := NewFamily(cfg)
	if err != nil {
		return nil, nil, fmt.Errorf("%s: %w", path, err)
	}
	return family, settings, nil
}

// CheckFrom returns an error if the network in the file at path does not fit the problem.
func (p *Problem) CheckFrom(path string) error {
	family, _, err := ReadFamily(path)
	if err == nil {
		if err = family.Fits(p); err != nil {
			err = fmt.Errorf("%s: %w", path, err)
		}
	}
	return err
}

// BeginFrom returns the answer of the network in the file at path, from which a fit may start.
func (p *Problem) BeginFrom(device *gpu.Device, path string) (*vti.Beginning, error) {
	family, _, err := ReadFamily(path)
	if err != nil {
		return nil, err
	}
	data, place, err := family.Problem(p)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	if family.each {
		p.anchors = newModelAnchors(p.Target)
	}
	network, err := amortize.Load(device, family, data, path)
	if err != nil {
		return nil, err
	}
	return network.Beginning(data, p.Target.Space(), place)
}
