package table

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"gonum.org/v1/gonum/floats"

	"github.com/transdim/vti/internal/apply"
	"github.com/transdim/vti/internal/english"
)

const (
	// phenotypeColumn and sexColumn are the names of the columns from the .fam file.
	phenotypeColumn, sexColumn = "phenotype", "sex"
	// maxGenotypes is the largest number of genotypes that are read, which take 32 GiB as float64.
	maxGenotypes = 1 << 32
)

// plinkMagic begins a .bed file that is ordered by marker.
var plinkMagic = []byte{0x6c, 0x1b, 0x01}

// genotypes are the numbers of copies of allele A1, by the two bits of a genotype.
var genotypes = [4]float64{2, math.NaN(), 1, 0}

// Region is a part of a chromosome. The zero value is the whole genome.
type Region struct {
	Chromosome string
	// From and To are the first and the last position, in base pairs.
	From, To int
}

// String returns the region as 6:31000000-32000000, and "" for the whole genome.
func (r Region) String() string {
	if r == (Region{}) {
		return ""
	}
	return fmt.Sprintf("%s:%d-%d", r.Chromosome, r.From, r.To)
}

// MarshalText returns the text of String.
func (r Region) MarshalText() ([]byte, error) { return []byte(r.String()), nil }

// UnmarshalText reads the text that MarshalText writes.
func (r *Region) UnmarshalText(text []byte) error {
	chromosome, positions, _ := strings.Cut(string(text), ":")
	first, last, _ := strings.Cut(positions, "-")
	from, errFrom := strconv.Atoi(first)
	to, errTo := strconv.Atoi(last)
	if chromosome == "" || errFrom != nil || errTo != nil || from < 0 || to < from {
		return fmt.Errorf("expected chromosome:from-to, such as 6:31000000-32000000, found %q", text)
	}
	*r = Region{chromosome, from, to}
	return nil
}

// holds reports whether a position lies in the region. The chromosomes 6 and chr6 are the same.
func (r Region) holds(chromosome string, position int) bool {
	return r == (Region{}) || strings.TrimPrefix(r.Chromosome, "chr") == strings.TrimPrefix(chromosome, "chr") && r.From <= position && position <= r.To
}

// marker is a line of a .bim file or a VCF file.
type marker struct {
	line       int
	text       string
	chromosome string
	position   int
	name       string // name of the column
	place      string // chromosome:position and two alleles
}

// ReadRegion reads the markers of a region from genotypes: PLINK 1 genotypes, which are the files
// path (its name ends in .bed) and, beside it, the files that end in .bim and .fam; or a VCF file
// (its name ends in .vcf or .vcf.gz) and, beside it, the file that ends in .fam. For the zero
// Region, ReadRegion reads any file as [ReadFile] does.
func ReadRegion(path string, region Region) (*Table, error) {
	base, isVCF := cutVCF(path)
	isBed := strings.EqualFold(filepath.Ext(path), ".bed")
	if !isBed && !isVCF {
		if region != (Region{}) {
			return nil, fmt.Errorf("%s: a region (%s) is for genotypes, a file whose name ends in .bed, .vcf or .vcf.gz", path, region)
		}
		content, err := readContent(path)
		if err != nil {
			return nil, err
		}
		return Parse(path, content)
	}
	file, info, err := openFile(path)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	if isVCF {
		fam, err := readBeside(path, base+".fam", "it holds the persons of a VCF file, with their phenotypes")
		if err != nil {
			return nil, err
		}
		return readVCF(path, file, fam, region)
	}
	base = strings.TrimSuffix(path, filepath.Ext(path))
	const files = "PLINK 1 genotypes are the files .bed, .bim and .fam"
	bim, err := readBeside(path, base+".bim", files)
	if err != nil {
		return nil, err
	}
	fam, err := readBeside(path, base+".fam", files)
	if err != nil {
		return nil, err
	}
	return parsePlink(path, file, info.Size(), bim, fam, region)
}

// readBeside reads the file called name, which must be in the folder of the file path. If it is
// missing, the error ends with the text why, which says why the file is needed.
func readBeside(path, name, why string) ([]byte, error) {
	if _, err := os.Stat(name); os.IsNotExist(err) {
		return nil, fmt.Errorf("%s: no such file; it must be beside %s (%s)", name, path, why)
	}
	return readContent(name)
}

// parsePlink makes a table of the contents of the three files.
func parsePlink(path string, bed io.ReaderAt, size int64, bim, fam []byte, region Region) (*Table, error) {
	head := make([]byte, len(plinkMagic))
	n, err := bed.ReadAt(head, 0)
	switch {
	case err != nil && err != io.EOF:
		return nil, fmt.Errorf("cannot read the table: %w", err)
	case n == len(head) && bytes.HasPrefix(head, plinkMagic[:2]) && head[2] == 0:
		return nil, fmt.Errorf("%s: the genotypes are ordered by person (individual-major), as old versions of PLINK wrote them; convert them with plink --make-bed", path)
	case !bytes.Equal(head[:n], plinkMagic):
		return nil, fmt.Errorf("%s: not PLINK 1 genotypes: the file begins with the bytes % x, want % x (another format, of intervals of a genome, has the ending .bed too)", path, head[:n], plinkMagic)
	}
	base := strings.TrimSuffix(path, filepath.Ext(path))
	t := &Table{Path: path, unit: "row"}
	if _, err := t.parseFam(fam); err != nil {
		return nil, fmt.Errorf("%s.fam: %w", base, err)
	}
	markers, err := parseBim(bim)
	if err != nil {
		return nil, fmt.Errorf("%s.bim: %w", base, err)
	}
	stride := (t.Rows() + 3) / 4
	if want := int64(len(plinkMagic)) + int64(len(markers))*int64(stride); size != want {
		return nil, fmt.Errorf("%s: got %d bytes, want %d: %d for the format, and %d for each of the %s in %s.bim (%s in the .fam file)",
			path, size, want, len(plinkMagic), stride, english.Count(len(markers), "marker"), filepath.Base(base), english.Count(t.Rows(), "person"))
	}
	digest := sha256.New()
	digest.Write(fam)
	packed := make([]byte, stride)
	lines := make(map[string]int)
	var found chromosomes
	for i, m := range markers {
		if found.add(m.chromosome); !region.holds(m.chromosome, m.position) {
			continue
		}
		if err := m.checkNew(lines, base+".bim"); err != nil {
			return nil, err
		}
		if len(lines)*t.Rows() > maxGenotypes {
			return nil, fmt.Errorf("%s: %w", path, errTooManyGenotypes)
		}
		if _, err := bed.ReadAt(packed, int64(len(plinkMagic))+int64(i)*int64(stride)); err != nil && err != io.EOF {
			return nil, fmt.Errorf("cannot read the table: %w", err)
		}
		digest.Write([]byte(m.text + "\n"))
		digest.Write(packed)
		t.columns = append(t.columns, unpack(m.name, packed, t.Rows()))
	}
	if len(lines) == 0 {
		return nil, found.noneIn(path, region)
	}
	t.Fingerprint = hex.EncodeToString(digest.Sum(nil))
	return t, nil
}

// checkNew returns an error if a marker has the name of an earlier marker of the file path. The map
// lines holds the line of each earlier name; checkNew adds the marker to it.
func (m *marker) checkNew(lines map[string]int, path string) error {
	if line, twice := lines[m.name]; twice {
		return fmt.Errorf("%s: lines %d and %d are one marker, %s, with the same position and alleles; give them different ids", path, line, m.line, m.name)
	}
	lines[m.name] = m.line
	return nil
}

var errTooManyGenotypes = fmt.Errorf("more than %d genotypes are too large to hold as a table in memory; choose a region", maxGenotypes)

// unpack returns the column of a marker from its genotypes of two bits.
func unpack(name string, packed []byte, rows int) *Column {
	values := apply.UpTo(rows, func(row int) float64 { return genotypes[packed[row/4]>>(row%4*2)&3] })
	return &Column{Name: name, Kind: Numeric, Values: values, Missing: floats.Count(math.IsNaN, values), Genotype: true}
}

// chromosomes counts the markers of each chromosome, in the order of the file.
type chromosomes struct {
	names  []string
	counts map[string]int
}

func (c *chromosomes) add(name string) {
	if c.counts == nil {
		c.counts = make(map[string]int)
	}
	if c.counts[name]++; c.counts[name] == 1 {
		c.names = append(c.names, name)
	}
}

// noneIn returns the error of a region without markers.
func (c *chromosomes) noneIn(path string, region Region) error {
	parts := apply.To(c.names, func(name string) string { return fmt.Sprintf("%s (%d)", name, c.counts[name]) })
	return fmt.Errorf("%s: no marker lies in %s; markers of each chromosome: %s", path, region, english.List(parts, 30))
}

// eachRecord calls the function use for every line of a text with six fields a line. The text want
// names the fields in errors.
func eachRecord(content []byte, want string, use func(line int, text string, fields []string) error) error {
	content, err := cleanText(content)
	if err != nil {
		return err
	}
	line := 0
	for text := range strings.Lines(string(content)) {
		line++
		fields := strings.Fields(text)
		if len(fields) == 0 {
			continue
		}
		if len(fields) != 6 {
			return fmt.Errorf("line %d: got %s, want 6: %s", line, english.Count(len(fields), "field"), want)
		}
		if err := use(line, strings.TrimSpace(text), fields); err != nil {
			return fmt.Errorf("line %d: %w", line, err)
		}
	}
	return nil
}

// parseBim reads the markers.
func parseBim(content []byte) (markers []marker, err error) {
	err = eachRecord(content, "chromosome, id, position in centimorgan, position, allele A1, allele A2", func(line int, text string, fields []string) error {
		position, err := strconv.Atoi(fields[3])
		if err != nil {
			return fmt.Errorf("position: got %q, want a whole number", fields[3])
		}
		markers = append(markers, newMarker(line, text, position, fields[0], fields[1], fields[4], fields[5]))
		return nil
	})
	nameMarkers(markers)
	if err == nil && len(markers) == 0 {
		err = errNoMarkers
	}
	return markers, err
}

var errNoMarkers = errors.New("the file holds no markers")

func newMarker(line int, text string, position int, chromosome, id, first, second string) marker {
	return marker{line, text, chromosome, position, oneLine(id), oneLine(fmt.Sprintf("%s:%d:%s:%s", chromosome, position, first, second))}
}

// nameMarkers replaces names of markers. The name of a marker is at first its id. Where the id is
// missing or is the name of several columns, the name becomes chromosome, position and alleles.
func nameMarkers(markers []marker) {
	times := map[string]int{".": 2, "": 2, phenotypeColumn: 1, sexColumn: 1}
	for _, m := range markers {
		times[m.name]++
	}
	for i, m := range markers {
		if times[m.name] > 1 {
			markers[i].name = m.place
		}
	}
}

// parseFam makes the rows, the column phenotype, and the column sex if any sex is known. It returns
// the family and the id of the person of each row.
func (t *Table) parseFam(content []byte) (persons [][2]string, err error) {
	var phenotypes, sexes []float64
	absent := math.NaN()
	status, cases := true, false
	err = eachRecord(content, "family, person, father, mother, sex, phenotype", func(line int, _ string, fields []string) error {
		sex, phenotype := absent, absent
		if fields[4] == "1" || fields[4] == "2" {
			sex = float64(fields[4][0] - '0')
		}
		if !missingTokens[fields[5]] {
			var ok bool
			if phenotype, ok = parseNumber(fields[5]); !ok || math.IsInf(phenotype, 0) {
				return fmt.Errorf("phenotype: got %q, want a number, or -9 or NA for a missing one", fields[5])
			}
			if phenotype == -9 {
				phenotype = absent
			}
		}
		status = status && (phenotype != phenotype || phenotype == 0 || phenotype == 1 || phenotype == 2)
		cases = cases || phenotype == 2
		phenotypes, sexes = append(phenotypes, phenotype), append(sexes, sex)
		t.places, persons = append(t.places, line), append(persons, [2]string{fields[0], fields[1]})
		return nil
	})
	if err == nil && len(t.places) == 0 {
		err = errors.New("the file holds no persons")
	}
	for i, v := range phenotypes {
		if !status || !cases {
			break
		}
		if phenotypes[i] = v - 1; v == 0 { // 1 is a control, 2 a case, 0 is missing
			phenotypes[i] = absent
		}
	}
	t.columns = []*Column{Numbers(phenotypeColumn, phenotypes)}
	if sex := Numbers(sexColumn, sexes); sex.Missing < len(sexes) {
		t.columns = append(t.columns, sex)
	}
	return persons, err
}

// FillGenotypes replaces each missing genotype of the named columns by the mean of its marker, and
// returns the new table with the number of replaced cells. Means are over the rows of the table
// seen, which has the named columns as genotypes. A marker without any value gets 0.
func (t *Table) FillGenotypes(names []string, seen *Table) (*Table, int) {
	wanted, markers := make(map[string]bool), make(map[string]*Column)
	for _, name := range names {
		wanted[name] = true
	}
	for _, c := range seen.columns {
		if c.Genotype && wanted[c.Name] {
			markers[c.Name] = c
		}
	}
	filled := 0
	out := *t
	out.columns = slices.Clone(t.columns)
	for i, c := range out.columns {
		marker := markers[c.Name]
		if marker == nil || c.Kind != Numeric || c.Missing == 0 || c.defect != nil {
			continue
		}
		var sum float64
		for _, v := range marker.Values {
			if v == v {
				sum += v
			}
		}
		mean := sum / float64(max(1, len(marker.Values)-marker.Missing))
		full := *c
		full.Missing, full.Values = 0, slices.Clone(c.Values)
		for row, v := range full.Values {
			if v != v {
				full.Values[row] = mean
			}
		}
		filled += c.Missing
		out.columns[i] = &full
	}
	return &out, filled
}
