package table

import (
	"fmt"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func parse(t *testing.T, content string) *Table {
	t.Helper()
	table, err := Parse("data.csv", []byte(content))
	require.NoError(t, err)
	return table
}

func lookup(t *testing.T, table *Table, name string) *Column {
	t.Helper()
	c, err := table.Lookup(name)
	require.NoError(t, err)
	return c
}

func TestParseCSVFormats(t *testing.T) {
	for name, content := range map[string]string{
		"plain":       "x,g,y\n1,b,2.5\n-3e2,a,.5\n",
		"semicolon":   "x;g;y\n1;b;2.5\n-3e2;a;.5\n",
		"commas":      "x;g;y\r\n1;b;2,5\r\n-3e2;a;,5\r\n",
		"commas, tab": "x\tg\ty\n1\tb\t\"2,5\"\n-3e2\ta\t\"0,5\"\n", // spreadsheets quote commas
		"tab":         "x\tg\ty\n1\tb\t2.5\n-3e2\ta\t.5\n",
		"crlf":        "x,g,y\r\n1,b,2.5\r\n-3e2,a,.5\r\n",
		"old mac":     "x,g,y\r1,b,2.5\r-3e2,a,.5",
		"bom":         "\xef\xbb\xbfx,g,y\n1,b,2.5\n-3e2,a,.5",
		"comments":    "# made by hand, one;two\n#\n\nx,g,y\n1,b,2.5\n-3e2,a,.5\n",
		"quotes":      "\"x\",\"g\",\"y\"\n1,\"b\",\"2.5\"\n-3e2,a,.5\n",
		"blank lines": "x,g,y\n\n1,b,2.5\n   \n-3e2,a,.5\n\n",
		"spaces":      " x, g ,y\n 1,b , 2.5\n-3e2,a,.5\n",
	} {
		t.Run(name, func(t *testing.T) {
			table := parse(t, content)
			assert.Equal(t, []string{"x", "g", "y"}, table.Names())
			assert.Equal(t, 2, table.Rows())
			assert.Equal(t, []float64{1, -300}, lookup(t, table, "x").Values)
			assert.Equal(t, []float64{2.5, 0.5}, lookup(t, table, "y").Values)
			g := lookup(t, table, "g")
			assert.Equal(t, Factor, g.Kind)
			assert.Equal(t, []string{"a", "b"}, g.Levels)
			assert.Equal(t, []int{1, 0}, g.Codes)
		})
	}
}

func TestParseCSVQuotedCells(t *testing.T) {
	table := parse(t, "\"a,b\",c\n\"two\nlines\",1\n\"say \"\"hi\"\"\",2\n")
	c := lookup(t, table, "a,b")
	assert.Equal(t, []string{"say \"hi\"", "two\nlines"}, c.Levels)
	assert.Equal(t, "line 2", table.Place(0))
	assert.Equal(t, "line 4", table.Place(1))
}

// Numbers in quotes are labels if all cells of their column are in quotes and some cell of another
// column is not.
func TestParseCSVQuotedNumbers(t *testing.T) {
	for name, c := range map[string]struct {
		content string
		levels  []string // levels of x; nil if x holds numbers
	}{
		"as R writes a factor":        {"\"x\",\"y\"\n\"1\",2.5\n\"10\",3\nNA,1\n\"2\",4\n", []string{"1", "10", "2"}},
		"zeros before":                {"x,y\n\"01\",2.5\n\"1\",3\n", []string{"01", "1"}},
		"with other labels":           {"x,y\n\"1\",2.5\n\"2\",3\n\"3+\",1\n", []string{"1", "2", "3+"}},
		"after a cell of two lines":   {"y,x\n\"a\nb\",\"2\"\nb,\"1\"\n", []string{"1", "2"}},
		"windows, comments":           {"# one\r\n\r\ny;x\r\n1;\"2\"\r\n3;\"1\"\r\n", []string{"1", "2"}},
		"letters of several bytes":    {"y,x\nä,\"2\"\nö,\"1\"\n", []string{"1", "2"}},
		"one cell without":            {"x,y\n\"1\",2.5\n10,3\n", nil},
		"every cell of the file":      {"x,y\n\"1\",\"2.5\"\n\"10\",\"3\"\n", nil},
		"every cell but missing ones": {"x,y\n\"1\",NA\n\"10\",\"3\"\n", nil},
		"one column":                  {"x\n\"1\"\n\"10\"\n", nil},
		"header alone":                {"\"x\",\"y\"\n1,2\n10,3\n", nil},
	} {
		t.Run(name, func(t *testing.T) {
			x := lookup(t, parse(t, c.content), "x")
			require.Equal(t, c.levels, x.Levels)
			require.Equal(t, c.levels != nil, x.Kind == Factor)
			kept, _, err := parse(t, c.content).DropMissing([]string{"x"})
			require.NoError(t, err)
			require.Equal(t, c.levels, lookup(t, kept, "x").Levels)
		})
	}
	_, err := parse(t, "x,y\n\"1,5\",1\n\"2,5\",2\n").Lookup("x")
	require.ErrorContains(t, err, "want a number with a decimal point")
	table := parse(t, "x,y\nNA,1\n\"3\",2\n")
	require.Equal(t, `text ("3" in line 3; numbers in quotes are text where other columns have none)`, table.TextFound(lookup(t, table, "x")))
}

func TestParseCSVMissing(t *testing.T) {
	table := parse(t, "x,g,none\nNA,a,\n,NA,.\n1,.,NA\nNaN,b,nan\nnan,,null\nnull,a,NaN\n")
	x, g, none := lookup(t, table, "x"), lookup(t, table, "g"), lookup(t, table, "none")
	assert.Equal(t, 5, x.Missing)
	assert.Equal(t, 1.0, x.Values[2])
	assert.True(t, math.IsNaN(x.Values[0]))
	assert.Equal(t, []int{0, -1, -1, 1, -1, 0}, g.Codes)
	assert.Equal(t, 3, g.Missing)
	assert.Equal(t, Numeric, none.Kind)
	assert.Equal(t, 6, none.Missing)
	assert.Equal(t, "NA", g.Text(1))
	assert.Equal(t, "b", g.Text(3))
}

func TestParseCSVErrors(t *testing.T) {
	for name, test := range map[string]struct{ content, want string }{
		"empty":            {"", "the file is empty"},
		"only comments":    {"# nothing\n# here\n", "the file is empty"},
		"no rows":          {"x,y\n", "no data rows after the header"},
		"no header":        {"1,2,3\n4,5,6\n", `no header: line 1 holds only numbers (first "1")`},
		"no header, late":  {"# id,x\n7,2\n4,5\n", "no header: line 2"},
		"ragged":           {"# c\nx,y\n1,2\n3\n", "line 4: got 1 cell, want 2 as in the header"},
		"ragged long":      {"x,y\n1,2\n3,4,5\n", "line 3: got 3 cells, want 2 as in the header"},
		"ragged in quotes": {"x,y\n\"a\nb\",2\n3\n", "line 4: got 1 cell, want 2"},
		"duplicate":        {"x,y,x\n1,2,3\n", `line 1: the name "x" stands for both column 1 and column 3`},
		"empty name":       {",x,y\n1,2,3\n", "line 1: column 1 of 3 has no name"},
		"bare quote":       {"x,y\n1,2\n3,a\"b\n", "line 3: bare \""},
		"binary":           {"x,y\n1,\x00\n", "not a table: binary content (byte 0x00 in line 2)"},
		"zip":              {"PK\x03\x04abc", "not a table: the file is a zip archive or a workbook"},
		"gzip":             {"\x1f\x8b\x08abc", "not a table: the file is compressed by gzip; unpack it"},
		"latin-1":          {"x,y\n1,caf\xe9\n", "line 2 is not UTF-8 text (byte 0xe9)"},
		"utf-16":           {"\xff\xfex\x00,\x00", "UTF-16"},
		"html":             {"<!DOCTYPE html>\n<html>\n", "like HTML or JSON"},
		"json":             {" {\"x\": 1}\n", "like HTML or JSON"},
		"spaces":           {"x y\n1 2\n", "cells look separated by spaces"},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := Parse("data.csv", []byte(test.content))
			require.Error(t, err)
			assert.Contains(t, err.Error(), test.want)
			assert.True(t, strings.HasPrefix(err.Error(), "data.csv: "), err.Error())
		})
	}
}

func TestParseCSVBadCells(t *testing.T) {
	for cell, want := range map[string]string{
		"abc":       `data.csv: line 3, column "x": got "abc", want a finite number or NA, as in the rest of the column ("1" in line 2)`,
		"Inf":       `got "Inf"`,
		"-infinity": `got "-infinity"`,
		"NAN":       `got "NAN"`,
		"1e999":     `got "1e999"`,
		"0x10p1":    `got "0x10p1"`,
		"1 000":     `got "1 000"`,
	} {
		table := parse(t, "x,y\n1,1\n"+cell+",2\n3,4\n")
		_, err := table.Lookup("x")
		require.Error(t, err, cell)
		assert.Contains(t, err.Error(), want)
		lookup(t, table, "y") // the other columns of the table stay usable
	}
	for content, cell := range map[string]string{
		"x;y\n1,5;1.5\n2,5;2\n":       "1,5",   // a number with a point is in the other column
		"x;y\n1,500;1\n2,500;2\n":     "1,500", // the comma may separate thousands
		"x,y\n\"1,5\",1\n\"2,5\",2\n": "1,5",
	} {
		_, err := parse(t, content).Lookup("x")
		require.ErrorContains(t, err, `line 2, column "x": got "`+cell+`", want a number with a decimal point`)
	}
	_, err := parse(t, "x,y\nInf,1\nInf,2\n").Lookup("x")
	require.ErrorContains(t, err, `line 2, column "x": got "Inf", want a finite number or NA`)
}

func TestReadFile(t *testing.T) {
	table, err := ReadFile("../testdata/diabetes.csv")
	require.NoError(t, err)
	assert.Equal(t, 442, table.Rows())
	assert.Equal(t, strings.Split("age,sex,bmi,map,tc,ldl,hdl,tch,ltg,glu,y", ","), table.Names())
	assert.Equal(t, "9ce62199da0d247e4a473cc537ddb77b34ec758d73969d2680bad137ae1ccdc5", table.Fingerprint)
	assert.Equal(t, 151.0, lookup(t, table, "y").Values[0])

	_, err = ReadFile("no/such.csv")
	require.EqualError(t, err, "no/such.csv: no such file")
	_, err = ReadFile(t.TempDir())
	require.Error(t, err)
}

// TestProvenance checks every data file against the table in testdata/README.md.
func TestProvenance(t *testing.T) {
	readme, err := os.ReadFile("../testdata/README.md")
	require.NoError(t, err)
	files, err := filepath.Glob("../testdata/*.csv")
	require.NoError(t, err)
	for _, dir := range []string{"robust_vs", "trjp_block"} {
		more, err := filepath.Glob("../testdata/" + dir + "/*.csv")
		require.NoError(t, err)
		files = append(files, more...)
	}
	require.Len(t, files, 29)
	for _, path := range files {
		table, err := ReadFile(path)
		require.NoError(t, err)
		name, err := filepath.Rel("../testdata", path)
		require.NoError(t, err)
		row := fmt.Sprintf("| %s | %d x %d | `%s` |", filepath.ToSlash(name), table.Rows(), len(table.Names()), table.Fingerprint)
		assert.Contains(t, string(readme), row)
	}
}

func FuzzParse(f *testing.F) {
	for _, seed := range []string{"x,y\n1,2\n", "# c\n\"a\",b;c\n1,\"x\n\",3\n", "x\ty\r1\tNA\r", "\xef\xbb\xbf", "PAR1xxPAR1", "x;y\n1,5;2\n"} {
		f.Add([]byte(seed))
	}
	files, err := filepath.Glob("testdata/*.parquet")
	require.NoError(f, err)
	require.NotEmpty(f, files)
	for _, path := range files {
		content, err := os.ReadFile(path)
		require.NoError(f, err)
		f.Add(content)
	}
	f.Fuzz(func(t *testing.T, content []byte) {
		table, err := Parse("fuzz", content)
		if err != nil {
			return
		}
		rows := table.Rows()
		require.Positive(t, rows)
		for _, name := range table.Names() {
			c, err := table.Lookup(name)
			if err != nil {
				continue
			}
			missing := 0
			for row := range rows {
				if c.IsMissing(row) {
					missing++
					continue
				}
				require.NotEqual(t, "NA", c.Text(row))
			}
			require.Equal(t, c.Missing, missing)
			kept, dropped, err := table.DropMissing([]string{name})
			require.NoError(t, err)
			require.Equal(t, missing, dropped)
			require.Equal(t, rows-missing, kept.Rows())
			require.Equal(t, rows, len(c.AsFactor().Codes))
		}
	})
}
