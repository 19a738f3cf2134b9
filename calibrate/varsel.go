package calibrate

import (
	"context"

	"github.com/transdim/vti"
	"github.com/transdim/vti/gpu"
	"github.com/transdim/vti/table"
	"github.com/transdim/vti/varsel"
)

// InterceptSD is the prior sd of an intercept in units of the response's sd or of the link. No
// option of vti varsel sets it; it is written down again so that an error in the program is not
// repeated here.
const InterceptSD = 10

// VarselProblem is a table for vti varsel.
type VarselProblem = Problem[varsel.Record, *varsel.Problem, *varsel.Result]

// AnswerVarsel runs vti varsel on a problem, and compares its answer. It works in dir.
func AnswerVarsel(ctx context.Context, device *gpu.Device, p *VarselProblem, seed uint64, dir string) (*Replicate, error) {
	record := p.Record
	record.Seed = seed
	return answer(ctx, p.About, p.CSV, seed, dir, p.command("varsel", seed), func(t *table.Table, work string) (*reply, error) {
		design, err := varsel.NewDesign(t, record.Design)
		if err != nil {
			return nil, refusal{err}
		}
		record.Model = record.Model.ForMany(len(design.Predictors), false)
		target, err := varsel.NewProblem(design, record.Model)
		if err != nil {
			return nil, refusal{err}
		}
		fit, err := record.FitConfig(target)
		if err == nil && record.From != "" { // a table that the network is not for
			err = target.CheckFrom(record.From)
		}
		if err != nil {
			return nil, refusal{err}
		}
		result, err := varsel.Run(ctx, device, target, varsel.RunConfig{
			Fit: fit, Certify: vti.CertifyConfig{Draws: record.Draws}, Dir: work, From: record.From, FromOnly: record.FromOnly,
			Precision: record.Precision, MaxTime: record.MaxTime(),
		})
		if err != nil {
			return nil, err
		}
		certificate := result.Certificate
		return p.checked(ctx, &reply{
			kind:    routed(record.Model.Likelihood, certificate.Basis, result.Steps),
			verdict: certificate.Verdict, reasons: certificate.Reasons, check: result.ModelCheck,
		}, target, result, work), nil
	})
}
