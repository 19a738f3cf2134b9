package run

import (
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"strconv"
	"strings"

	"github.com/transdim/vti"
)

const traceHeader = "step,loss,entropy,gradient_norm,non_finite,skipped,steps_per_second\n"

// trace writes a CSV file with one row for each report of training.
type trace struct {
	// loss is the loss in the last row; NaN if there are no rows.
	loss float64
	file *os.File // nil in a run without a directory
}

// openTrace starts a trace, or continues the trace in the file. It removes rows of steps after
// lastStep, and a last row that a crash cut short, by shortening the file. The remaining rows are
// not written again, so that they cannot be lost.
func openTrace(path string, lastStep int) (*trace, error) {
	file, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o644)
	if err != nil {
		return nil, err
	}
	kept, loss := 0, math.NaN()
	if lastStep > 0 {
		content, err := io.ReadAll(file)
		if err != nil {
			return nil, errors.Join(err, file.Close())
		}
		kept, loss = keptRows(string(content), lastStep)
	}
	err = file.Truncate(int64(kept))
	if err == nil {
		_, err = file.Seek(int64(kept), io.SeekStart)
	}
	if err == nil && kept == 0 {
		_, err = file.WriteString(traceHeader)
	}
	if err != nil {
		return nil, errors.Join(err, file.Close())
	}
	return &trace{loss, file}, nil
}

// keptRows returns the length in bytes of the part of content that ends with the last complete row
// of a step up to lastStep, and the loss in this row. The length is 0 if content is not a trace.
func keptRows(content string, lastStep int) (length int, loss float64) {
	loss = math.NaN()
	if !strings.HasPrefix(content, traceHeader) {
		return 0, loss
	}
	length = len(traceHeader)
	for line := range strings.Lines(content[length:]) {
		cells := strings.Split(line, ",")
		step, err := strconv.Atoi(cells[0])
		if err != nil || step > lastStep || !strings.HasSuffix(line, "\n") || len(cells) != strings.Count(traceHeader, ",")+1 {
			break
		}
		if loss, err = strconv.ParseFloat(cells[1], 64); err != nil {
			loss = math.NaN()
		}
		length += len(line)
	}
	return length, loss
}

func (t *trace) add(info vti.Info) error {
	t.loss = info.Loss
	if t.file == nil {
		return nil
	}
	_, err := fmt.Fprintf(t.file, "%d,%g,%g,%g,%d,%d,%.4g\n", info.Step, info.Loss, info.Entropy, info.GradientNorm,
		info.NonFinite, info.SkippedSteps, info.StepsPerSecond)
	return err
}

func (t *trace) close() error {
	if t.file == nil {
		return nil
	}
	return t.file.Close()
}
