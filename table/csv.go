package table

import (
	"bytes"
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"math"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/transdim/vti/internal/apply"
	"github.com/transdim/vti/internal/english"
)

var missingTokens = map[string]bool{"": true, "NA": true, "NaN": true, "nan": true, "null": true, ".": true}

func (t *Table) parseCSV(content []byte) error {
	content, err := cleanText(content)
	if err != nil {
		return err
	}
	content, skipped := skipPreamble(content)
	if len(content) == 0 {
		return errors.New("the file is empty; want a table with a header row")
	}
	records, lines, bare, err := readRecords(content, skipped)
	if err != nil {
		return err
	}
	header := records[0]
	for j, name := range header {
		header[j] = oneLine(name)
	}
	if err := checkHeader(header, lines[0]); err != nil {
		return err
	}
	for i, record := range records[1:] {
		if len(record) != len(header) {
			return fmt.Errorf("line %d: got %s, want %d as in the header", lines[i+1], english.Count(len(record), "cell"), len(header))
		}
	}
	if len(records) == 1 {
		return errors.New("no data rows after the header")
	}
	if err := checkSpaceSeparated(records); err != nil {
		return err
	}
	t.places = lines[1:]
	commas := separator(content) != ',' && decimalCommas(records[1:])
	cells := make([]string, len(t.places))
	for j, name := range header {
		for i, record := range records[1:] {
			cells[i] = record[j]
		}
		// A column of quoted numbers holds labels, unless every cell of the file is in quotes.
		t.columns = append(t.columns, typedColumn(name, cells, t.places, len(bare) > 0 && !bare[j], commas))
	}
	return nil
}

// cleanText checks that content is text. It removes a byte order mark and normalises line ends.
func cleanText(content []byte) ([]byte, error) {
	for _, mark := range []string{"\xff\xfe", "\xfe\xff"} {
		if bytes.HasPrefix(content, []byte(mark)) {
			return nil, errors.New("not a table: the file is UTF-16 text; save it as UTF-8")
		}
	}
	for mark, explanation := range map[string]string{
		"\x1f\x8b":   "the file is compressed by gzip; unpack it",
		"PK\x03\x04": "the file is a zip archive or a workbook, such as of Excel; save the sheet as CSV",
	} {
		if bytes.HasPrefix(content, []byte(mark)) {
			return nil, errors.New("not a table: " + explanation)
		}
	}
	content = bytes.TrimPrefix(content, []byte("\xef\xbb\xbf"))
	binary := func(r rune) bool { return r < ' ' && r != '\t' && r != '\n' && r != '\r' }
	if i := bytes.IndexFunc(content, binary); i >= 0 {
		return nil, fmt.Errorf("not a table: binary content (byte %#02x in line %d); want CSV text or Parquet", content[i], lineAt(content, i))
	}
	for i := 0; i < len(content); {
		r, size := utf8.DecodeRune(content[i:])
		if r == utf8.RuneError && size == 1 {
			return nil, fmt.Errorf("not a table: line %d is not UTF-8 text (byte %#02x); want UTF-8 CSV text or Parquet", lineAt(content, i), content[i])
		}
		i += size
	}
	if start := bytes.TrimSpace(content); bytes.HasPrefix(start, []byte("<")) || bytes.HasPrefix(start, []byte("{")) {
		return nil, fmt.Errorf("not a table: it starts with %q like HTML or JSON; want CSV text or Parquet", start[0])
	}
	if !bytes.ContainsRune(content, '\n') { // old Mac programs end lines with a carriage return
		content = bytes.ReplaceAll(content, []byte("\r"), []byte("\n"))
	}
	return content, nil
}

func lineAt(content []byte, offset int) int { return 1 + bytes.Count(content[:offset], []byte("\n")) }

// skipPreamble drops blank lines and lines that begin with '#' before the header, and returns their
// number.
func skipPreamble(content []byte) ([]byte, int) {
	for skipped := 0; ; skipped++ {
		line, rest, _ := bytes.Cut(content, []byte("\n"))
		trimmed := bytes.TrimSpace(line)
		if len(content) == 0 || len(trimmed) > 0 && trimmed[0] != '#' {
			return content, skipped
		}
		content = rest
	}
}

// readRecords splits the text into records, the header first. The result lines holds the lines of
// the file at which the records begin. The result bare says which columns have, below the header, a
// cell that is neither quoted nor missing.
func readRecords(content []byte, skipped int) (records [][]string, lines []int, bare map[int]bool, err error) {
	ends := append([]int{-1}, apply.Where(len(content), func(i int) bool { return content[i] == '\n' })...) // of the lines before
	bare = map[int]bool{}
	reader := csv.NewReader(bytes.NewReader(content))
	reader.Comma = separator(content)
	reader.FieldsPerRecord = -1 // the caller reports records of unequal length
	for {
		record, err := reader.Read()
		if err == io.EOF {
			return records, lines, bare, nil
		}
		if err != nil {
			var bad *csv.ParseError
			if errors.As(err, &bad) {
				return nil, nil, nil, fmt.Errorf("line %d: %w (quotes inside a cell are doubled, and the cell is quoted)", skipped+bad.Line, bad.Err)
			}
			return nil, nil, nil, err
		}
		line, _ := reader.FieldPos(0)
		for i := range record {
			record[i] = strings.TrimSpace(record[i])
		}
		if len(records) > 0 && len(records[0]) > 1 && len(record) == 1 && record[0] == "" {
			continue // skips a line that has only spaces
		}
		for j, cell := range record {
			if len(records) > 0 && !bare[j] && !missingTokens[cell] {
				if line, column := reader.FieldPos(j); content[ends[line-1]+column] != '"' {
					bare[j] = true
				}
			}
		}
		records, lines = append(records, record), append(lines, skipped+line)
	}
}

// separator returns the most frequent of comma, semicolon and tab outside quotes in the first line.
func separator(content []byte) rune {
	counts := make(map[byte]int)
	quoted := false
	for _, b := range content {
		if b == '"' {
			quoted = !quoted
		}
		if b == '\n' && !quoted {
			break
		}
		if !quoted {
			counts[b]++
		}
	}
	best := byte(',')
	for _, b := range []byte{';', '\t'} {
		if counts[b] > counts[best] {
			best = b
		}
	}
	return rune(best)
}

// oneLine replaces each run of control characters in a name by a space. Such characters, for
// example line breaks from spreadsheets, would break the lines of printed tables.
func oneLine(name string) string {
	if strings.IndexFunc(name, unicode.IsControl) < 0 {
		return name
	}
	return strings.TrimSpace(strings.Join(strings.FieldsFunc(name, unicode.IsControl), " "))
}

// checkHeader returns an error if the header holds data, or names that are empty or used twice.
func checkHeader(header []string, line int) error {
	numbers, others := 0, 0
	for _, cell := range header {
		if _, err := strconv.ParseFloat(cell, 64); err == nil {
			numbers++
		} else if !missingTokens[cell] {
			others++
		}
	}
	if numbers > 0 && others == 0 {
		return fmt.Errorf("no header: line %d holds only numbers (first %q); want column names", line, header[0])
	}
	return checkNames(header, fmt.Sprintf("line %d: ", line))
}

// checkNames returns an error for column names that are empty or used twice. The error begins with
// the text where.
func checkNames(names []string, where string) error {
	first := make(map[string]int)
	for i, name := range names {
		if name == "" {
			return fmt.Errorf("%scolumn %d of %d has no name; name it, or remove it if it holds row names", where, i+1, len(names))
		}
		if j, ok := first[name]; ok {
			return fmt.Errorf("%sthe name %q stands for both column %d and column %d", where, name, j+1, i+1)
		}
		first[name] = i
	}
	return nil
}

// checkSpaceSeparated returns an error for a table whose cells are separated by spaces. Such a
// table would otherwise be read as one column of text.
func checkSpaceSeparated(records [][]string) error {
	if len(records[0]) != 1 {
		return nil
	}
	words := len(strings.Fields(records[0][0]))
	if words > 1 && words == len(strings.Fields(records[1][0])) {
		return fmt.Errorf("cells look separated by spaces (%q); want commas, semicolons or tabs", records[0][0])
	}
	return nil
}

// decimalCommas reports whether a table that is not separated by commas has numbers with a decimal
// comma: no number has a point, and in at least one number the comma cannot separate thousands.
func decimalCommas(records [][]string) (found bool) {
	for _, record := range records {
		for _, cell := range record {
			if strings.Contains(cell, ".") {
				if _, number := parseNumber(cell); number {
					return false
				}
			} else if whole, decimals, comma := strings.Cut(cell, ","); comma && !found {
				_, number := parseNumber(whole + "." + decimals)
				found = number && (len(decimals) != 3 || strings.Trim(whole, "+-0") == "")
			}
		}
	}
	return found
}

// typedColumn infers the type of a column from its cells. If a cell does not fit the type, the
// field defect of the column becomes an error. If quoted is true, all cells are quoted, and numbers
// count as labels, except numbers with a comma, which CSV files must quote. If commas is true,
// numbers may have a decimal comma.
func typedColumn(name string, cells []string, lines []int, quoted, commas bool) *Column {
	values := make([]float64, len(cells))
	missing := make([]bool, len(cells))
	firstNumber, firstText, firstInfinite := -1, -1, -1
	decimalComma := -1
	absent := 0
	for i, cell := range cells {
		values[i] = math.NaN()
		if missingTokens[cell] {
			missing[i] = true
			absent++
			continue
		}
		v, number := parseNumber(cell)
		if commas && strings.Contains(cell, ",") {
			if v, number = parseNumber(strings.ReplaceAll(cell, ",", ".")); number {
				decimalComma = firstIndex(decimalComma, i)
			}
		}
		switch {
		case number && !math.IsInf(v, 0) && !math.IsNaN(v):
			values[i] = v
			firstNumber = firstIndex(firstNumber, i)
		case number:
			firstInfinite = firstIndex(firstInfinite, i)
		default:
			firstText = firstIndex(firstText, i)
			if _, comma := parseNumber(strings.ReplaceAll(cell, ",", ".")); comma {
				decimalComma = firstIndex(decimalComma, i)
			}
		}
	}
	defect := func(i int, expected string) *Column {
		return &Column{Name: name, defect: fmt.Errorf("line %d, column %q: got %q, want %s", lines[i], name, cells[i], expected)}
	}
	switch {
	case quoted && decimalComma < 0 && absent < len(cells):
		return newFactor(name, cells, missing)
	case firstNumber >= 0 && (firstText >= 0 || firstInfinite >= 0):
		bad := max(firstText, firstInfinite)
		if firstText >= 0 && firstInfinite >= 0 {
			bad = min(firstText, firstInfinite)
		}
		mixed := defect(bad, fmt.Sprintf("a finite number or NA, as in the rest of the column (%q in line %d)", cells[firstNumber], lines[firstNumber]))
		if firstText >= 0 { // numbers and texts can be used as labels; an infinite number cannot
			mixed.defect = mixedColumn{mixed.defect}
		}
		mixed.labels = newFactor(name, cells, missing)
		return mixed
	case firstNumber < 0 && firstInfinite >= 0:
		return defect(firstInfinite, "a finite number or NA")
	case firstNumber < 0 && decimalComma >= 0:
		return defect(decimalComma, "a number with a decimal point and no other separator (decimal commas are read where semicolons or tabs separate the cells, no number has a point, and some comma cannot stand between thousands)")
	case firstText >= 0:
		return newFactor(name, cells, missing)
	}
	return &Column{Name: name, Kind: Numeric, Values: values, Missing: absent}
}

func firstIndex(first, i int) int {
	if first < 0 {
		return i
	}
	return first
}

// parseNumber reads a decimal number. A number too large for float64 becomes infinite.
func parseNumber(cell string) (v float64, ok bool) {
	if strings.ContainsAny(cell, "xX_") { // ParseFloat would accept hexadecimal numbers and 1_000
		return 0, false
	}
	v, err := strconv.ParseFloat(cell, 64)
	return v, err == nil || errors.Is(err, strconv.ErrRange)
}
