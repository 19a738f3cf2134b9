// Package answers has the commands on finished runs, whatever application they are of.
//
//	show.go         the answer again, and the list of runs
//	report.go       its page
//	predict.go      predictions of rows
//	effects.go      marginal means, contrasts and curves
//	check.go        how well runs describe and predict their tables: vti check and vti loo
//	refit.go        runs repeated without some rows
//	compare.go      two runs side by side
//	certify.go      certificates of more draws or chains, on one machine or many
//	export.go       draws as InferenceData
//	export_text.go  formats of single applications
package answers
