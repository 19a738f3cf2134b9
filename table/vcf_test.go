package table

import (
	"bytes"
	"compress/gzip"
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// smallVCF holds the genotypes of smallBed, where A1 is the alternative allele. Its samples are in
// another order, and without person d.
var smallVCF = strings.NewReplacer(" ", "\t").Replace(`##fileformat=VCFv4.3
##contig=<ID=6>
#CHROM POS ID REF ALT QUAL FILTER INFO FORMAT e f1_a b c
6 100 rs1 G A . PASS . GT 0/1 1/1 ./. 1|0
chr6 200 . T C . . . GT:DS 0|0:0 1:1 .:2.0 1:0.875
6 300 twice G A . . . DS:GT 0 0 0:0/0 0.125
7 300 twice G A . . . GQ:GT 9:. 9:1 9:0 9
`)

const vcfFam = "f1 a 0 0 1 1\nf2 b 0 0 2 2\nf3 c 0 0 0 0\nf4 d 0 0 1 -9\nf5 e 0 0 2 2\n"

// The persons of the .fam file keep their order, dosages take precedence over genotypes, and one
// allele alone, or its dosage, counts twice.
func TestVCF(t *testing.T) {
	data, err := readVCF("small.vcf", strings.NewReader(smallVCF), []byte(vcfFam), Region{})
	require.NoError(t, err)
	requireGenotypes(t, data, func(float64) bool { return true })
	for name, want := range map[string]string{
		"phenotype":    "0 1 NA 1",
		"sex":          "1 2 NA 2",
		"rs1":          "2 NA 1 1",
		"chr6:200:T:C": "2 2 1.75 0",
		"6:300:G:A":    "0 0 0.125 0",
		"7:300:G:A":    "2 0 NA NA",
	} {
		c, err := data.Lookup(name)
		require.NoError(t, err)
		var cells []string
		for row := range data.Rows() {
			if c.IsMissing(row) {
				cells = append(cells, "NA")
			} else {
				cells = append(cells, c.Text(row))
			}
		}
		assert.Equal(t, want, strings.Join(cells, " "), name)
		assert.Equal(t, name != "phenotype" && name != "sex", c.Genotype, name)
	}
	assert.Equal(t, "row 5", data.Place(3), "of the .fam file")
	part, err := readVCF("small.vcf", strings.NewReader(smallVCF), []byte(vcfFam), Region{"6", 200, 300})
	require.NoError(t, err)
	assert.Equal(t, "phenotype sex chr6:200:T:C twice", strings.Join(part.Names(), " "))
	assert.NotEqual(t, data.Fingerprint, part.Fingerprint)
	_, err = readVCF("small.vcf", strings.NewReader(smallVCF), []byte(vcfFam), Region{"8", 1, 2})
	assert.EqualError(t, err, "small.vcf: no marker lies in 8:1-2; markers of each chromosome: 6 (2), chr6 (1), 7 (1)")
}

// A compressed file gives the same table. It consists of several gzip files one after the other, as
// bgzip writes them.
func TestCompressedVCF(t *testing.T) {
	t.Chdir(t.TempDir())
	var packed bytes.Buffer
	for line := range strings.Lines(smallVCF) {
		w := gzip.NewWriter(&packed)
		_, err := w.Write([]byte(line))
		require.NoError(t, err)
		require.NoError(t, w.Close())
	}
	write := func(name, content string) { require.NoError(t, os.WriteFile(name, []byte(content), 0o600)) }
	write("a.vcf.gz", packed.String())
	write("a.fam", vcfFam)
	write("b.vcf", smallVCF)
	write("b.fam", vcfFam)
	compressed, err := ReadFile("a.vcf.gz")
	require.NoError(t, err)
	plain, err := ReadFile("b.vcf")
	require.NoError(t, err)
	assert.Equal(t, plain.Fingerprint, compressed.Fingerprint)
	assert.Equal(t, plain.Names(), compressed.Names())
	write("c.vcf.gz", smallVCF)
	write("c.fam", vcfFam)
	_, err = ReadFile("c.vcf.gz")
	assert.ErrorContains(t, err, "c.vcf.gz: not compressed by gzip or bgzip")
	write("a.vcf.gz", packed.String()[:packed.Len()-4])
	_, err = ReadFile("a.vcf.gz")
	assert.ErrorContains(t, err, "unexpected EOF")
	require.NoError(t, os.Remove("b.fam"))
	_, err = ReadFile("b.vcf")
	assert.EqualError(t, err, "b.fam: no such file; it must be beside b.vcf (it holds the persons of a VCF file, with their phenotypes)")
}

func TestVCFErrors(t *testing.T) {
	replace := func(old, new string) string { return strings.Replace(smallVCF, old, new, 1) }
	for name, c := range map[string]struct{ vcf, fam, want string }{
		"not a VCF":        {"x,y\n1,2\n", vcfFam, `small.vcf: line 1: not a VCF file: got "x,y", want lines that begin with ##, and then the line #CHROM of the samples`},
		"empty":            {"", vcfFam, "small.vcf: not a VCF file: the line #CHROM of the samples is missing"},
		"no markers":       {smallVCF[:strings.Index(smallVCF, "6\t100")], vcfFam, "small.vcf: the file holds no markers"},
		"no samples":       {"#CHROM\tPOS\tID\tREF\tALT\tQUAL\tFILTER\tINFO\n", vcfFam, "line 1: the file has no samples: got 8 columns, want 9 and one for each sample"},
		"unknown sample":   {replace("f1_a", "z"), vcfFam, `line 3: sample "z" is no person of the .fam file; give it a line there, with phenotype -9 if it has none`},
		"sample twice":     {replace("f1_a", "f5_e"), vcfFam, `line 3: sample "f5_e" is a person for the second time`},
		"person twice":     {smallVCF, vcfFam + "f6 b 0 0 1 1\n", `line 3: sample "b" is more than one person of the .fam file`},
		"empty fam":        {smallVCF, "", "small.fam: the file holds no persons"},
		"position":         {replace("100", "1e2"), vcfFam, `line 4: position: got "1e2", want a whole number`},
		"alleles":          {replace("G\tA", "G\tA,T"), vcfFam, "line 4: 6:100 has several alternative alleles (A,T); make a line of each (bcftools norm -m -)"},
		"format":           {replace("GT", "GP"), vcfFam, "line 4: the format GP has neither DS (dosages) nor GT (genotypes)"},
		"genotype":         {replace("1|0", "1|2"), vcfFam, `line 4: sample 4: got "1|2" as GT, want a number from 0 to 2 (DS), or two alleles 0 or 1 (GT)`},
		"three alleles":    {replace("1|0", "1/0/0"), vcfFam, `sample 4: got "1/0/0" as GT`},
		"dosage":           {replace("2.0", "2.5"), vcfFam, `line 5: sample 3: got ".:2.5" as GT:DS`},
		"dosage of one":    {replace("0.875", "1.5"), vcfFam, `line 5: sample 4: got "1:1.5" as GT:DS`},
		"few samples":      {replace("\t1|0", ""), vcfFam, "line 4: got 3 samples, want 4 as in the line #CHROM"},
		"many samples":     {replace("1|0", "1|0\t0|0"), vcfFam, "line 4: got 5 samples, want 4 as in the line #CHROM"},
		"few columns":      {replace("\tGT\t0/1", ""), vcfFam, "line 4: the format 1/1 has neither"},
		"short line":       {smallVCF + "6\t7\tx\n", vcfFam, "line 8: got 3 columns, want 9 and one for each sample"},
		"one marker twice": {smallVCF + "chr6\t200\t.\tT\tC\t.\t.\t.\tDS\t1\t1\t1\t1\n", vcfFam, "lines 5 and 8 are one marker, chr6:200:T:C"},
		"name":             {replace("rs1", "rs\xff"), vcfFam, `line 4: the name of the marker is not UTF-8 text: "rs\xff"`},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := readVCF("small.vcf", strings.NewReader(c.vcf), []byte(c.fam), Region{})
			assert.ErrorContains(t, err, c.want)
		})
	}
}

func FuzzVCF(f *testing.F) {
	f.Add(smallVCF, vcfFam, "6:200-300")
	f.Add(smallVCF, vcfFam, "")
	f.Add("#CHROM\tPOS\tID\tREF\tALT\tQUAL\tFILTER\tINFO\tFORMAT\tp\n1\t1\t.\tA\tC\t.\t.\t.\tDS\t.", "f p 0 0 1 NA", "")
	f.Fuzz(func(t *testing.T, vcf, fam, text string) {
		var region Region
		if err := region.UnmarshalText([]byte(text)); err != nil && text != "" {
			return
		}
		if table, err := readVCF("fuzz.vcf", strings.NewReader(vcf), []byte(fam), region); err == nil {
			requireGenotypes(t, table, func(v float64) bool { return v >= 0 && v <= 2 })
		}
	})
}
