package draws

import (
	"fmt"
	"io"
	"math"
	"strconv"
	"strings"
)

// headerPrefix begins the first line of a file. The header follows it on that line.
const headerPrefix = "# vti_draws "

// writeCSV writes draws. It writes settings under the keys that readers of CmdStan files expect;
// save_warmup = 0 means that no row is a warm-up draw.
func writeCSV(w io.Writer, d *Draws) error {
	text, err := d.marshal()
	if err != nil {
		return err
	}
	method := "laplace"
	if d.Kind == Chains {
		method = "sample"
	}
	fmt.Fprintf(w, "%s%s\n# model = vti\n# method = %s\n# id = 1\n# seed = %d\n", headerPrefix, text, method, d.Seed)
	if d.Kind == Chains {
		fmt.Fprintf(w, "# algorithm = rjmcmc\n# num_warmup = %d\n# save_warmup = 0\n# thin = %d\n", d.BurnIn, max(1, d.Thin))
	}
	fmt.Fprintln(w, strings.Join(d.csvColumns(), ","))
	var line []byte
	for i := range d.Len() {
		line = appendNumber(line[:0], d.LogP[i])
		if d.Kind == Chains {
			line = strconv.AppendInt(append(line, ','), int64(d.Chain[i]), 10)
		} else {
			line = appendNumber(append(line, ','), d.LogQ[i])
		}
		if model := d.ModelNumber(d.Code(i)); math.IsNaN(model) {
			line = append(line, ",nan"...)
		} else {
			line = strconv.AppendInt(append(line, ','), int64(model), 10)
		}
		for _, outcome := range d.Code(i) {
			line = strconv.AppendInt(append(line, ','), int64(outcome), 10)
		}
		for _, v := range d.Values(i) {
			line = appendNumber(append(line, ','), v)
		}
		if _, err := w.Write(append(line, '\n')); err != nil {
			return err
		}
	}
	_, err = fmt.Fprintf(w, "# rows = %d\n", d.Len())
	return err
}

// appendNumber appends the shortest decimal text from which v can be read exactly.
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
