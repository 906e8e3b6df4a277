package run

import (
	"errors"
	"fmt"
	"io"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/kindred-ml/kindred/internal/base/budget"
	"github.com/kindred-ml/kindred/internal/base/fileinfo"
	"github.com/kindred-ml/kindred/internal/format/plaintext"
)

// EpochTable is a file of numbers with a heading for each column and a row for each epoch.
type EpochTable struct {
	// Columns are the headings in order. Values are the numbers under each heading; NaN if an
	// epoch has no value.
	Columns []string
	Values  map[string][]float64
}

// LastValue returns the last value of a column that is not NaN.
func (t *EpochTable) LastValue(column string) (float64, error) {
	for _, v := range slices.Backward(t.Values[column]) {
		if !math.IsNaN(v) {
			return v, nil
		}
	}
	return 0, fmt.Errorf("no epoch has a value of %q", column)
}

// Metrics lists the columns that hold scores, such as "test_recall@1".
func (t *EpochTable) Metrics() []string {
	var out []string
	for _, c := range t.Columns {
		if strings.Contains(c, "_") && !strings.HasPrefix(c, "no_") {
			out = append(out, c)
		}
	}
	return out
}

// maxTableBytes and maxTableEpochs bound a table in bytes and in rows.
const (
	maxTableBytes  = 64 << 20
	maxTableEpochs = 1 << 20
)

func readTable(path string) (*EpochTable, error) {
	f, size, err := fileinfo.OpenSized(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	if size > maxTableBytes {
		return nil, fmt.Errorf("%s: %w", path, &budget.TooLargeError{What: "a table of epochs", Most: maxTableBytes})
	}
	t, err := parseTable(f)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return t, nil
}

// valueBytes is the memory for a value: it is kept, copied while its column grows, and drawn on pages.
const valueBytes = 128

// parseTable reads a CSV of numbers with a header. An empty field is NaN.
func parseTable(r io.Reader) (*EpochTable, error) {
	rows := plaintext.NewRows(r)
	head, err := rows.Read()
	if errors.Is(err, io.EOF) {
		return nil, errors.New("the file is empty")
	} else if err != nil {
		return nil, err
	}
	t := &EpochTable{Columns: slices.Clone(head), Values: make(map[string][]float64, len(head))}
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
		if n == maxTableEpochs {
			return nil, fmt.Errorf("more than %d rows: a table has one for each epoch", maxTableEpochs)
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
