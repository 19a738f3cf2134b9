package calibrate

import (
	"context"

	"github.com/transdim/vti"
	"github.com/transdim/vti/gpu"
	"github.com/transdim/vti/table"
	"github.com/transdim/vti/varsel"
)

// InterceptSD is the prior standard deviation of an intercept of vti varsel, which no option sets.
// Its unit is the standard deviation of a continuous response, or 1 on the scale of the link
// function. It is written down again here so that an error in the tested program is not repeated.
const InterceptSD = 10

// VarselProblem is a table for vti varsel.
type VarselProblem = Problem[varsel.Record, *varsel.Problem, *varsel.Result]

// AnswerVarsel runs vti varsel on a problem in the directory dir, and compares the answer with the
// truth or an exact answer.
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
		if err == nil && record.From != "" { // the trained network (record.From) is not for such a table
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
