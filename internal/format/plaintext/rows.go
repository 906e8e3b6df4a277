package plaintext

import (
	"bytes"
	"encoding/csv"
	"errors"
	"fmt"
	"io"

	"github.com/kindred-ml/kindred/internal/base/budget"
)

const (
	// MaxField bounds the bytes of a field of a table: a label, a name, a path.
	MaxField = 1 << 16
	// maxRow bounds the bytes of a row, and maxFields the separators in it.
	maxRow    = 4 << 20
	maxFields = 1 << 17
)

// Rows reads the rows of a table that comes from outside: as csv.Reader does, within bounds. A
// row of more than 4 MiB or of more than 131,072 fields is an error before it is in memory; a field of
// more than MaxField bytes is one.
type Rows struct {
	*csv.Reader
	row  *rowReader
	last int // the line on which the row before began
}

// NewRows returns a reader of the rows of a text, as NewReader or Bytes gives it.
func NewRows(r io.Reader) *Rows {
	row := &rowReader{r: r}
	return &Rows{Reader: csv.NewReader(row), row: row}
}

// Read returns the next row.
func (r *Rows) Read() ([]string, error) {
	r.row.left, r.row.fields, r.row.comma = maxRow, maxFields, byte(r.Comma)
	record, err := r.Reader.Read()
	if errors.Is(err, errLongRow) {
		err = fmt.Errorf("after line %d: a row of more than %s or %d fields: it has no line end, or a quote is not "+
			"closed", r.last, budget.Format(maxRow), maxFields)
	}
	if err != nil {
		return record, err
	}
	for i, field := range record {
		if len(field) > MaxField {
			line, _ := r.FieldPos(i)
			return nil, fmt.Errorf("line %d: field %d has %d bytes; a field has at most %d", line, i+1, len(field),
				MaxField)
		}
	}
	r.last, _ = r.FieldPos(0)
	return record, nil
}

var errLongRow = errors.New("a long row")

// rowReader is what csv.Reader reads of a row: it has read no more than the row before and a
// buffer of its own when the row begins.
type rowReader struct {
	r            io.Reader
	left, fields int
	comma        byte
}

func (r *rowReader) Read(p []byte) (int, error) {
	if r.left <= 0 || r.fields <= 0 {
		return 0, errLongRow
	}
	n, err := r.r.Read(p)
	r.left -= n
	r.fields -= bytes.Count(p[:n], []byte{r.comma})
	return n, err
}
