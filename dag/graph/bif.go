package graph

import (
	"cmp"
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"
	"unicode"

	"github.com/transdim/vti/internal/apply"
	"github.com/transdim/vti/internal/english"
)

// ReadBIF reads a network over categories in the interchange format BIF. Nodes may lack a list of
// values or a table, which [Network.Validate] reports. Properties and comments are skipped.
func ReadBIF(path string) (*Network, error) {
	content, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	r := &bifReader{place: map[string]int{}, network: &Network{}}
	if r.words, err = bifWords(string(content)); err == nil {
		err = r.read()
	}
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return r.network, nil
}

// bifWord is a word or a punctuation mark of a file.
type bifWord struct {
	text string
	line int
}

// bifWords splits a file into words. Punctuation marks are words of their own, and quoted words
// lose their quotation marks.
func bifWords(text string) (words []bifWord, err error) {
	const marks = "{}()[],;|"
	line := 1
	for len(text) > 0 {
		skip := 1
		switch {
		case text[0] == '\n':
			line++
		case text[0] == ' ' || text[0] == '\t' || text[0] == '\r':
		case strings.HasPrefix(text, "//"):
			if skip = strings.IndexByte(text, '\n'); skip < 0 {
				skip = len(text)
			}
		case strings.HasPrefix(text, "/*"):
			end := strings.Index(text, "*/")
			if end < 0 {
				return nil, fmt.Errorf("line %d: a comment has no end", line)
			}
			skip = end + 2
			line += strings.Count(text[:skip], "\n")
		case strings.IndexByte(marks, text[0]) >= 0:
			words = append(words, bifWord{text[:1], line})
		case text[0] == '"':
			end := strings.IndexAny(text[1:], "\"\n")
			if end < 0 || text[1+end] != '"' {
				return nil, fmt.Errorf("line %d: a quotation mark has no second", line)
			}
			words = append(words, bifWord{text[1 : 1+end], line})
			skip = end + 2
		default:
			if skip = strings.IndexAny(text, " \t\r\n\""+marks); skip < 0 {
				skip = len(text)
			}
			words = append(words, bifWord{text[:skip], line})
		}
		text = text[skip:]
	}
	return words, nil
}

// bifReader reads the words of a file in turn.
type bifReader struct {
	words   []bifWord
	next    int
	network *Network
	place   map[string]int
}

// word takes the next word. At the end of the file its text is "".
func (r *bifReader) word() bifWord {
	if r.next >= len(r.words) {
		last := 1
		if len(r.words) > 0 {
			last = r.words[len(r.words)-1].line
		}
		return bifWord{"", last}
	}
	r.next++
	return r.words[r.next-1]
}

// until takes all words up to and including the next word that equals mark. It returns the words
// before mark, without commas and vertical lines.
func (r *bifReader) until(mark string) (words []bifWord, err error) {
	for {
		switch w := r.word(); w.text {
		case mark:
			return words, nil
		case "":
			return nil, fmt.Errorf("line %d: got the end of the file, want %q", w.line, mark)
		case ",", "|":
		default:
			words = append(words, w)
		}
	}
}

// read reads all blocks, probabilities last, because a file may use variables before declaring
// them.
func (r *bifReader) read() error {
	n := r.network
	var probabilities []int // index of the word after each "probability"
	for r.next < len(r.words) {
		switch w := r.word(); w.text {
		case "variable":
			if err := r.variable(); err != nil {
				return err
			}
		case "probability":
			probabilities = append(probabilities, r.next)
			if err := r.skipBlock(); err != nil {
				return err
			}
		case "network":
			if err := r.skipBlock(); err != nil {
				return err
			}
		default:
			return fmt.Errorf("line %d: got %q, want network, variable or probability", w.line, w.text)
		}
	}
	if len(n.Names) == 0 {
		return fmt.Errorf("got no blocks \"variable NAME { … }\", want those of a network in BIF")
	}
	n.Graph, n.Tables = NewGraph(len(n.Names)), make([][][]float64, len(n.Names))
	for _, at := range probabilities {
		r.next = at
		if err := r.probability(); err != nil {
			return err
		}
	}
	return nil
}

func (r *bifReader) skipBlock() error {
	if _, err := r.until("{"); err != nil {
		return err
	}
	_, err := r.until("}")
	return err
}

// variable reads NAME { type discrete [ 2 ] { yes, no }; property …; }.
func (r *bifReader) variable() error {
	name := r.word()
	if _, twice := r.place[name.text]; twice {
		return fmt.Errorf("line %d: variable %q is there twice", name.line, name.text)
	}
	var levels []string
	if _, err := r.until("{"); err != nil {
		return err
	}
	for {
		switch w := r.word(); w.text {
		case "":
			return fmt.Errorf("line %d: variable %q: got the end of the file, want \"}\"", w.line, name.text)
		case "property":
			if _, err := r.until(";"); err != nil {
				return err
			}
		case "{":
			words, err := r.until("}")
			if err != nil {
				return err
			}
			for _, level := range words {
				if slices.Contains(levels, level.text) {
					return fmt.Errorf("line %d: variable %q: value %q is there twice", level.line, name.text, level.text)
				}
				levels = append(levels, level.text)
			}
		case "}":
			r.place[name.text] = len(r.network.Names)
			r.network.Names, r.network.Levels = append(r.network.Names, name.text), append(r.network.Levels, levels)
			return nil
		}
	}
}

// probability reads ( NAME | PARENT, … ) { table …; } or { (value, …) …; default …; }.
func (r *bifReader) probability() error {
	n := r.network
	j, parents, err := r.family()
	if err != nil {
		return err
	}
	if _, err := r.until("{"); err != nil {
		return err
	}
	n.Tables[j] = nil
	rows := make([][]float64, n.combinations(j))
	var other []float64
	for {
		switch w := r.word(); w.text {
		case "}":
			r.complete(j, rows, other)
			return nil
		case "":
			return fmt.Errorf("line %d: got the end of the file, want \"}\"", w.line)
		case "property":
			_, err = r.until(";")
		case "default":
			other, err = r.numbers()
		case "table":
			err = r.table(w.line, j, parents, rows)
		case "(":
			err = r.row(w.line, j, parents, rows)
		default:
			err = fmt.Errorf("line %d: got %q, want table, default, property or values of parents", w.line, w.text)
		}
		if err != nil {
			return err
		}
	}
}

// family reads ( NAME | PARENT, … ), the node and its parents, and adds the edges.
func (r *bifReader) family() (j int, parents []int, err error) {
	if _, err := r.until("("); err != nil {
		return 0, nil, err
	}
	heads, err := r.until(")")
	if err != nil {
		return 0, nil, err
	}
	var nodes []int
	for _, w := range heads {
		at, known := r.place[w.text]
		if !known {
			return 0, nil, fmt.Errorf("line %d: no variable %q", w.line, w.text)
		}
		nodes = append(nodes, at)
	}
	if len(nodes) == 0 {
		return 0, nil, fmt.Errorf("line %d: got no variable, want probability ( NAME | PARENT, … )", r.words[r.next-1].line)
	}
	j, parents = nodes[0], nodes[1:]
	for _, i := range parents {
		if i == j {
			return 0, nil, fmt.Errorf("line %d: %q is its own parent", heads[0].line, r.network.Names[j])
		}
		r.network.Graph.Set(i, j, true)
	}
	return j, parents, nil
}

// table reads all probabilities of a node. The level of the node changes slowest, then the value of
// the first parent, and the value of the last parent changes fastest.
func (r *bifReader) table(line, j int, parents []int, rows [][]float64) error {
	n := r.network
	all, err := r.numbers()
	if err != nil {
		return err
	}
	levels := len(n.Levels[j])
	if want := levels * len(rows); len(all) != want || levels == 0 {
		return fmt.Errorf("line %d: %q: got %s, want %d", line, n.Names[j], english.Count(len(all), "probability"), want)
	}
	codes := make([]int, len(n.Names))
	for k := range rows {
		left := k
		for _, i := range slices.Backward(parents) {
			codes[i], left = left%len(n.Levels[i]), left/len(n.Levels[i])
		}
		row := apply.UpTo(levels, func(level int) float64 { return all[level*len(rows)+k] })
		rows[n.Row(j, codes)] = row
	}
	return nil
}

// row reads "value, … )" and the probabilities of a node given these values of its parents.
func (r *bifReader) row(line, j int, parents []int, rows [][]float64) error {
	n := r.network
	values, err := r.until(")")
	if err != nil {
		return err
	}
	if len(values) != len(parents) {
		return fmt.Errorf("line %d: %q: got %s of parents, want %d", line, n.Names[j], english.Count(len(values), "value"), len(parents))
	}
	codes := make([]int, len(n.Names))
	for k, i := range parents {
		if codes[i] = slices.Index(n.Levels[i], values[k].text); codes[i] < 0 {
			return fmt.Errorf("line %d: %q has no value %q", line, n.Names[i], values[k].text)
		}
	}
	rows[n.Row(j, codes)], err = r.numbers()
	return err
}

// complete stores the table of node j, if the file has one. Rows that the file does not list get
// the default probabilities, the argument named other.
func (r *bifReader) complete(j int, rows [][]float64, other []float64) {
	named := 0
	for k, row := range rows {
		if row != nil {
			named++
		} else if other != nil {
			rows[k] = other
		}
	}
	if named > 0 || other != nil {
		r.network.Tables[j] = rows
	}
}

// numbers reads numbers up to a semicolon.
func (r *bifReader) numbers() (numbers []float64, err error) {
	words, err := r.until(";")
	if err != nil {
		return nil, err
	}
	for _, w := range words {
		x, err := strconv.ParseFloat(w.text, 64)
		if err != nil {
			return nil, fmt.Errorf("line %d: got %q, want a number", w.line, w.text)
		}
		numbers = append(numbers, x)
	}
	return numbers, nil
}

// BIF returns a network in the interchange format. Characters that other programs do not read
// become underscores: in names of nodes all characters except letters and digits, in levels spaces
// and the punctuation marks of the format.
func (n *Network) BIF() string {
	var text strings.Builder
	names := PlainNames(n.Names, bifNode)
	levels := make([][]string, len(n.Levels))
	text.WriteString("network unknown {\n}\n")
	for j, name := range names {
		levels[j] = PlainNames(n.Levels[j], bifLevel)
		fmt.Fprintf(&text, "variable %s {\n  type discrete [ %d ] { %s };\n}\n", name, len(levels[j]), strings.Join(levels[j], ", "))
	}
	for j, name := range names {
		parents := apply.To(n.Graph.Parents(j), func(i int) string { return names[i] })
		if len(parents) == 0 {
			fmt.Fprintf(&text, "probability ( %s ) {\n  table %s;\n}\n", name, bifNumbers(n.Tables[j][0]))
			continue
		}
		fmt.Fprintf(&text, "probability ( %s | %s ) {\n", name, strings.Join(parents, ", "))
		written := &Network{Names: names, Levels: levels, Graph: n.Graph}
		for k, row := range n.Tables[j] {
			fmt.Fprintf(&text, "  (%s) %s;\n", strings.Join(written.values(j, k), ", "), bifNumbers(row))
		}
		text.WriteString("}\n")
	}
	return text.String()
}

// PlainNames returns names without the characters for which keep reports false. Each such character
// becomes an underscore, and names that would be equal get further underscores at their end.
func PlainNames(names []string, keep func(rune) bool) []string {
	plain := make([]string, len(names))
	for k, name := range names {
		word := strings.Map(func(c rune) rune {
			if keep(c) {
				return c
			}
			return '_'
		}, name)
		word = cmp.Or(word, "_")
		for slices.Contains(plain[:k], word) {
			word += "_"
		}
		plain[k] = word
	}
	return plain
}

// bifNode reports whether a character may be in the name of a node, for which R's bnlearn accepts
// letters, digits and underscores.
func bifNode(c rune) bool { return c == '_' || unicode.IsLetter(c) || unicode.IsDigit(c) }

func bifLevel(c rune) bool { return c > ' ' && !strings.ContainsRune(`{}()[],;|"/`, c) }

func bifNumbers(row []float64) string {
	parts := apply.To(row, func(p float64) string { return strconv.FormatFloat(p, 'g', -1, 64) })
	return strings.Join(parts, ", ")
}
