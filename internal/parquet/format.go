package parquet

import (
	"io"

	"github.com/kindred-ml/kindred/embedding"
)

// Format is Apache Parquet as an embedding.Format.
type Format struct {
	// Fractions also reads columns of floats that are not coordinates, as text with enough digits to
	// identify the number. By default such columns are ignored, because labels have no fractions.
	Fractions bool
}

// Extension returns ".parquet".
func (Format) Extension() string { return ".parquet" }

// Read reads a table from the size bytes of r. It compares the memory that the file
// needs with the limit before the library reads it.
func (f Format) Read(r io.ReaderAt, size int64) (*embedding.Table, error) {
	return parse(r, size, f.Fractions)
}

// Write writes t. The same table gives the same bytes.
func (Format) Write(w io.Writer, t *embedding.Table) error {
	if err := t.Check(); err != nil {
		return err
	}
	return write(w, t)
}
