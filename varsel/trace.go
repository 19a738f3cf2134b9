package varsel

import (
	"bufio"
	"errors"
	"fmt"
	"io/fs"
	"math"
	"os"
	"strconv"
	"strings"

	"github.com/transdim/vti"
)

const traceHeader = "step,loss,entropy,gradient_norm,non_finite,skipped,steps_per_second\n"

// trace appends one row per report of a training run to a CSV file.
type trace struct {
	file *os.File
	loss float64 // of the last row; NaN when there is none
}

// openTrace starts a trace, or continues one: rows of steps after lastStep, and a last row cut short by a crash, are dropped.
func openTrace(path string, lastStep int) (*trace, error) {
	kept, loss := traceHeader, math.NaN()
	if lastStep > 0 {
		old, err := os.Open(path)
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return nil, err
		}
		if err == nil {
			defer old.Close()
			for lines := bufio.NewReader(old); ; {
				line, err := lines.ReadString('\n')
				if err != nil {
					break // the end, or a row without its newline
				}
				first, rest, _ := strings.Cut(line, ",")
				if step, err := strconv.Atoi(first); err == nil && step <= lastStep {
					kept += line
					second, _, _ := strings.Cut(rest, ",")
					if loss, err = strconv.ParseFloat(second, 64); err != nil {
						loss = math.NaN()
					}
				}
			}
		}
	}
	file, err := os.Create(path)
	if err != nil {
		return nil, err
	}
	if _, err := file.WriteString(kept); err != nil {
		return nil, errors.Join(err, file.Close())
	}
	return &trace{file, loss}, nil
}

// add writes one row.
func (t *trace) add(info vti.Info) error {
	t.loss = info.Loss
	_, err := fmt.Fprintf(t.file, "%d,%g,%g,%g,%d,%d,%.4g\n", info.Step, info.Loss, info.Entropy, info.GradientNorm,
		info.NonFinite, info.SkippedSteps, info.StepsPerSecond)
	return err
}

func (t *trace) close() error { return t.file.Close() }
