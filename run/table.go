package run

import (
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/kindred-ml/kindred/internal/base/budget"
	"github.com/kindred-ml/kindred/internal/base/regular"
	"github.com/kindred-ml/kindred/internal/format/plaintext"
	"github.com/kindred-ml/kindred/train"
)

// Table is a file of numbers with a heading for each column, a row an epoch.
type Table struct {
	// Columns are the headings in order, Values the numbers under each, NaN if an
	// epoch has no value.
	Columns []string
	Values  map[string][]float64
}

// Last returns the last value of a column that is a number.
func (t *Table) Last(column string) (float64, error) {
	for _, v := range slices.Backward(t.Values[column]) {
		if !math.IsNaN(v) {
			return v, nil
		}
	}
	return 0, fmt.Errorf("no epoch has a value of %q", column)
}

// Metrics lists the columns that hold scores, such as "test_recall@1".
func (t *Table) Metrics() []string {
	var out []string
	for _, c := range t.Columns {
		if strings.Contains(c, "_") && !strings.HasPrefix(c, "no_") {
			out = append(out, c)
		}
	}
	return out
}

// mostTable and mostEpochs bound a table in bytes and in rows.
const (
	mostTable  = 64 << 20
	mostEpochs = 1 << 20
)

func readTable(path string) (*Table, error) {
	f, size, err := regular.OpenSized(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	if size > mostTable {
		return nil, fmt.Errorf("%s: %w", path, &budget.LargeError{What: "a table of epochs", Most: mostTable})
	}
	t, err := parseTable(f)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return t, nil
}

// valueBytes is what a value takes: it is kept, copied while its column grows, and drawn on pages.
const valueBytes = 128

// parseTable reads a CSV of numbers with a header. An empty field is NaN.
func parseTable(r io.Reader) (*Table, error) {
	rows := plaintext.NewRows(r)
	head, err := rows.Read()
	if errors.Is(err, io.EOF) {
		return nil, errors.New("the file is empty")
	} else if err != nil {
		return nil, err
	}
	t := &Table{Columns: slices.Clone(head), Values: make(map[string][]float64, len(head))}
	for _, h := range t.Columns {
		if _, dup := t.Values[h]; dup {
			return nil, fmt.Errorf("column %q appears twice", h)
		}
		t.Values[h] = []float64{}
	}
	left := budget.Limit()
	for n := 0; ; n++ {
		row, err := rows.Read()
		if errors.Is(err, io.EOF) {
			return t, nil
		} else if err != nil {
			return nil, err
		}
		if n == mostEpochs {
			return nil, fmt.Errorf("more than %d rows: a table has one for each epoch", mostEpochs)
		}
		if left -= valueBytes * int64(len(row)); left < 0 {
			return nil, &budget.Error{What: "the table", Limit: budget.Limit()}
		}
		for i, field := range row {
			v := math.NaN()
			if field != "" {
				if v, err = strconv.ParseFloat(field, 64); err != nil {
					line, _ := rows.FieldPos(i)
					return nil, fmt.Errorf("line %d, column %q: %q is not a number", line, t.Columns[i], field)
				}
			}
			t.Values[t.Columns[i]] = append(t.Values[t.Columns[i]], v)
		}
	}
}

// writeHistory writes metrics.csv: one line an epoch, and a column for every
// metric that any epoch has. Values are exact; times are in timing.csv, so that
// runs can be compared byte by byte.
func writeHistory(w io.Writer, history []train.Epoch) error {
	var header []string
	for _, c := range columns(&train.Epoch{}) {
		header = append(header, c.name)
	}
	fixed := len(header)
	for _, e := range history {
		for _, m := range e.Metrics {
			if k := m.Key(); !slices.Contains(header[fixed:], k) {
				header = append(header, k)
			}
		}
	}
	cw := csv.NewWriter(w)
	if err := cw.Write(header); err != nil {
		return err
	}
	number := func(v float64) string { return strconv.FormatFloat(v, 'g', -1, 64) }
	for _, e := range history {
		var row []string
		for _, c := range columns(&e)[:fixed] {
			switch v := c.value.(type) {
			case int:
				row = append(row, strconv.Itoa(v))
			case float64:
				row = append(row, number(v))
			}
		}
		for _, k := range header[fixed:] {
			text := ""
			if v, err := e.Metric(k); err == nil {
				text = number(v)
			}
			row = append(row, text)
		}
		if err := cw.Write(row); err != nil {
			return err
		}
	}
	cw.Flush()
	return cw.Error()
}
