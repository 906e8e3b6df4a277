package embedding

import (
	"bufio"
	"bytes"
	"encoding/csv"
	"fmt"
	"io"
	"strconv"
	"strings"

	"github.com/kindred-ml/kindred/internal/format/columns"
	"github.com/kindred-ml/kindred/internal/format/plaintext"
)

// writeCSV writes the columns id, path, the labels, and embedding_0, embedding_1, ... with enough digits to
// distinguish float32 numbers.
func writeCSV(w io.Writer, t *Table) error {
	var texts []func(i int) string // the columns before the coordinates
	var header []string
	if t.ID != nil {
		header, texts = append(header, columns.ID), append(texts, t.ID.At)
	}
	if t.Files != nil {
		header, texts = append(header, columns.File), append(texts, func(i int) string { return t.Files[i] })
	}
	for i := range t.Columns {
		header, texts = append(header, t.Columns[i].Name), append(texts, t.Columns[i].At)
	}
	for _, c := range t.itemColumns() {
		header, texts = append(header, c.Name), append(texts, c.At)
	}
	dim := 0
	if t.X != nil {
		dim = t.X.Cols
	}
	for d := range dim {
		header = append(header, columns.Prefix+strconv.Itoa(d))
	}
	bw := bufio.NewWriterSize(w, 1<<16)
	var line csvLine
	if err := line.write(bw, header, nil); err != nil {
		return err
	}
	if Separator(line.b.Bytes()) != ',' {
		return fmt.Errorf("%q: CSV cannot have more semicolons in the names of columns than commas between "+
			"them: a reader takes the semicolons for the separators of columns", header)
	}
	fields := make([]string, len(texts))
	for i := range t.Rows() {
		for k, text := range texts {
			fields[k] = text(i)
		}
		var values []float32
		if dim > 0 {
			values = t.X.Row(i)
		}
		if err := line.write(bw, fields, values); err != nil {
			return err
		}
	}
	return bw.Flush()
}

// csvLine makes the lines of a file in a buffer that it reuses.
type csvLine struct{ b bytes.Buffer }

func (l *csvLine) write(w io.Writer, texts []string, values []float32) error {
	l.b.Reset()
	for _, s := range texts {
		if strings.Contains(s, "\r\n") || strings.HasPrefix(s, plaintext.BOM) {
			return fmt.Errorf("%q: CSV cannot hold a byte order mark, nor a carriage return before a line feed", s)
		}
	}
	if len(texts) > 0 {
		cw := csv.NewWriter(&l.b)
		if err := cw.Write(texts); err != nil {
			return err
		}
		cw.Flush()
		l.b.Truncate(l.b.Len() - 1)
		if l.b.Len() == 0 && len(values) == 0 {
			l.b.WriteString(`""`) // an empty line would not count
		}
	}
	for k, v := range values {
		if k > 0 || len(texts) > 0 {
			l.b.WriteByte(',')
		}
		l.b.Write(strconv.AppendFloat(l.b.AvailableBuffer(), float64(v), 'g', -1, 32))
	}
	l.b.WriteByte('\n')
	_, err := w.Write(l.b.Bytes())
	return err
}
