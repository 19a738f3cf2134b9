package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/gomlx/gomlx/pkg/core/dtypes"

	"github.com/transdim/vti/cmd/internal/shell"
	"github.com/transdim/vti/gpu"
	"github.com/transdim/vti/internal/document"
	"github.com/transdim/vti/internal/report"
	"github.com/transdim/vti/lab/devices"
)

// checkLine is the result of a check for one subject, such as one density, on one device.
type checkLine struct {
	Device  string `json:"device"`
	DType   string `json:"dtype"`
	Subject string `json:"subject"`
	// Differences holds, for each class of numbers, the largest difference from the reference,
	// relative to the larger of 1 and the reference. Tolerances holds the largest differences that
	// pass.
	Differences map[string]report.Number `json:"differences"`
	Tolerances  map[string]report.Number `json:"tolerances"`
	Agrees      bool                     `json:"agrees"`
	Error       string                   `json:"error,omitempty"`
}

// check compares devices with GoMLX's interpreter. If they disagree, the exit status is not 0.
func (d *deviceTest) check(ctx context.Context, a *shell.App) ([]checkLine, error) {
	shown := progress(a, d.quiet)
	defer shown.End()
	shown.Line("computing the reference", false)
	oracle, err := gpu.Open(gpu.Reference)
	if err != nil {
		return nil, err
	}
	defer oracle.Close()
	reference, err := devices.NewReference(ctx, oracle, devices.Steps)
	if err != nil {
		return nil, shell.Failed(err)
	}
	var lines []checkLine
	for _, kind := range d.kinds() {
		device, err := gpu.OpenWith(gpu.Options{Kind: kind, Plugin: d.plugin})
		if err != nil {
			return nil, err
		}
		for _, dtype := range devices.DTypes() {
			err = errors.Join(err, reference.Check(ctx, device, dtype, func(c devices.Comparison) {
				shown.Line(fmt.Sprintf("%s %s: %s", kind, strings.ToLower(dtype.String()), c.Subject), false)
				lines = addComparison(lines, kind, c)
			}))
		}
		device.Close()
		if err != nil {
			return nil, shell.Failed(err)
		}
	}
	for _, line := range lines {
		if !line.Agrees {
			a.Status = shell.StatusFailure
		}
	}
	return lines, nil
}

// addComparison adds a comparison to the last of lines if the subject, device and type agree, and
// to a new line otherwise.
func addComparison(lines []checkLine, kind gpu.Kind, c devices.Comparison) []checkLine {
	dtype := strings.ToLower(c.DType.String())
	last := len(lines) - 1
	if last < 0 || lines[last].Subject != c.Subject || lines[last].DType != dtype || lines[last].Device != kind.String() {
		lines = append(lines, checkLine{
			Device: kind.String(), DType: dtype, Subject: c.Subject, Agrees: true,
			Differences: map[string]report.Number{}, Tolerances: map[string]report.Number{},
		})
		last++
	}
	line := &lines[last]
	line.Agrees = line.Agrees && c.Agrees()
	if c.Err != nil {
		line.Error = c.Err.Error()
		return lines
	}
	line.Differences[c.Class.String()] = report.Number(c.Difference)
	line.Tolerances[c.Class.String()] = report.Number(c.Tolerance)
	return lines
}

// printCheck prints the table of a check.
func printCheck(w io.Writer, lines []checkLine) {
	rows := &document.Grid{}
	header := []string{"device", "<type", "<largest difference of"}
	for _, class := range devices.Classes() {
		header = append(header, class.String())
	}
	rows.Add(header...)
	for _, dtype := range devices.DTypes() {
		rows.Add(toleranceRow(dtype)...)
	}
	agree := 0
	var troubles strings.Builder
	for _, line := range lines {
		cells := []string{line.Device, line.DType, line.Subject}
		for _, class := range devices.Classes() {
			cell := ""
			if difference, ok := line.Differences[class.String()]; ok {
				if cell = fmt.Sprintf("%.1g", float64(difference)); difference > line.Tolerances[class.String()] {
					cell = "! " + cell
				}
			}
			cells = append(cells, cell)
		}
		switch {
		case line.Error != "":
			fmt.Fprintf(&troubles, "%s, %s, %s: %s\n", line.Device, line.DType, line.Subject, line.Error)
		case line.Agrees:
			agree++
		}
		rows.Add(cells...)
	}
	fmt.Fprintln(w)
	rows.Print(w)
	fmt.Fprintf(w, "\n%s%d of %d agree with the interpreter in float64; differences marked ! exceed the tolerance\n",
		troubles.String(), agree, len(lines))
}

// toleranceRow returns the row of a table with the tolerances for a float type.
func toleranceRow(dtype dtypes.DType) []string {
	cells := []string{"", strings.ToLower(dtype.String()), "tolerance"}
	tolerances := devices.Tolerances(dtype)
	for _, class := range devices.Classes() {
		cells = append(cells, fmt.Sprintf("%.1g", tolerances[class]))
	}
	return cells
}
