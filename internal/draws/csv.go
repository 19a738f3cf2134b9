package draws

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"math"
	"strconv"
	"strings"
)

const (
	headerPrefix = "# vti_draws "
	rowsPrefix   = "# rows = " // ends the file, so that a truncated one is noticed
	maxLine      = 1 << 28     // bytes
)

type csvEncoder struct {
	out    *bufio.Writer
	header Header
	rows   int
	line   []byte
}

func newCSVEncoder(w io.Writer, h Header) (*csvEncoder, error) {
	e := &csvEncoder{out: bufio.NewWriterSize(w, 1<<16), header: h}
	text, err := h.marshal()
	if err != nil {
		return nil, err
	}
	// Settings under the keys that readers of CmdStan files look up. save_warmup = 0 says that
	// every row counts.
	method := "laplace"
	if h.Kind == Chains {
		method = "sample"
	}
	fmt.Fprintf(e.out, "%s%s\n# model = vti\n# method = %s\n# id = 1\n# seed = %d\n", headerPrefix, text, method, h.Seed)
	if h.Kind == Chains {
		fmt.Fprintf(e.out, "# algorithm = rjmcmc\n# num_warmup = %d\n# save_warmup = 0\n# thin = %d\n", h.BurnIn, max(1, h.Thin))
	}
	_, err = fmt.Fprintln(e.out, strings.Join(h.columns(CmdStanCSV), ","))
	return e, err
}

func (e *csvEncoder) write(b Batch) error {
	sites, dim := len(e.header.Cards), len(e.header.Coordinates)
	for i := range b.Len() {
		code := b.Codes[i*sites : (i+1)*sites]
		line := appendNumber(e.line[:0], b.LogP[i])
		if e.header.Kind == Chains {
			line = strconv.AppendInt(append(line, ','), int64(b.Chain[i]), 10)
		} else {
			line = appendNumber(append(line, ','), b.LogQ[i])
		}
		if model := e.header.model(code); math.IsNaN(model) {
			line = append(line, ",nan"...)
		} else {
			line = strconv.AppendInt(append(line, ','), int64(model), 10)
		}
		for _, outcome := range code {
			line = strconv.AppendInt(append(line, ','), int64(outcome), 10)
		}
		for _, v := range b.Theta[i*dim : (i+1)*dim] {
			line = appendNumber(append(line, ','), v)
		}
		e.line = append(line, '\n')
		if _, err := e.out.Write(e.line); err != nil {
			return err
		}
		e.rows++
	}
	return nil
}

// appendNumber spells v so that reading it gives v again.
func appendNumber(line []byte, v float64) []byte {
	switch {
	case math.IsNaN(v):
		return append(line, "nan"...)
	case math.IsInf(v, 1):
		return append(line, "inf"...)
	case math.IsInf(v, -1):
		return append(line, "-inf"...)
	}
	return strconv.AppendFloat(line, v, 'g', -1, 64)
}

func (e *csvEncoder) close() error {
	fmt.Fprintf(e.out, "%s%d\n", rowsPrefix, e.rows)
	return e.out.Flush()
}

// readCSV reads what csvEncoder wrote. Errors name the line.
func readCSV(r io.Reader) (*Draws, error) {
	scanner := bufio.NewScanner(r)
	scanner.Buffer(make([]byte, 1<<16), maxLine)
	var d *Draws
	var cells []float64 // nil until the row of column names
	line, rows := 0, -1
	fail := func(err error) (*Draws, error) { return nil, fmt.Errorf("line %d: %w", line, err) }
	for scanner.Scan() {
		line++
		text := scanner.Text()
		switch {
		case line == 1:
			header, ok := strings.CutPrefix(text, headerPrefix)
			if !ok {
				return fail(fmt.Errorf("not a file of draws: want it to begin with %q", headerPrefix))
			}
			h, err := unmarshalHeader(header)
			if err != nil {
				return fail(err)
			}
			d = &Draws{Header: h}
		case strings.HasPrefix(text, rowsPrefix):
			n, err := strconv.Atoi(text[len(rowsPrefix):])
			if err != nil {
				return fail(fmt.Errorf("want a number of rows, got %q", text))
			}
			rows = n
		case strings.HasPrefix(text, "#"):
		case rows >= 0:
			return fail(fmt.Errorf("want nothing after the line that begins with %q", rowsPrefix))
		case cells == nil:
			if err := d.equalColumns(CmdStanCSV, strings.Split(text, ",")); err != nil {
				return fail(err)
			}
			cells = make([]float64, 0, len(d.numbers()))
		default:
			if err := d.parseRow(text, cells); err != nil {
				return fail(err)
			}
		}
	}
	if err := scanner.Err(); err != nil {
		line++
		return fail(err)
	}
	if line == 0 {
		return nil, errors.New("the file is empty")
	}
	if rows < 0 {
		return fail(fmt.Errorf("the file ends without its line that begins with %q: it is truncated", rowsPrefix))
	}
	if rows != d.Len() {
		return fail(fmt.Errorf("want %d rows, got %d", rows, d.Len()))
	}
	return d, nil
}

// parseRow appends the draw in a line. cells is scratch.
func (d *Draws) parseRow(text string, cells []float64) error {
	columns := cap(cells)
	if n := strings.Count(text, ",") + 1; n != columns {
		return fmt.Errorf("want %d cells, got %d", columns, n)
	}
	for cell := range strings.SplitSeq(text, ",") {
		v, err := strconv.ParseFloat(cell, 64)
		if err != nil {
			return fmt.Errorf("column %s: want a number, got %q", d.columns(CmdStanCSV)[len(cells)], cell)
		}
		cells = append(cells, v)
	}
	return d.appendRow(cells[0], cells[1], cells[2], cells[3:])
}
