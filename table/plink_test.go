package table

import (
	"bytes"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// Five persons and four markers, on two chromosomes. The bytes of the genotypes hold the first
// person in the lowest two bits: 00 is A1/A1, 01 missing, 10 A1/A2, 11 A2/A2.
const (
	smallFam = "f1 a 0 0 1 1\nf2 b 0 0 2 2\nf3 c 0 0 0 0\nf4 d 0 0 1 -9\nf5 e 0 0 2 2\n"
	smallBim = "6 rs1 0 100 A G\nchr6\t.\t0\t200\tC\tT\n6 twice 0 300 A G\n7 twice 0 300 A G\n"
)

var smallBed = []byte{
	0x6c, 0x1b, 0x01,
	0b11_10_01_00, 0b10, // copies of A1: 2 NA 1 0 1
	0b00_00_00_00, 0b11, // copies of A1: 2 2 2 2 0
	0b11_11_11_11, 0b11, // copies of A1: 0 0 0 0 0
	0b01_10_11_00, 0b01, // copies of A1: 2 0 1 NA NA
}

func small(region Region) (*Table, error) {
	return parsePlink("small.bed", bytes.NewReader(smallBed), int64(len(smallBed)), []byte(smallBim), []byte(smallFam), region)
}

func TestPlink(t *testing.T) {
	data, err := small(Region{})
	require.NoError(t, err)
	na := math.NaN()
	want := []struct {
		name   string
		values []float64
	}{
		{"phenotype", []float64{0, 1, na, na, 1}},
		{"sex", []float64{1, 2, na, 1, 2}},
		{"rs1", []float64{2, na, 1, 0, 1}},
		{"chr6:200:C:T", []float64{2, 2, 2, 2, 0}},
		{"6:300:A:G", []float64{0, 0, 0, 0, 0}},
		{"7:300:A:G", []float64{2, 0, 1, na, na}},
	}
	require.Len(t, data.Names(), len(want))
	for i, name := range data.Names() {
		c, err := data.Lookup(name)
		require.NoError(t, err)
		assert.Equal(t, want[i].name, name)
		missing := 0
		for row, v := range want[i].values {
			if v != v {
				missing++
				assert.True(t, c.IsMissing(row), "%s %d", name, row)
				continue
			}
			assert.Equal(t, v, c.Values[row], "%s %d", name, row)
		}
		assert.Equal(t, missing, c.Missing, name)
		assert.Equal(t, i > 1, c.Genotype, name)
	}
	assert.Equal(t, "row 5", data.Place(4))

	full, filled := data.FillGenotypes(data.Names(), data)
	assert.Equal(t, 3, filled)
	last, err := full.Lookup("7:300:A:G")
	require.NoError(t, err)
	assert.Equal(t, []float64{2, 0, 1, 1, 1}, last.Values)
	status, err := full.Lookup("phenotype")
	require.NoError(t, err)
	assert.Equal(t, 2, status.Missing, "only genotypes are replaced")
}

func TestPlinkRegion(t *testing.T) {
	whole, err := small(Region{})
	require.NoError(t, err)
	for text, want := range map[string]string{
		"6:200-300":    "phenotype sex chr6:200:C:T 6:300:A:G", // both ends, and chr6 is 6
		"chr7:300-300": "phenotype sex 7:300:A:G",
	} {
		var region Region
		require.NoError(t, region.UnmarshalText([]byte(text)))
		assert.Equal(t, text, region.String())
		data, err := small(region)
		require.NoError(t, err)
		assert.Equal(t, want, strings.Join(data.Names(), " "))
		for _, name := range data.Names()[2:] {
			c, err := data.Lookup(name)
			require.NoError(t, err)
			all, err := whole.Lookup(name)
			require.NoError(t, err)
			assert.Equal(t, all.Missing, c.Missing)
		}
		assert.NotEqual(t, whole.Fingerprint, data.Fingerprint)
	}
	_, err = small(Region{"8", 1, 1000})
	assert.EqualError(t, err, "small.bed: no marker lies in 8:1-1000; markers of each chromosome: 6 (2), chr6 (1), 7 (1)")
	for _, text := range []string{"", "6", "6:", "6:5", "6:9-5", ":1-2", "6:a-b", "6:-5-9", "6:1-2-3"} {
		assert.ErrorContains(t, new(Region).UnmarshalText([]byte(text)), "expected chromosome:from-to", text)
	}
}

func TestPlinkPhenotypes(t *testing.T) {
	for text, want := range map[string][]float64{
		"1 2 0":      {0, 1, math.NaN()},
		"0 1 0":      {0, 1, 0}, // without a case, phenotypes are numbers
		"0 2 1.5":    {0, 2, 1.5},
		"-9 NA 0.25": {math.NaN(), math.NaN(), 0.25},
	} {
		var fam strings.Builder
		for _, phenotype := range strings.Fields(text) {
			fam.WriteString("f p 0 0 1 " + phenotype + "\n")
		}
		data := &Table{}
		_, err := data.parseFam([]byte(fam.String()))
		require.NoError(t, err)
		assert.Equal(t, Numbers("phenotype", want).Missing, data.columns[0].Missing, text)
		for i, v := range want {
			if v == v {
				assert.Equal(t, v, data.columns[0].Values[i], text)
			}
		}
	}
}

func TestPlinkErrors(t *testing.T) {
	t.Chdir(t.TempDir())
	write := func(name, content string) { require.NoError(t, os.WriteFile(name, []byte(content), 0o600)) }
	for name, c := range map[string]struct{ bed, bim, fam, want string }{
		"individual-major": {"\x6c\x1b\x00\x00", smallBim, smallFam, "x.bed: the genotypes are ordered by person (individual-major), as old versions of PLINK wrote them; convert them with plink --make-bed"},
		"intervals":        {"chr1\t5\t9\n", smallBim, smallFam, "x.bed: not PLINK 1 genotypes: the file begins with the bytes 63 68 72, want 6c 1b 01 (another format, of intervals of a genome, has the ending .bed too)"},
		"empty":            {"", smallBim, smallFam, "x.bed: not PLINK 1 genotypes: the file begins with the bytes , want"},
		"truncated":        {string(smallBed[:9]), smallBim, smallFam, "x.bed: got 9 bytes, want 11: 3 for the format, and 2 for each of the 4 markers in x.bim (5 persons in the .fam file)"},
		"too long":         {string(smallBed) + "x", smallBim, smallFam, "got 12 bytes, want 11"},
		"no bim":           {string(smallBed), "", smallFam, "x.bim: no such file; it must be beside x.bed (PLINK 1 genotypes are the files .bed, .bim and .fam)"},
		"no fam":           {string(smallBed), smallBim, "", "x.fam: no such file; it must be beside x.bed"},
		"empty fam":        {string(smallBed), smallBim, "\n", "x.fam: the file holds no persons"},
		"empty bim":        {string(smallBed), "\n", smallFam, "x.bim: the file holds no markers"},
		"short line":       {string(smallBed), "6 rs1 0 100 A G\n6 rs2 0 200 A\n", smallFam, "x.bim: line 2: got 5 fields, want 6: chromosome, id, position in centimorgan, position, allele A1, allele A2"},
		"position":         {string(smallBed), "6 rs1 0 1e2 A G\n", smallFam, `x.bim: line 1: position: got "1e2", want a whole number`},
		"phenotype":        {string(smallBed), smallBim, "f1 a 0 0 1 1\n\nf1 a 0 0 1 tall\n", `x.fam: line 3: phenotype: got "tall", want a number, or -9 or NA for a missing one`},
		"one marker twice": {string(smallBed), strings.Repeat("6 . 0 100 A G\n", 4), smallFam, "x.bim: lines 1 and 2 are one marker, 6:100:A:G, with the same position and alleles; give them different ids"},
	} {
		t.Run(name, func(t *testing.T) {
			require.NoError(t, os.RemoveAll("x.bim"))
			require.NoError(t, os.RemoveAll("x.fam"))
			write("x.bed", c.bed)
			for ending, content := range map[string]string{"x.bim": c.bim, "x.fam": c.fam} {
				if content != "" {
					write(ending, content)
				}
			}
			_, err := ReadFile("x.bed")
			assert.ErrorContains(t, err, c.want)
		})
	}
	write("y.csv", "x,y\n1,2\n")
	_, err := ReadRegion("y.csv", Region{"6", 1, 2})
	assert.EqualError(t, err, "y.csv: a region (6:1-2) is for genotypes, a file whose name ends in .bed, .vcf or .vcf.gz")
	_, err = ReadFile(filepath.Join("nowhere", "z.bed"))
	assert.ErrorContains(t, err, "no such file")
}

func FuzzPlink(f *testing.F) {
	f.Add(smallBed, []byte(smallBim), []byte(smallFam), "6:200-300")
	f.Add(smallBed, []byte(smallBim), []byte(smallFam), "")
	f.Add([]byte{0x6c, 0x1b, 0x01, 0x02}, []byte("1 \u0080 0 1 A G"), []byte("f p 0 0 1 NA"), "")
	f.Fuzz(func(t *testing.T, bed, bim, fam []byte, text string) {
		var region Region
		if err := region.UnmarshalText([]byte(text)); err != nil && text != "" {
			return
		}
		table, err := parsePlink("fuzz.bed", bytes.NewReader(bed), int64(len(bed)), bim, fam, region)
		if err != nil {
			return
		}
		requireGenotypes(t, table, func(v float64) bool { return v == 0 || v == 1 || v == 2 })
	})
}

// requireGenotypes checks the names and the cells of a table of genotypes.
func requireGenotypes(t *testing.T, table *Table, isGenotype func(v float64) bool) {
	t.Helper()
	names := table.Names()
	require.NoError(t, checkNames(names, ""))
	require.Greater(t, len(names), 1)
	require.Positive(t, table.Rows())
	for _, name := range names {
		c, err := table.Lookup(name)
		require.NoError(t, err)
		require.Equal(t, table.Rows(), c.length())
		missing := 0
		for row := range table.Rows() {
			if c.IsMissing(row) {
				missing++
			} else if c.Genotype {
				require.True(t, isGenotype(c.Values[row]), c.Values[row])
			}
		}
		require.Equal(t, c.Missing, missing)
	}
}

// A file in which no sex is known gives no column sex.
func TestUnknownSexIsNoColumn(t *testing.T) {
	table := &Table{}
	_, err := table.parseFam([]byte("f a 0 0 0 1.5\nf b 0 0 0 2.5\n"))
	require.NoError(t, err)
	require.Len(t, table.columns, 1)
	_, err = table.parseFam([]byte("f a 0 0 0 1.5\nf b 0 0 2 2.5\n"))
	require.NoError(t, err)
	require.Len(t, table.columns, 2)
}
