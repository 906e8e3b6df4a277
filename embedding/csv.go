package embedding

import (
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"

	"github.com/kindred-ml/kindred/internal/base/budget"
	"github.com/kindred-ml/kindred/internal/format/columns"
	"github.com/kindred-ml/kindred/internal/format/plaintext"
	"github.com/kindred-ml/kindred/matrix"
)

// coordinate is the memory of a coordinate in a growing list.
const coordinate = 9

// parseCSV reads a CSV file with a header. Columns embedding_0, embedding_1, ... are coordinates, filename
// (or file, path) has the names of the items, and all others are labels. Separators may be semicolons or
// tabs. Line ends may be those of any system. A byte order mark at the start is dropped.
func parseCSV(r io.Reader) (*Table, error) {
	br, err := plaintext.NewReader(r)
	if err != nil {
		return nil, err
	}
	cr := plaintext.NewRows(br)
	begin, _ := br.Peek(1 << 16) // as much as there is
	cr.Comma = Separator(begin)
	cr.ReuseRecord = true
	record, err := cr.Read()
	if err == nil && plaintext.NamesSeparator(record) {
		cr.FieldsPerRecord = 0
		record, err = cr.Read()
	}
	if errors.Is(err, io.EOF) {
		return nil, errors.New("empty: want a header line")
	}
	if err != nil {
		return nil, err
	}
	header := slices.Clone(record)
	l, err := newLayout(header)
	if err != nil {
		line, _ := cr.FieldPos(0)
		return nil, fmt.Errorf("line %d: %w", line, err)
	}
	var values []float32
	var files []string
	labels := make([][]string, len(l.labels))
	rows := 0
	used, limit := int64(0), budget.Limit()
	for {
		record, err := cr.Read()
		if errors.Is(err, io.EOF) {
			break
		}
		if errors.Is(err, csv.ErrFieldCount) {
			line, _ := cr.FieldPos(0)
			return nil, fmt.Errorf("line %d: wrong number of fields: %d, where the header has %d", line, len(record),
				len(header))
		}
		if err != nil {
			return nil, err
		}
		rows++
		for _, c := range l.coords {
			v, err := strconv.ParseFloat(strings.TrimSpace(record[c]), 32)
			if err != nil && !errors.Is(err, strconv.ErrRange) {
				line, _ := cr.FieldPos(c)
				return nil, fmt.Errorf("line %d: %s is %q, not a number%s", line, header[c], record[c],
					decimalComma(record[c]))
			}
			values = append(values, float32(v))
		}
		if l.file >= 0 {
			files = append(files, strings.Clone(record[l.file]))
			used += columns.TextSize(len(record[l.file]))
		}
		for i, c := range l.labels {
			labels[i] = append(labels[i], strings.Clone(record[c]))
			used += columns.LabelSize(len(record[c]))
		}
		used += coordinate * int64(len(l.coords))
		if used > limit {
			return nil, &budget.Error{What: "the table", Limit: limit}
		}
	}
	t := &Table{Files: files}
	if len(l.coords) > 0 {
		t.X = matrix.FromSlice(rows, len(l.coords), values)
	}
	for i, c := range l.labels {
		t.Columns = append(t.Columns, NewColumn(header[c], labels[i]))
	}
	return t, nil
}

// decimalComma returns advice for a number with a decimal comma.
func decimalComma(field string) string {
	if _, err := strconv.ParseFloat(strings.Replace(strings.TrimSpace(field), ",", ".", 1), 32); err != nil {
		return ""
	}
	return ": write decimals with a point"
}

// layout assigns the fields of a line.
type layout struct {
	coords []int // fields of the coordinates, in order
	file   int   // field of the name; -1 if absent
	labels []int
}

func newLayout(header []string) (*layout, error) {
	l := &layout{file: -1}
	at := make(map[int]int)
	seen := make(map[string]bool)
	for i, name := range header {
		if seen[name] {
			return nil, fmt.Errorf("the column %q appears twice", name)
		}
		seen[name] = true
		k, isCoordinate := columns.Coordinate(name)
		switch {
		case isCoordinate:
			if _, twice := at[k]; twice {
				return nil, fmt.Errorf("coordinate %d appears twice", k)
			}
			at[k] = i
		case l.file < 0 && columns.IsFile(name):
			l.file = i
		default:
			l.labels = append(l.labels, i)
		}
	}
	for k := range len(at) {
		i, ok := at[k]
		if !ok {
			return nil, fmt.Errorf("%d coordinates but no column %s%d", len(at), columns.Prefix, k)
		}
		l.coords = append(l.coords, i)
	}
	return l, nil
}
