// Package zarr writes Zarr stores, version 2, that xarray opens: a folder of groups, each a folder
// of arrays with named dimensions (https://zarr-specs.readthedocs.io/en/latest/v2/v2.0.html).
//
//	w, err := zarr.Create("draws.zarr")
//	if err != nil {
//		return err
//	}
//	defer w.Abort() // leaves nothing behind unless Close succeeded
//	err = w.Floats("posterior", "sigma", zarr.Shape{{"chain", 4}, {"draw", 1000}}, values)
//	// handle err
//	return w.Close()
package zarr

import (
	"bytes"
	"compress/zlib"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"unicode/utf8"
)

// Dim is a named dimension and its length.
type Dim struct {
	Name   string
	Length int
}

// Shape lists the dimensions of an array, the slowest first.
type Shape []Dim

// Size returns the number of values of an array.
func (s Shape) Size() int {
	size := 1
	for _, d := range s {
		size *= d.Length
	}
	return size
}

// Writer writes a Zarr store.
type Writer struct {
	path, part string
	metadata   map[string]any // metadata by key, for the file with the metadata of the whole store
}

// Create begins a store. Closing it replaces an older store at path. If anything else is at path,
// Create returns an error.
func Create(path string) (*Writer, error) {
	if _, err := os.Lstat(path); err == nil {
		if _, err := os.Stat(filepath.Join(path, ".zgroup")); err != nil {
			return nil, fmt.Errorf("%s is there and no Zarr store: it is not replaced", path)
		}
	} else if !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	if err := os.MkdirAll(filepath.Dir(filepath.Clean(path)), 0o755); err != nil {
		return nil, err
	}
	part, err := os.MkdirTemp(filepath.Dir(filepath.Clean(path)), ".zarr-part-")
	if err != nil {
		return nil, err
	}
	if err := os.Chmod(part, 0o755); err != nil {
		return nil, err
	}
	w := &Writer{path: path, part: part, metadata: map[string]any{}}
	return w, w.Group("", nil)
}

// Group creates a group with attributes. The name "" is the root.
func (w *Writer) Group(name string, attributes map[string]any) error {
	if err := w.put(filepath.Join(name, ".zgroup"), map[string]any{"zarr_format": 2}); err != nil {
		return err
	}
	if attributes == nil {
		attributes = map[string]any{}
	}
	return w.put(filepath.Join(name, ".zattrs"), attributes)
}

func (w *Writer) put(key string, value any) error {
	content, err := json.MarshalIndent(value, "", "  ")
	if err != nil {
		return err
	}
	w.metadata[filepath.ToSlash(key)] = value
	path := filepath.Join(w.part, key)
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return err
	}
	return os.WriteFile(path, content, 0o644)
}

func (w *Writer) startArray(group, name, kind string, fill any, shape Shape, chunks []int) (folder string, err error) {
	if strings.ContainsAny(name, `/\`) || name == "" || name[0] == '.' {
		return "", fmt.Errorf("zarr: %q cannot be the name of an array", name)
	}
	dims, lengths := make([]string, len(shape)), make([]int, len(shape))
	for i, d := range shape {
		dims[i], lengths[i] = d.Name, d.Length
	}
	folder = filepath.Join(group, name)
	if err := w.put(filepath.Join(folder, ".zarray"), map[string]any{
		"zarr_format": 2, "shape": lengths, "chunks": chunks, "dtype": kind, "fill_value": fill, "order": "C", "filters": nil,
		"compressor": map[string]any{"id": "zlib", "level": 1},
	}); err != nil {
		return "", err
	}
	return folder, w.put(filepath.Join(folder, ".zattrs"), map[string]any{"_ARRAY_DIMENSIONS": dims})
}

func (w *Writer) chunk(folder, name string, content []byte) error {
	var packed bytes.Buffer
	z, err := zlib.NewWriterLevel(&packed, 1)
	if err != nil {
		return err
	}
	if _, err := z.Write(content); err != nil {
		return err
	}
	if err := z.Close(); err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(w.part, folder, name), packed.Bytes(), 0o644)
}

// whole returns the chunk sizes for an array in one chunk, and the name of this chunk.
func whole(shape Shape) (chunks []int, name string) {
	names := make([]string, len(shape))
	for i, d := range shape {
		chunks, names[i] = append(chunks, max(d.Length, 1)), "0"
	}
	return chunks, strings.Join(names, ".")
}

// numbers returns the bytes of values, a slice of numbers.
func numbers(values any) []byte {
	content, err := binary.Append(nil, binary.LittleEndian, values)
	if err != nil {
		panic(err) // the values are no numbers
	}
	return content
}

// array writes an array in one chunk, which holds the given number of values.
func (w *Writer) array(group, name, kind string, fill any, shape Shape, values int, content []byte) error {
	if values != shape.Size() {
		panic(fmt.Sprintf("zarr: array %s: got %d values, want %d", name, values, shape.Size()))
	}
	chunks, key := whole(shape)
	folder, err := w.startArray(group, name, kind, fill, shape, chunks)
	if err != nil {
		return err
	}
	return w.chunk(folder, key, content)
}

// Floats writes an array of float64, with the slowest dimension first.
func (w *Writer) Floats(group, name string, shape Shape, values []float64) error {
	return w.array(group, name, "<f8", "NaN", shape, len(values), numbers(values))
}

// Integers writes an array of 64-bit integers.
func (w *Writer) Integers(group, name string, shape Shape, values []int64) error {
	return w.array(group, name, "<i8", nil, shape, len(values), numbers(values))
}

// Texts writes a one-dimensional array of texts, padded to the length of the longest text.
func (w *Writer) Texts(group, name string, dim string, values []string) error {
	width := 1
	for _, v := range values {
		width = max(width, utf8.RuneCountInString(v))
	}
	content := make([]byte, 4*width*len(values))
	for i, v := range values {
		at := 4 * width * i
		for _, r := range v {
			binary.LittleEndian.PutUint32(content[at:], uint32(r))
			at += 4
		}
	}
	return w.array(group, name, "<U"+strconv.Itoa(width), nil, Shape{{dim, len(values)}}, len(values), content)
}

// chunkValues is the approximate number of float64 values in a chunk of Columns: 8 MiB.
const chunkValues = 1 << 20

// Columns writes an array of float64 one column at a time, where a column holds the values with one
// index of the last dimension. The function column writes the values of the column number at, in
// the order of the other dimensions.
func (w *Writer) Columns(group, name string, shape Shape, column func(at int, values []float64) error) error {
	last := shape[len(shape)-1].Length
	height := shape[:len(shape)-1].Size()
	wide := min(max(1, chunkValues/max(height, 1)), max(last, 1))
	chunks, key := whole(shape)
	chunks[len(chunks)-1] = wide
	folder, err := w.startArray(group, name, "<f8", "NaN", shape, chunks)
	if err != nil {
		return err
	}
	key = strings.TrimSuffix(key, "0")
	values, block := make([]float64, height), make([]float64, height*wide)
	for first := 0; first < last; first += wide {
		for at := first; at < first+wide; at++ {
			if at < last {
				if err := column(at, values); err != nil {
					return err
				}
			}
			for i, v := range values { // readers ignore numbers after the end of the array
				block[i*wide+at-first] = v
			}
		}
		if err := w.chunk(folder, key+strconv.Itoa(first/wide), numbers(block)); err != nil {
			return err
		}
	}
	return nil
}

// Close moves the store to its path.
func (w *Writer) Close() error {
	content, err := json.MarshalIndent(map[string]any{"zarr_consolidated_format": 1, "metadata": w.metadata}, "", "  ")
	if err != nil {
		return err
	}
	if err := os.WriteFile(filepath.Join(w.part, ".zmetadata"), content, 0o644); err != nil {
		return err
	}
	if err := os.RemoveAll(w.path); err != nil {
		return err
	}
	if err := os.Rename(w.part, w.path); err != nil {
		return err
	}
	w.part = ""
	return nil
}

// Abort removes all written files, unless Close has succeeded.
func (w *Writer) Abort() {
	if w.part != "" {
		_ = os.RemoveAll(w.part) // files that cannot be removed do no harm
	}
}
