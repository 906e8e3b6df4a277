package parquet

import (
	"io"

	"github.com/kindred-ml/kindred/embedding"
)

// Format is Apache Parquet, as package embedding uses it.
type Format struct {
	// Fractions reads columns of floats that are no coordinates, too, as text with as
	// many digits as tell the number from all others; a value that is missing, of any
	// column but the rows' ids and paths, is then the empty text. The zero value passes
	// such columns over and has no place for missing values, as labels have neither.
	Fractions bool
}

// Extension returns ".parquet".
func (Format) Extension() string { return ".parquet" }

// Read reads a table from the size bytes of r. What the file asks for is compared
// with the limit on memory before the library sees it.
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
