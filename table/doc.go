// Package table holds a data table as typed columns, read by [ReadFile] or made by [New].
//
// Every defect of a file is an error that names the file, the line (of a CSV file) or row (of a
// Parquet file), the column, the text found and the text expected.
//
// # Conventions
//
// A CSV file is UTF-8 text with a header row. The separator (comma, semicolon or tab) is the most
// frequent of the three in the header. A byte order mark, CRLF line ends, quoted cells and '#'
// comment lines before the header are accepted; blank lines are skipped; spaces around a cell are
// dropped. Numbers have a decimal point. In a table separated by semicolons or tabs, numbers may
// have a decimal comma instead, as many spreadsheets write it. A decimal comma is assumed if no
// number of the file has a point, and if at least one comma cannot be a separator of thousands.
//
// A cell that reads NA, NaN, nan, null, a single point, or nothing is missing. A column with at
// least one finite number is [Numeric]; every other cell of it must then be a finite number or
// missing. A column with no finite number is a [Factor], whose levels are its distinct texts in
// byte order. A column whose cells are all in quotes is a Factor even if the cells are numbers,
// because R writes the codes of a factor in this way. If every cell of the file is in quotes, this
// rule does not apply. Parquet columns keep their type: integers, floats, decimals and booleans are
// Numeric (true is 1), texts are Factors, and nulls and NaN are missing.
//
// The function [ReadFile] refuses a file with lines of unequal length or a bad header. A column
// with a bad cell is an error only in [Table.Lookup], so that it does no harm if it is not used.
//
// PLINK 1 genotypes are three files: region.bed (the genotypes, ordered by marker), region.bim (the
// markers) and region.fam (the persons). The table has a row for each person. Its columns are
// phenotype, sex (1 or 2) and one for each marker: the number of copies of allele A1 of the .bim
// file. A marker has its id as name, or chromosome:position:A1:A2 if the id is a point or repeated.
// A phenotype that reads -9 or NA is missing. If all phenotypes are 0, 1, 2 or missing and at least
// one is 2, they are read as PLINK does: controls (1) become 0, cases (2) become 1, and 0 is
// missing. [ReadRegion] reads only the markers of a part of a chromosome.
//
// A VCF file, region.vcf or region.vcf.gz, with region.fam beside it, gives such a table too, with
// the copies of the alternative allele: expected numbers (DS) if the file has them, and otherwise
// genotypes (GT).
//
//	t, err := table.ReadFile("diabetes.csv")
//	if err != nil {
//		return err // diabetes.csv: line 7: got 10 cells, want 11 as in the header
//	}
//	y, err := t.Lookup("y")
//	if err != nil {
//		return err // diabetes.csv: no column "Y"; the nearest is "y"
//	}
//	fmt.Println(t.Rows(), y.Values[0])
package table
