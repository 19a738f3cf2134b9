package formula

import (
	"math"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/transdim/vti/table"
)

const small = "y,x,z,f,g\n1,1,4,a,p\n2,3,2.5,b,q\n4,2,8,a,r\n3,5,1,c,q\n6,4,3,b,s\n5,7.5,0.5,c,s\n2,2,6,a,r\n7,9,7,b,p\n1,6,5,c,r\n"

func smallTable(t *testing.T, content string) *table.Table {
	t.Helper()
	data, err := table.Parse("small.csv", []byte(content))
	require.NoError(t, err)
	return data
}

// design returns the columns of all population terms of a formula.
func design(t *testing.T, data *table.Table, text string, seen int) (columns []Column) {
	t.Helper()
	f, err := Parse(text)
	require.NoError(t, err)
	for _, term := range f.Terms {
		more, err := term.Expand(data, f.Terms, seen, false)
		require.NoError(t, err)
		columns = append(columns, more...)
	}
	return columns
}

// The columns agree with model.matrix of R 4.2, in any order and to 12 digits. R writes C(f, sum)
// as C(f, contr.sum), C(g, helmert) as C(g, contr.helmert), and the reference "b" as C(f,
// contr.treatment(3, base = 2)).
func TestColumnsAreThoseOfR(t *testing.T) {
	data := smallTable(t, small)
	for text, want := range map[string]string{
		`y ~ poly(x, 4)`: `1 1 1 1 1 1 1 1 1
-0.441611780142 -0.180988434485 -0.311300107314 0.0796349111732 -0.0506767616557 0.405414093246 -0.311300107314 0.600881602489 0.209946584002
0.497302402412 -0.179944948241 0.10087822856 -0.394788310687 -0.34516712799 -0.0130869053266 0.10087822856 0.562736929046 -0.328808496332
-0.503575404339 0.375556362964 0.182245028385 -0.0586349677419 0.240536923041 -0.447311418313 0.182245028385 0.386719433362 -0.357780985743
0.377547629789 -0.117242721236 -0.330831102624 0.384951218159 0.268021260044 -0.5844391398 -0.330831102624 0.229004537398 0.103819420894`,
		`y ~ scale(z):I(x/z^2) + I(-(x-3)^2*2) + I(log(x*z) - exp(-x))`: `1 1 1 1 1 1 1 1 1
-8 0 -2 -8 -2 -40.5 -2 -72 -18
1.01841491995 1.96511595217 2.637253439 1.60269996544 2.4665910109 1.32120275561 2.34957136655 4.14301131659 3.39871862949
-0.00266334488375 -0.296590086255 0.0466085354657 -5.96589253961 -0.189393413956 -41.5481801865 0.0402461004656 0.20350129071 0.0818179548289`,
		`y ~ C(f, sum)*z`: `1 1 1 1 1 1 1 1 1
1 0 1 -1 0 -1 1 0 -1
0 1 0 -1 1 -1 0 1 -1
4 2.5 8 1 3 0.5 6 7 5
4 0 8 -1 0 -0.5 6 0 -5
0 2.5 0 -1 3 -0.5 0 7 -5`,
		`y ~ C(g, helmert)*C(f, reference="b")`: `1 1 1 1 1 1 1 1 1
-1 1 0 1 0 0 0 -1 0
-1 -1 2 -1 0 0 2 -1 2
-1 -1 -1 -1 3 3 -1 -1 -1
1 0 1 0 0 0 1 0 0
0 0 0 1 0 1 0 0 1
-1 0 0 0 0 0 0 0 0
-1 0 2 0 0 0 2 0 0
-1 0 -1 0 0 0 -1 0 0
0 0 0 1 0 0 0 0 0
0 0 0 -1 0 0 0 0 2
0 0 0 -1 0 3 0 0 -1`,
		`y ~ 0 + C(f, sum) + C(g, sum)`: `1 0 1 0 0 0 1 0 0
0 1 0 0 1 0 0 1 0
0 0 0 1 0 1 0 0 1
1 0 0 0 -1 -1 0 1 0
0 1 0 1 -1 -1 0 0 0
0 0 1 0 -1 -1 1 0 1`,
	} {
		columns := design(t, data, text, data.Rows())
		lines := strings.Split(want, "\n")
		require.Len(t, columns, len(lines), text)
		for _, line := range lines {
			found := false
			for _, c := range columns {
				equal := true
				for i, field := range strings.Fields(line) {
					value, err := strconv.ParseFloat(field, 64)
					require.NoError(t, err)
					equal = equal && c.Values[i] > value-1e-10 && c.Values[i] < value+1e-10
				}
				found = found || equal
			}
			assert.True(t, found, "%s: no column %s", text, line)
		}
	}
}

// In rows after the fitted rows, polynomials and scales use the constants of the fitted rows. They
// agree with R's predict(poly(x, 3), c(0, 10, 3.3)) and with (x − mean) / sd. A basis fitted to all
// rows would have other values.
func TestLaterRowsHaveTheSameFunctions(t *testing.T) {
	data := smallTable(t, small+"1,0,1,a,p\n1,10,1,a,p\n1,3.3,1,a,p\n")
	columns := design(t, data, "y ~ 0 + scale(x) + poly(x, 3)", 9)
	assert.InDeltaSlice(t, []float64{-0.571923452971, 0.731193275318, -0.141894932636}, columns[1].Values[9:], 1e-10)
	assert.InDeltaSlice(t, []float64{1.009327573317, 1.091120731609, -0.241649706856}, columns[2].Values[9:], 1e-10)
	assert.InDeltaSlice(t, []float64{-1.846083258848, 1.729460142907, 0.362055148584}, columns[3].Values[9:], 1e-10)
	assert.InDeltaSlice(t, []float64{-1.617643807663, 2.068126893341, -0.401339476332}, columns[0].Values[9:], 1e-10)
	assert.Equal(t, []string{"scale(x)", "poly(x, 3)1"}, []string{columns[0].Name, columns[1].Name})
	all := design(t, data, "y ~ 0 + poly(x, 3)", 12)
	assert.Greater(t, math.Abs(columns[1].Values[0]-all[0].Values[0]), 1e-3)
}

func TestColumnNames(t *testing.T) {
	data := smallTable(t, small)
	var names []string
	for _, c := range design(t, data, `y ~ C(f, sum) + C(g, reference="r") + C(f, helmert):z`, 9) {
		names = append(names, c.Name)
	}
	assert.Equal(t, []string{"", "C(f, sum)=a", "C(f, sum)=b", "g=p", "g=q", "g=s", "f=a:z", "f=b:z", "f=c:z"}, names)
}

func TestColumnErrors(t *testing.T) {
	data := smallTable(t, small)
	for text, want := range map[string]string{
		"y ~ poly(x, 8)":            `poly(x, 8): column "x" has 8 different values, want more than 8 for polynomials of degree 8`,
		"y ~ poly(f, 2)":            `column "f": got text ("a" in line 2), want numbers`,
		`y ~ C(f, reference="zz")`:  `column "f" has no label "zz"; it has ["a" "b" "c"]`,
		"y ~ I(1/(x - 3))":          "line 3: I(1 / (x - 3)) is +Inf, want a finite number",
		"y ~ log(I)":                "no column",
		"y ~ I(x + missing)":        "missing",
		"y ~ I(sqrt(z - 3) * 2)":    "is NaN, want a finite number",
		"y ~ C(f, sum):C(g, sum):z": "more columns than the table has rows (9)",
	} {
		f, err := Parse(text)
		require.NoError(t, err)
		_, err = f.Terms[1].Expand(data, f.Terms, data.Rows(), false)
		assert.ErrorContains(t, err, want, text)
	}
}
