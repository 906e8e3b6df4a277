package embedding

import (
	"bytes"
	"fmt"
	"io"
	"io/fs"
	"path/filepath"
	"slices"
	"strings"

	"github.com/kindred-ml/kindred/internal/base/atomic"
	"github.com/kindred-ml/kindred/internal/base/budget"
	"github.com/kindred-ml/kindred/internal/base/fileinfo"
)

// Format reads and writes tables in one file format. It does not trust a file: it compares the sizes that
// the file claims with its content before it allocates memory.
type Format interface {
	// Extension returns the end of the names of such files, such as ".csv".
	Extension() string
	// Read reads the size bytes of r.
	Read(r io.ReaderAt, size int64) (*Table, error)
	// Write writes the parts of t that the format can hold.
	Write(w io.Writer, t *Table) error
}

// Standard is a Format of this package, named by its extension.
type Standard string

// The formats of this package. A .npy file holds one array: the embeddings of a table or, without
// embeddings, its only column. The other formats hold all parts of a table.
const (
	NPY         Standard = ".npy"
	NPZ         Standard = ".npz"
	Safetensors Standard = ".safetensors"
	CSV         Standard = ".csv"
)

// Extension returns the format's own value.
func (s Standard) Extension() string { return string(s) }

// Read reads a table from the size bytes of r.
func (s Standard) Read(r io.ReaderAt, size int64) (*Table, error) {
	var t *Table
	var err error
	switch s {
	case NPY, CSV:
		t, err = s.readStream(io.NewSectionReader(r, 0, size), size)
	case NPZ:
		t, err = parseNPZ(r, size)
	case Safetensors:
		t, err = parseSafetensors(r, size)
	default:
		return nil, s.unknownError()
	}
	if err != nil {
		return nil, err
	}
	return t, t.check()
}

// readStream reads the formats that are read from beginning to end. size is -1 if it is unknown.
func (s Standard) readStream(r io.Reader, size int64) (*Table, error) {
	if s == CSV {
		return parseCSV(budget.Reader("the table", r))
	}
	a, err := ReadNPY(r, size)
	if err != nil {
		return nil, err
	}
	return a.table("label")
}

// Write writes t. If the format cannot hold t, it returns the reason, and nothing is written.
func (s Standard) Write(w io.Writer, t *Table) error {
	if err := t.Check(); err != nil {
		return err
	}
	switch s {
	case NPY:
		return writeNPYTable(w, t)
	case NPZ:
		return writeNPZ(w, t)
	case Safetensors:
		return writeSafetensors(w, t)
	case CSV:
		return writeCSV(w, t)
	}
	return s.unknownError()
}

func (s Standard) unknownError() error {
	return fmt.Errorf("%q is not a format of this package: must be one of %s", string(s),
		strings.Join(Formats{}.Extensions(), ", "))
}

// standardFormats lists the formats of this package.
var standardFormats = [...]Standard{NPY, NPZ, Safetensors, CSV}

// Decode reads a table from r to its end, for example from standard input, a response or a compressed file.
// NPY and CSV are read as a stream. For other formats all of r is held in memory.
func Decode(f Format, r io.Reader) (*Table, error) {
	if s, ok := f.(Standard); ok && (s == NPY || s == CSV) {
		t, err := s.readStream(r, -1)
		if err != nil {
			return nil, err
		}
		return t, t.check()
	}
	b, err := budget.ReadAll("the table", r)
	if err != nil {
		return nil, err
	}
	return f.Read(bytes.NewReader(b), int64(len(b)))
}

// Formats reads and writes files by their extension: in the formats that it lists, which come first, and in
// the Standard formats. The zero value has only the Standard formats. Formats{parquet.Format{}} adds Parquet
// of package internal/parquet.
type Formats []Format

// Extensions lists the extensions that f knows.
func (f Formats) Extensions() []string {
	var out []string
	for _, s := range standardFormats {
		out = append(out, s.Extension())
	}
	for _, g := range f {
		if !slices.Contains(out, g.Extension()) {
			out = append(out, g.Extension())
		}
	}
	return out
}

// ForPath returns the format of a file by its name, ignoring case. The error lists the extensions that f knows.
func (f Formats) ForPath(path string) (Format, error) {
	ext := strings.ToLower(filepath.Ext(path))
	for _, g := range f {
		if g.Extension() == ext {
			return g, nil
		}
	}
	if slices.Contains(standardFormats[:], Standard(ext)) {
		return Standard(ext), nil
	}
	return nil, fmt.Errorf("%s: the extension %q is not one of %s", path, ext, strings.Join(f.Extensions(), ", "))
}

// Read reads the file at path, which must be a regular file.
func (f Formats) Read(path string) (*Table, error) {
	format, err := f.ForPath(path)
	if err != nil {
		return nil, err
	}
	file, size, err := fileinfo.OpenSized(path)
	if err != nil {
		return nil, fileinfo.WithHint(err, path, "a file of embeddings, as kindred embed writes it")
	}
	defer file.Close()
	t, err := read(format, file, size, path)
	if err != nil {
		return nil, err
	}
	t.onDisk = true
	if hasNetworkFile(format) && t.X != nil {
		if t.Network, t.networkNote, err = readNetworkFile(path); err != nil {
			return nil, err
		}
	}
	return t, t.checkMemory()
}

// maxDim is the largest length of an embedding.
const maxDim = 1 << 20

// checkMemory compares two and a half times the memory of the embeddings of t with the limit, because callers
// normalise, sort or select rows, and pack them for products.
func (t *Table) checkMemory() error {
	if t.X == nil {
		return nil
	}
	if t.X.Cols > maxDim {
		return fmt.Errorf("%s: embeddings of %d numbers; at most %d are possible", t.sourceName(), t.X.Cols, maxDim)
	}
	return budget.Check(fmt.Sprintf("%s: %d embeddings of %d numbers, with copies", t.sourceName(), t.X.Rows, t.X.Cols),
		budget.Product(10, int64(t.X.Rows), int64(t.X.Cols)))
}

// ReadFS reads a file of a file system.
func (f Formats) ReadFS(fsys fs.FS, name string) (*Table, error) {
	format, err := f.ForPath(name)
	if err != nil {
		return nil, err
	}
	file, err := fsys.Open(name)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	st, err := file.Stat()
	if err != nil {
		return nil, err
	}
	if !st.Mode().IsRegular() {
		return nil, &fileinfo.NotRegularError{Path: name, Mode: st.Mode()}
	}
	if r, ok := file.(io.ReaderAt); ok {
		return read(format, r, st.Size(), name)
	}
	t, err := Decode(format, file)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	t.source = name
	return t, nil
}

func read(format Format, r io.ReaderAt, size int64, name string) (*Table, error) {
	t, err := format.Read(r, size)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	t.source = name
	return t, nil
}

// Write writes t to the file at path in the format of its extension, completely or not at all.
func (f Formats) Write(path string, t *Table) error {
	format, err := f.ForPath(path)
	if err != nil {
		return err
	}
	if err := t.Check(); err != nil {
		return fmt.Errorf("%s: %w", path, err)
	}
	if err := atomic.WriteFile(path, func(w io.Writer) error { return format.Write(w, t) }); err != nil {
		return err
	}
	return WriteNetwork(path, format, t)
}
