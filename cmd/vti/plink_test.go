package main

import (
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/transdim/vti/cmd/internal/shell"
	"github.com/transdim/vti/lab/testkit"
)

// writeGenotypes writes random genotypes of 41 persons at 8 markers as region.bed, .bim and .fam,
// and as region.vcf. It writes the same table as region.csv, with missing cells, and as full.csv,
// where each missing genotype is replaced by the mean of its marker, and the person without a
// phenotype is left out. It returns the number of missing genotypes of the persons with a
// phenotype.
func writeGenotypes(t *testing.T) (missing int) {
	const persons, markers, unseen = 41, 8, 17
	random := rand.New(rand.NewPCG(1, 2))
	bed := []byte{0x6c, 0x1b, 0x01}
	var bim, fam, header strings.Builder
	raw, full := make([]strings.Builder, persons), make([]strings.Builder, persons)
	header.WriteString("phenotype,sex")
	effects := make([]float64, persons)
	vcf := "##fileformat=VCFv4.3\n#CHROM\tPOS\tID\tREF\tALT\tQUAL\tFILTER\tINFO\tFORMAT"
	for i := range persons {
		vcf += fmt.Sprintf("\tp%d", i)
	}
	for j := range markers {
		fmt.Fprintf(&bim, "%d rs%d 0 %d A G\n", 5+j/4, j, 100*j)
		fmt.Fprintf(&header, ",rs%d", j)
		packed := make([]byte, (persons+3)/4)
		copies, sum, known := make([]int, persons), 0, 0
		for i := range copies {
			copies[i] = random.IntN(3)
			bits := [3]byte{0b11, 0b10, 0b00}[copies[i]]
			if effects[i] += 0.8 * float64(copies[i]*(j%2)); random.IntN(20) == 0 {
				copies[i], bits = -1, 0b01
			}
			packed[i/4] |= bits << (i % 4 * 2)
			if i != unseen && copies[i] >= 0 {
				sum, known = sum+copies[i], known+1
			}
		}
		bed = append(bed, packed...)
		vcf += fmt.Sprintf("\n%d\t%d\trs%d\tG\tA\t.\t.\t.\tDS", 5+j/4, 100*j, j)
		for i, n := range copies {
			if n >= 0 {
				vcf += fmt.Sprintf("\t%d", n)
				fmt.Fprintf(&raw[i], ",%d", n)
				fmt.Fprintf(&full[i], ",%d", n)
				continue
			}
			vcf += "\t."
			raw[i].WriteString(",NA")
			fmt.Fprintf(&full[i], ",%v", float64(sum)/float64(known))
		}
		missing += persons - 1 - known
	}
	tables := [2]string{header.String() + "\n", header.String() + "\n"}
	for i := range persons {
		sex, y := 1+i%2, fmt.Sprintf("%.4f", effects[i]+random.NormFloat64())
		if i == unseen {
			fmt.Fprintf(&fam, "f p%d 0 0 %d -9\n", i, sex)
			tables[0] += fmt.Sprintf("NA,%d%s\n", sex, raw[i].String())
			continue
		}
		fmt.Fprintf(&fam, "f p%d 0 0 %d %s\n", i, sex, y)
		tables[0] += fmt.Sprintf("%s,%d%s\n", y, sex, raw[i].String())
		tables[1] += fmt.Sprintf("%s,%d%s\n", y, sex, full[i].String())
	}
	for name, content := range map[string]string{"region.bed": string(bed), "region.vcf": vcf + "\n", "region.bim": bim.String(), "region.fam": fam.String(), "region.csv": tables[0], "full.csv": tables[1]} {
		require.NoError(t, os.WriteFile(name, []byte(content), 0o600))
	}
	return missing
}

// TestPlink: genotypes in a .bed file give the same answer as in a CSV file.
func TestPlink(t *testing.T) {
	testkit.Slow(t)
	t.Chdir(t.TempDir())
	missing := writeGenotypes(t)
	require.Positive(t, missing)
	answer := func(dir string, args ...string) (outcome, []float64) {
		got := mustRun(t, append([]string{"varsel"}, append(args, "-t", "phenotype", "--json", "--no-report", "--out", dir)...)...)
		result := decode(t, got.stdout)
		var numbers []float64
		for _, p := range result.Inclusion {
			numbers = append(numbers, float64(p.Certified))
		}
		return got, append(numbers, float64(*result.LogEvidence))
	}
	_, want := answer("full", "full.csv")
	got, found := answer("mean", "region.bed", "--na", "mean")
	assert.Equal(t, want, found)
	assert.Contains(t, got.stderr, fmt.Sprintf("%d missing genotypes replaced by the mean of the marker", missing))
	assert.Contains(t, got.stderr, "1 row with missing values dropped")

	_, want = answer("dropped", "region.csv", "--na", "drop")
	_, found = answer("drop", "region.bed", "--na", "drop")
	assert.Equal(t, want, found)

	_, found = answer("dosages", "region.vcf", "--na", "drop")
	assert.Equal(t, want, found)

	_, want = answer("half", "full.csv", "--exclude", "rs0,rs1,rs2,rs3,rs7")
	_, found = answer("part", "region.bed", "--na", "mean", "--region", "6:400-600")
	require.Len(t, found, 5, "sex, three markers and the evidence")
	for i := range want[:4] {
		assert.False(t, math.IsNaN(found[i]))
	}
	// The means that replace missing genotypes are computed over the same persons in both tables.
	assert.Equal(t, want, found)

	// later commands read the region of the run again, and predict persons with missing genotypes
	assert.Contains(t, mustRun(t, "loo", "part", "--by", "rs5", "--refit", "--quiet").stdout, "rs5")
	assert.Contains(t, mustRun(t, "predict", "part", "region.csv", "--quiet=false").stdout, "replaced by the mean of the marker in the table of the run")
}

func TestPlinkErrors(t *testing.T) {
	t.Chdir(t.TempDir())
	writeGenotypes(t)
	for args, want := range map[string]string{
		"region.bed -t phenotype":                                                        "--na mean replaces missing genotypes by the mean of their marker, --exclude leaves columns out",
		"region.bed -t phenotype --region 7:1-9":                                         "region.bed: no marker lies in 7:1-9; markers of each chromosome: 5 (4), 6 (4)",
		"region.bed -t phenotype --region 6":                                             "expected chromosome:from-to, such as 6:31000000-32000000",
		"full.csv -t phenotype --region 6:1-9":                                           "a region (6:1-9) is for genotypes",
		"full.csv -t phenotype --na mean":                                                "no predictor is a genotype of a .bed or .vcf file",
		"region.bed -t phenotype --na mean --factor sex,rs0,rs1,rs2,rs3,rs4,rs5,rs6,rs7": "no predictor is a genotype of a .bed or .vcf file",
	} {
		got := vtiCommand(t, append([]string{"varsel"}, strings.Fields(args)...)...)
		assert.Equal(t, shell.StatusUsage, got.status, args)
		assert.Contains(t, got.stderr, want, args)
	}
}
