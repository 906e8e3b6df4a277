package rows

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"path/filepath"
	"slices"

	"github.com/kindred-ml/kindred/internal/base/atomic"
	"github.com/kindred-ml/kindred/nn/safetensors"
)

// Key says what a row, or all rows of a file, were computed from.
type Key [sha256.Size]byte

// format is the version of the files.
const format = "kindred-rows-1"

// Load reads the rows that are kept at path, which must be of dim numbers each and
// computed by of. Without a file there are none. An error says what is wrong with
// the file; there are no rows then.
func Load(path string, of Key, dim int) (map[Key][]float32, error) {
	f, err := safetensors.Read(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	} else if err != nil {
		return nil, err
	}
	all, err := parse(f, of, dim)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return all, nil
}

func parse(f *safetensors.File, of Key, dim int) (map[Key][]float32, error) {
	keys, values := f.Tensor("key"), f.Tensor("row")
	if f.Meta["format"] != format || keys == nil || values == nil {
		return nil, fmt.Errorf("no file of kept rows (format %q)", f.Meta["format"])
	}
	if f.Meta["of"] != hex.EncodeToString(of[:]) {
		return nil, errors.New("its rows were computed by something else")
	}
	if len(keys.Shape) != 2 || len(values.Shape) != 2 || keys.DType != "U8" || values.DType != safetensors.F32 ||
		keys.Shape[1] != len(Key{}) || values.Shape[1] != dim || keys.Shape[0] != values.Shape[0] {
		return nil, fmt.Errorf("%s keys of %d and %s rows of %d; rows of %d numbers are expected", keys.DType,
			keys.Shape, values.DType, values.Shape, dim)
	}
	if f.Meta["sum"] != sum(of, keys.Data, values.Data) {
		return nil, errors.New("damaged: its checksum is wrong")
	}
	numbers, err := values.Float32s()
	if err != nil {
		return nil, err
	}
	all := make(map[Key][]float32, keys.Shape[0])
	for i := range keys.Shape[0] {
		all[Key(keys.Data[i*len(Key{}):])] = numbers[i*dim : (i+1)*dim : (i+1)*dim]
	}
	return all, nil
}

func sum(of Key, keys, values []byte) string {
	h := sha256.New()
	h.Write(of[:])
	h.Write(keys)
	h.Write(values)
	return hex.EncodeToString(h.Sum(nil))
}

// Save adds rows of dim numbers, computed by of, to those kept at path, in a folder
// that exists. A file that Load refuses is replaced.
func Save(path string, of Key, dim int, add map[Key][]float32) error {
	return save(atomic.Files{}, path, of, dim, add)
}

func save(files atomic.Files, path string, of Key, dim int, add map[Key][]float32) error {
	if err := files.Clean(filepath.Dir(path)); err != nil { // of processes that were killed
		return err
	}
	all, err := Load(path, of, dim)
	if err != nil || all == nil {
		all = map[Key][]float32{}
	}
	maps.Copy(all, add)
	var keys []byte
	values := make([]float32, 0, len(all)*dim)
	for _, k := range slices.SortedFunc(maps.Keys(all), func(a, b Key) int { return bytes.Compare(a[:], b[:]) }) {
		keys = append(keys, k[:]...)
		values = append(values, all[k]...)
	}
	row := safetensors.Float32("row", []int{len(all), dim}, values)
	f := &safetensors.File{
		Tensors: []safetensors.Tensor{{Name: "key", DType: "U8", Shape: []int{len(all), len(Key{})}, Data: keys}, row},
		Meta:    map[string]string{"format": format, "of": hex.EncodeToString(of[:]), "sum": sum(of, keys, row.Data)},
	}
	return files.Write(path, func(w io.Writer) error { return f.Write(w) })
}
