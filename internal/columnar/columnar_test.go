package columnar

import (
	"bytes"
	"crypto/sha256"
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// TestSameRowsAreTheSameBytes checks that equal rows give equal files. This includes a column of
// long and distinct texts, which the writer stores without a dictionary.
func TestSameRowsAreTheSameBytes(t *testing.T) {
	columns := []Column{{Name: "text", Kind: Text}, {Name: "number", Kind: Double}}
	const rows = 5000
	var sums []string
	for range 10 {
		var content bytes.Buffer
		w, err := NewWriter(&content, columns, map[string]string{"a": "1", "b": "2"})
		require.NoError(t, err)
		for i := range rows {
			w.Text(strings.Repeat(" ", 600) + fmt.Sprint(i))
			w.Double(float64(i))
		}
		require.NoError(t, w.Close())
		sums = append(sums, fmt.Sprintf("%x", sha256.Sum256(content.Bytes())))
		require.Equal(t, sums[0], sums[len(sums)-1])

		f, err := NewFile(bytes.NewReader(content.Bytes()), int64(content.Len()))
		require.NoError(t, err)
		value, ok := f.Metadata("b")
		require.True(t, ok)
		require.Equal(t, "2", value)
		texts, err := f.Read(0, 0)
		require.NoError(t, err)
		require.Len(t, texts.Texts, rows)
		require.EqualValues(t, rows-1, texts.Codes[rows-1])
		require.Equal(t, fmt.Sprint(rows-1), strings.TrimSpace(texts.Texts[rows-1]))
	}
}

// TestRoundTrip checks that columns with missing values, over several row groups, are read back as
// they were written.
func TestRoundTrip(t *testing.T) {
	columns := []Column{
		{Name: "z, \"odd\"\n", Kind: Double}, {Name: "a", Kind: Double, Optional: true}, {Name: "i", Kind: Int32}, {Name: "j", Kind: Int64, Optional: true},
		{Name: "u", Kind: Uint64}, {Name: "b", Kind: Bool, Optional: true}, {Name: "t", Kind: Text, Optional: true}, {Name: "s", Kind: Text},
	}
	var content bytes.Buffer
	w, err := NewWriter(&content, columns, nil)
	require.NoError(t, err)
	const rows = GroupRows + 1000
	for i := range rows {
		w.Double(math.Sqrt(float64(i)))
		if i%3 == 0 {
			w.Null()
		} else {
			w.Double(math.Inf(-1))
		}
		w.Int32(int32(-i % 7))
		w.Int64(int64(-i))
		w.Uint64(1<<63 + uint64(i)<<20)
		w.Bool(i%2 == 1)
		if i%5 == 0 {
			w.Null()
		} else {
			w.Text([]string{"", "one", "two"}[i%3])
		}
		w.Text("level")
	}
	require.NoError(t, w.Close())
	f, err := NewFile(bytes.NewReader(content.Bytes()), int64(content.Len()))
	require.NoError(t, err)
	require.Equal(t, 2, f.Groups())
	require.Equal(t, []int{GroupRows, 1000}, []int{f.Rows(0), f.Rows(1)})
	var values []*Values
	for i, c := range columns {
		if c.Kind == Int32 || c.Kind == Int64 || c.Kind == Uint64 {
			c.Kind = Double
		}
		require.Equal(t, c, f.Columns[i])
		all, err := f.Read(i, 0, 1)
		require.NoError(t, err)
		last, err := f.Read(i, 1)
		require.NoError(t, err)
		require.Len(t, last.Numbers, max(0, len(all.Numbers)-GroupRows))
		values = append(values, all)
	}
	require.Nil(t, values[0].Missing)
	require.Nil(t, values[5].Missing)
	require.Equal(t, []string{"one", "two", ""}, values[6].Texts)
	for i := range rows {
		if math.Sqrt(float64(i)) != values[0].Numbers[i] || (i%3 == 0) != values[1].Missing[i] || (i%3 == 0) != math.IsNaN(values[1].Numbers[i]) ||
			float64(-i%7) != values[2].Numbers[i] || float64(-i) != values[3].Numbers[i] || float64(1<<63+uint64(i)<<20) != values[4].Numbers[i] ||
			float64(i%2) != values[5].Numbers[i] || (i%5 == 0) != (values[6].Codes[i] < 0) || values[7].Codes[i] != 0 {
			t.Fatalf("row %d is not what was written", i)
		}
	}
}

func TestMistakes(t *testing.T) {
	_, err := NewWriter(&bytes.Buffer{}, nil, nil)
	require.ErrorContains(t, err, "at least one column")
	_, err = NewWriter(&bytes.Buffer{}, []Column{{Name: "a", Kind: Double}, {Name: "a", Kind: Text}}, nil)
	require.ErrorContains(t, err, `two columns "a"`)
	_, err = NewWriter(&bytes.Buffer{}, make([]Column, MostColumns+1), nil)
	require.ErrorContains(t, err, "at most")
	w, err := NewWriter(failing{}, []Column{{Name: "a", Kind: Double}, {Name: "b", Kind: Text}}, nil)
	require.NoError(t, err)
	assert.Panics(t, func() { w.Text("no number") })
	assert.Panics(t, func() { w.Null() })
	w.Double(1)
	assert.Panics(t, func() { _ = w.Close() })
	w.Text("x")
	require.ErrorContains(t, w.Close(), "disk full")
	_, err = Open(t.TempDir() + "/none")
	require.ErrorContains(t, err, "no such file")
}

type failing struct{}

func (failing) Write([]byte) (int, error) { return 0, errors.New("disk full") }

// FuzzRead checks that reading any bytes gives an error, or columns with a value for each row.
func FuzzRead(f *testing.F) {
	var content bytes.Buffer
	w, err := NewWriter(&content, []Column{{Name: "t", Kind: Text, Optional: true}, {Name: "x", Kind: Double}, {Name: "b", Kind: Bool}}, nil)
	require.NoError(f, err)
	for i := range 5 {
		w.Text(fmt.Sprint(i % 2))
		w.Double(float64(i))
		w.Bool(i == 3)
	}
	require.NoError(f, w.Close())
	f.Add(content.Bytes())
	files, err := filepath.Glob("../../table/testdata/*.parquet")
	require.NoError(f, err)
	require.NotEmpty(f, files)
	for _, path := range files {
		content, err := os.ReadFile(path)
		require.NoError(f, err)
		f.Add(content)
	}
	f.Fuzz(func(t *testing.T, content []byte) {
		file, err := NewFile(bytes.NewReader(content), int64(len(content)))
		if err != nil {
			return
		}
		for column := range file.Columns {
			for group := range file.Groups() {
				if values, err := file.Read(column, group); err == nil {
					require.Equal(t, file.Rows(group), len(values.Numbers)+len(values.Codes))
				}
			}
		}
	})
}
