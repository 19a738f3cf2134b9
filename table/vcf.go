package table

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"math"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"
)

// The fields of a line of a VCF file before the fields of the samples (VCF 4.3, section 1.6).
const (
	vcfChromosome = iota
	vcfPosition
	vcfID
	vcfReference
	vcfAlternative
	vcfQuality
	vcfFilter
	vcfInfo
	vcfFormat
	vcfFields
)

// cutVCF returns the path of a VCF file without its ending, and whether path is the name of one.
func cutVCF(path string) (base string, ok bool) {
	lower := strings.ToLower(path)
	for _, ending := range []string{".vcf", ".vcf.gz", ".vcf.bgz"} {
		if strings.HasSuffix(lower, ending) {
			return path[:len(path)-len(ending)], true
		}
	}
	return "", false
}

// readVCF makes a table of a VCF file, compressed or not, and the text of a .fam file. It holds
// only one line of the file in memory at a time.
func readVCF(path string, file io.Reader, fam []byte, region Region) (*Table, error) {
	if !strings.EqualFold(path[len(path)-len(".vcf"):], ".vcf") {
		unpacked, err := gzip.NewReader(bufio.NewReader(file)) // reads bgzip too, whose blocks are gzip files
		if err != nil {
			return nil, fmt.Errorf("%s: not compressed by gzip or bgzip: %w", path, err)
		}
		file = unpacked
	}
	t := &Table{Path: path, unit: "row"}
	persons, err := t.parseFam(fam)
	if err != nil {
		base, _ := cutVCF(path)
		return nil, fmt.Errorf("%s.fam: %w", base, err)
	}
	v := &vcf{Table: t, region: region, persons: persons}
	digest := sha256.New()
	digest.Write(fam)
	reader := bufio.NewReaderSize(file, 1<<20)
	for line := 1; ; line++ {
		text, err := reader.ReadBytes('\n')
		if err != nil && err != io.EOF {
			return nil, fmt.Errorf("cannot read the table: %s: line %d: %w", path, line, err)
		}
		used, wrong := v.add(line, bytes.TrimRight(text, "\r\n"))
		if wrong != nil {
			return nil, fmt.Errorf("%s: line %d: %w", path, line, wrong)
		}
		if used {
			digest.Write(text)
		}
		if err == io.EOF {
			break
		}
	}
	if err := v.finish(); err != nil {
		return nil, err
	}
	t.Fingerprint = hex.EncodeToString(digest.Sum(nil))
	return t, nil
}

// vcf reads the lines of a VCF file.
type vcf struct {
	*Table
	region  Region
	persons [][2]string // family and id of each row, before the line of samples is read
	samples []int       // row of each sample; nil before the line of samples
	found   chromosomes
	markers []marker
}

// add reads a line. It reports whether the table depends on the line.
func (v *vcf) add(line int, text []byte) (used bool, err error) {
	switch {
	case v.samples == nil && bytes.HasPrefix(text, []byte("#CHROM\t")):
		return true, v.readSamples(strings.Split(string(text), "\t"))
	case bytes.HasPrefix(text, []byte("##")) || len(text) == 0:
		return false, nil
	case v.samples == nil:
		return false, fmt.Errorf("not a VCF file: got %.40q, want lines that begin with ##, and then the line #CHROM of the samples", text)
	}
	chromosome, rest, _ := bytes.Cut(text, []byte("\t"))
	positionText, _, _ := bytes.Cut(rest, []byte("\t"))
	position, err := strconv.Atoi(string(positionText))
	if err != nil {
		return false, fmt.Errorf("position: got %.40q, want a whole number", positionText)
	}
	if v.found.add(string(chromosome)); !v.region.holds(string(chromosome), position) {
		return false, nil
	}
	return true, v.addMarker(line, position, bytes.SplitN(text, []byte("\t"), vcfFields+1))
}

// readSamples finds the row of each sample, whose name is the id of a person, or the family and the
// id with an underscore between them. It drops the persons that are not samples.
func (v *vcf) readSamples(fields []string) error {
	if len(fields) <= vcfFields {
		return fmt.Errorf("the file has no samples: got %d columns, want %d and one for each sample", len(fields), vcfFields)
	}
	rows := make(map[string]int) // −1 for a name of two persons
	for row, person := range v.persons {
		for _, name := range []string{person[1], person[0] + "_" + person[1]} {
			if earlier, twice := rows[name]; twice && earlier != row {
				rows[name] = -1
			} else {
				rows[name] = row
			}
		}
	}
	times := make([]int, len(v.persons))
	for _, name := range fields[vcfFields:] {
		row, known := rows[name]
		switch {
		case !known:
			return fmt.Errorf("sample %q is no person of the .fam file; give it a line there, with phenotype -9 if it has none", name)
		case row < 0:
			return fmt.Errorf("sample %q is more than one person of the .fam file", name)
		case times[row] > 0:
			return fmt.Errorf("sample %q is a person for the second time", name)
		}
		times[row] = 1
		v.samples = append(v.samples, row)
	}
	kept := v.Repeat(times)
	v.columns, v.places = kept.columns, kept.places
	before, now := 0, make([]int, len(times)) // rows after those of other persons are dropped
	for row, n := range times {
		now[row] = before
		before += n
	}
	for i, row := range v.samples {
		v.samples[i] = now[row]
	}
	return nil
}

// addMarker adds the column of a marker.
func (v *vcf) addMarker(line, position int, fields [][]byte) error {
	if len(fields) <= vcfFields {
		return fmt.Errorf("got %d columns, want %d and one for each sample", len(fields), vcfFields)
	}
	alternative := string(fields[vcfAlternative])
	if strings.Contains(alternative, ",") {
		return fmt.Errorf("%s:%d has several alternative alleles (%s); make a line of each (bcftools norm -m -)", fields[vcfChromosome], position, alternative)
	}
	if (len(v.markers)+1)*v.Rows() > maxGenotypes {
		return errTooManyGenotypes
	}
	format := strings.Split(string(fields[vcfFormat]), ":")
	dosages, genotypes := slices.Index(format, "DS"), slices.Index(format, "GT")
	if dosages < 0 && genotypes < 0 {
		return fmt.Errorf("the format %s has neither DS (dosages) nor GT (genotypes)", fields[vcfFormat])
	}
	m := newMarker(line, "", position, string(fields[vcfChromosome]), string(fields[vcfID]), string(fields[vcfReference]), alternative)
	c := &Column{Kind: Numeric, Values: make([]float64, v.Rows()), Genotype: true}
	rest := fields[vcfFields]
	for sample, row := range v.samples {
		field, after, more := bytes.Cut(rest, []byte("\t"))
		if last := sample == len(v.samples)-1; more == last {
			return fmt.Errorf("got %d samples, want %d as in the line #CHROM", 1+bytes.Count(fields[vcfFields], []byte("\t")), len(v.samples))
		}
		value, ok := 0.0, false
		if dosages < 0 {
			value, ok = copies(entry(field, genotypes))
		} else {
			value, ok = dosage(entry(field, dosages))
			if genotypes >= 0 && isAllele(entry(field, genotypes)) { // the dosage is from 0 to 1
				value, ok = 2*value, ok && !(value > 1)
			}
		}
		if !ok {
			return fmt.Errorf("sample %d: got %q as %s, want a number from 0 to 2 (DS), or two alleles 0 or 1 (GT)", sample+1, field, fields[vcfFormat])
		}
		if c.Values[row] = value; value != value {
			c.Missing++
		}
		rest = after
	}
	v.markers, v.columns = append(v.markers, m), append(v.columns, c)
	return nil
}

// entry returns an entry of the field of a sample. A file may leave out the last entries; a missing
// entry is returned as empty.
func entry(field []byte, place int) []byte {
	for range place {
		_, field, _ = bytes.Cut(field, []byte(":"))
	}
	field, _, _ = bytes.Cut(field, []byte(":"))
	return field
}

// dosage reads an expected number of copies of the alternative allele.
func dosage(text []byte) (value float64, ok bool) {
	if len(text) == 0 || string(text) == "." {
		return math.NaN(), true
	}
	value, err := strconv.ParseFloat(string(text), 64)
	return value, err == nil && value >= 0 && value <= 2
}

// isAllele reports whether a genotype has only one allele, as for the X chromosome of a man. The
// allele counts as two copies, as in PLINK.
func isAllele(genotype []byte) bool { return len(genotype) == 1 && genotype[0] != '.' }

// copies reads a genotype such as 0/1 or 1|1 as a number of copies of the alternative allele. A
// genotype is missing if an allele is.
func copies(text []byte) (value float64, ok bool) {
	if len(text) == 0 {
		return math.NaN(), true
	}
	if len(text) == 1 {
		text = []byte{text[0], '/', text[0]}
	}
	if len(text) != 3 || text[1] != '/' && text[1] != '|' {
		return 0, false
	}
	for _, allele := range []byte{text[0], text[2]} {
		switch allele {
		case '0':
		case '1':
			value++
		case '.':
			value = math.NaN()
		default:
			return 0, false
		}
	}
	return value, true
}

// finish names the columns of the markers.
func (v *vcf) finish() error {
	switch {
	case v.samples == nil:
		return fmt.Errorf("%s: not a VCF file: the line #CHROM of the samples is missing", v.Path)
	case len(v.found.names) == 0:
		return fmt.Errorf("%s: %w", v.Path, errNoMarkers)
	case len(v.markers) == 0:
		return v.found.noneIn(v.Path, v.region)
	}
	nameMarkers(v.markers)
	lines := make(map[string]int)
	for i, m := range v.markers {
		if err := m.checkNew(lines, v.Path); err != nil {
			return err
		}
		if !utf8.ValidString(m.name) {
			return fmt.Errorf("%s: line %d: the name of the marker is not UTF-8 text: %q", v.Path, m.line, m.name)
		}
		v.columns[len(v.columns)-len(v.markers)+i].Name = m.name
	}
	return nil
}
