package vti

import (
	"context"
	"time"

	"github.com/transdim/vti/gpu"
)

// Recertify certifies again the posterior that Fit or Solve left in cfg.Fit.Checkpoint, for the
// same target and configuration: with more draws or chains, and alone or as one of several
// processes (CertifyConfig.Shard). It trains nothing and writes nothing. With the CertifyConfig
// that Fit was followed by, the certificate is the same to the bit.
func Recertify(ctx context.Context, device *gpu.Device, target Target, cfg SolveConfig) (*Posterior, *Certificate, error) {
	cfg.Fit.Resume = true
	s := &solver{cfg: cfg, device: device, target: target, started: time.Now()}
	info, err := ReadCheckpointInfo(cfg.Fit.Checkpoint)
	if err != nil {
		return nil, nil, err
	}
	if len(info.plan) == 0 { // of Fit
		posterior, err := Load(device, target, cfg.Fit)
		if err != nil {
			return nil, nil, err
		}
		certificate, err := posterior.Certify(ctx, cfg.Certify)
		return posterior, certificate, err
	}
	s.cfg = s.cfg.withDefaults().forTarget(target)
	if err := s.open(ctx, true); err != nil {
		return nil, nil, err
	}
	posterior := s.t.posterior()
	s.cfg.Certify.byDraws, s.cfg.Certify.witnesses = s.plan.ByDraws, s.plan.Witnesses
	certificate, err := posterior.Certify(ctx, s.cfg.Certify)
	return posterior, certificate, err
}
