package study

import (
	"cmp"
	"fmt"
	"math"
	"math/rand/v2"
	"strconv"

	"github.com/transdim/vti/internal/apply"
	"github.com/transdim/vti/internal/english"
	"github.com/transdim/vti/internal/rundir"
	"github.com/transdim/vti/internal/stream"
)

// Expression is a simulated study of gene expression: genotypes of markers (SNPs) along a
// chromosome, and genes whose expression depends on some nearby markers. Zero sizes stand for the
// defaults.
type Expression struct {
	// People is the number of rows (default 150). Genes is the number of responses (default 2,000).
	// Nearby is the number of markers around each gene (default 8); half of these are shared with
	// the next gene.
	People, Genes, Nearby int
	// Seed selects the random streams.
	Seed uint64
}

// The sizes of the design follow published studies. Neighbouring markers are correlated. Two genes
// in five have one or two markers with an effect. About half of these markers are correlated with
// markers without an effect.
const (
	markerCorrelation = 0.8 // correlation of the normal variables behind neighbouring markers
	// regulatedShare is the share of genes with an effect of a marker.
	regulatedShare = 0.4
	secondShare    = 0.25 // share of the regulated genes that have a second marker
	leastEffect    = 0.3  // effect of one allele, in standard deviations of the noise
	largestEffect  = 0.9
)

// expressionEffect is the effect of a marker on a gene.
type expressionEffect struct {
	gene, marker int
	size         float64
}

// Write writes three files to dir. expression.csv has a row for each person, and a column for every
// gene and every marker. nearby.csv has the pairs of genes and nearby markers. truth.csv has the
// markers with effects, and the effects. The same seed gives the same files.
func (e Expression) Write(dir string) error {
	e.People, e.Genes, e.Nearby = cmp.Or(e.People, 150), cmp.Or(e.Genes, 2000), cmp.Or(e.Nearby, 8)
	if e.People < 3 || e.Genes < 1 || e.Nearby < 2 || e.Nearby%2 != 0 {
		return fmt.Errorf("got %d people, %s and %s, want at least 3, 1 and an even number from 2", e.People, english.Count(e.Genes, "gene"), english.Count(e.Nearby, "nearby marker"))
	}
	random := stream.Rand(e.Seed, "expression")
	markers := (e.Genes + 1) * e.Nearby / 2
	genotypes := e.genotypes(random, markers)
	effects := e.effects(random)
	expression := e.expression(random, genotypes, effects)
	nearby, truth := [][]string{{"response", "predictor"}}, [][]string{{"response", "predictor", "effect"}}
	for gene := range e.Genes {
		for k := range e.Nearby {
			nearby = append(nearby, []string{geneName(gene), markerName(e.first(gene) + k)})
		}
	}
	for _, f := range effects {
		truth = append(truth, []string{geneName(f.gene), markerName(f.marker), strconv.FormatFloat(f.size, 'g', 6, 64)})
	}
	return rundir.WriteTables(dir, map[string][][]string{"expression.csv": e.table(expression, genotypes), "nearby.csv": nearby, "truth.csv": truth})
}

func geneName(gene int) string     { return fmt.Sprintf("gene%05d", gene+1) }
func markerName(marker int) string { return fmt.Sprintf("snp%06d", marker+1) }

func (e Expression) first(gene int) int { return gene * e.Nearby / 2 }

// genotypes returns the number of alleles, 0 to 2, by marker and person. A person has two
// chromosomes. Each has an allele if a normal variable, correlated along the chromosome, exceeds
// the quantile that gives the allele its frequency.
func (e Expression) genotypes(random *rand.Rand, markers int) [][]int8 {
	counts := apply.UpTo(markers, func(int) []int8 { return make([]int8, e.People) })
	thresholds := apply.UpTo(markers, func(int) float64 {
		frequency := 0.1 + 0.4*random.Float64()
		return math.Sqrt2 * math.Erfinv(1-2*frequency)
	})
	for person := range e.People {
		for range 2 {
			z := random.NormFloat64()
			for m := range counts {
				if z > thresholds[m] {
					counts[m][person]++
				}
				z = markerCorrelation*z + math.Sqrt(1-markerCorrelation*markerCorrelation)*random.NormFloat64()
			}
		}
	}
	return counts
}

func (e Expression) effects(random *rand.Rand) (effects []expressionEffect) {
	for gene := range e.Genes {
		if random.Float64() >= regulatedShare {
			continue
		}
		n := 1
		if random.Float64() < secondShare {
			n = 2
		}
		for _, k := range random.Perm(e.Nearby)[:n] {
			size := leastEffect + (largestEffect-leastEffect)*random.Float64()
			if random.Float64() < 0.5 {
				size = -size
			}
			effects = append(effects, expressionEffect{gene, e.first(gene) + k, size})
		}
	}
	return effects
}

// expression returns the expression of every gene in every person, by gene.
func (e Expression) expression(random *rand.Rand, genotypes [][]int8, effects []expressionEffect) [][]float64 {
	values := apply.UpTo(e.Genes, func(int) []float64 { return stream.Normals(random, e.People) })
	for _, f := range effects {
		for person, count := range genotypes[f.marker] {
			values[f.gene][person] += f.size * float64(count)
		}
	}
	return values
}

// table returns a row for each person: the expression of every gene with four digits, and the
// number of alleles of every marker.
func (e Expression) table(expression [][]float64, genotypes [][]int8) [][]string {
	rows := make([][]string, 1+e.People)
	for gene, values := range expression {
		rows[0] = append(rows[0], geneName(gene))
		for person, value := range values {
			rows[1+person] = append(rows[1+person], strconv.FormatFloat(value, 'f', 4, 64))
		}
	}
	for marker, counts := range genotypes {
		rows[0] = append(rows[0], markerName(marker))
		for person, count := range counts {
			rows[1+person] = append(rows[1+person], strconv.Itoa(int(count)))
		}
	}
	return rows
}
