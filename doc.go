// Package vti infers which model generated data, and with which parameters, by variational
// transdimensional inference: one normalizing flow q(θ | m) serves every model at once (CoSMIC
// flows), beside a distribution q(m) over models, and importance weights then turn both into
// certified answers.
//
// A user describes the problem as a [Target]: a space of models, their prior, and the log joint
// density of data and parameters as a GoMLX graph. [Fit] trains, [Posterior.Certify] checks and
// corrects.
//
//	posterior, err := vti.Fit(ctx, device, target, vti.Config{Seed: 1})
//	certificate, err := posterior.Certify(ctx, vti.CertifyConfig{})
//	fmt.Println(certificate.Verdict, certificate.LogEvidence)
//	for _, model := range certificate.Models {
//		fmt.Println(model.Code, model.Certified, model.LogEvidence)
//	}
//
// # Notation
//
//	code       m         model: one outcome per site                          [S]
//	mask       A(m)      which saturated coordinates a model uses             [D]
//	theta      θ_m, u    saturated parameters, reference noise where inactive [D]
//	z          z ~ ν     reference draw, standard normal                      [D]
//	logH       log h     log q(θ | m) − log η(θ | m) (eq. 9)
//
// Equation numbers are those of Davies, Mackinlay, Oliveira and Sisson, "Amortized Variational
// Transdimensional Inference" (2025). docs/method.md says where this implementation differs from
// it, and why.
package vti
