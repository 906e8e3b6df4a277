package layout

import (
	"bytes"
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"iter"
	"path"
	"strconv"
	"strings"

	"github.com/kindred-ml/kindred/data/internal/tree"
	"github.com/kindred-ml/kindred/internal/base/budget"
	"github.com/kindred-ml/kindred/internal/format/plaintext"
)

// textLines iterates over the lines of a text that are not blank, with their numbers from 1. The text is
// from readText. Carriage returns are dropped.
func textLines(text []byte) iter.Seq2[int, string] {
	return func(yield func(int, string) bool) {
		n := 0
		for line := range bytes.Lines(text) {
			n++
			if s := strings.TrimSpace(string(line)); s != "" && !yield(n, s) {
				return
			}
		}
	}
}

// readText returns a text file of t, without a byte order mark and with line feeds.
func readText(t tree.Tree, name string) ([]byte, error) {
	text, err := t.Read(name, nil)
	if err != nil {
		return nil, err
	}
	text, err = plaintext.Bytes(text)
	return text, tree.WithName(path.Join(t.Location(), name), err)
}

// eachLine calls fn for the lines of a text file of t that are not blank. Errors of fn get the place.
func eachLine(t tree.Tree, name string, fn func(n int, line string) error) error {
	text, err := readText(t, name)
	if err != nil {
		return err
	}
	for n, line := range textLines(text) {
		if err := fn(n, line); err != nil {
			return lineError(t, name, n, err)
		}
	}
	return nil
}

// readLines returns the lines of a text file of t that are not blank.
func readLines(t tree.Tree, name string) (lines []string, err error) {
	err = eachLine(t, name, func(_ int, line string) error {
		lines = append(lines, line)
		return nil
	})
	return lines, err
}

// lineError makes an error point to a line of a file of t.
func lineError(t tree.Tree, name string, line int, err error) error {
	return fmt.Errorf("%s:%d: %w", path.Join(t.Location(), name), line, err)
}

// parseID reads a non-negative id.
func parseID(s string) (int64, error) {
	n, err := strconv.ParseInt(s, 10, 64)
	if err != nil || n < 0 {
		return 0, fmt.Errorf("%q: must be a whole number, 0 or more", s)
	}
	return n, nil
}

// headError is an error in the header of a CSV file, which shows at the first row.
type headError struct{ text string }

func (e *headError) Error() string { return e.text }

// fieldMemory and rowMemory are the approximate memory of a field and of a row besides the texts: the
// fields of a row, and the sample in the lists of a data set.
const (
	fieldMemory = 16
	rowMemory   = 160
)

// csvRows reads a CSV file of t. If header is set, the first record is the header. fn gets every other
// record with its line number. Columns may be separated by semicolons or tabs if the header is.
func csvRows(t tree.Tree, name string, header bool, fn func(line int, head, row []string) error) error {
	text, err := readText(t, name)
	if err != nil {
		return err
	}
	r := plaintext.NewRows(bytes.NewReader(text))
	r.ReuseRecord = false
	r.TrimLeadingSpace = true
	if header {
		r.Comma = plaintext.Separator(text)
		r.TrimLeadingSpace = r.Comma != '\t' // with tabs, trimming would drop empty fields
	} else {
		r.FieldsPerRecord = -1
	}
	var head []string
	headLine := 0
	rows, need, limit := 0, int64(len(text)), budget.Limit()
	for {
		row, err := r.Read()
		if errors.Is(err, io.EOF) {
			break
		}
		if errors.Is(err, csv.ErrFieldCount) {
			line, _ := r.FieldPos(0)
			err = fmt.Errorf("the line has %d fields, but the header has %d", len(row), len(head))
			return lineError(t, name, line, err)
		}
		if err != nil {
			return fmt.Errorf("%s: %w", path.Join(t.Location(), name), err)
		}
		if header && head == nil && plaintext.NamesSeparator(row) {
			r.FieldsPerRecord = 0
			continue
		}
		if header && head == nil {
			for i := range row {
				row[i] = strings.ToLower(strings.TrimSpace(row[i]))
			}
			head = row
			headLine, _ = r.FieldPos(0)
			continue
		}
		for _, field := range row {
			need += int64(len(field)) + fieldMemory
		}
		if need += rowMemory; need > limit {
			return &budget.Error{What: fmt.Sprintf("%s: more than %d samples", path.Join(t.Location(), name), rows),
				Limit: limit}
		}
		rows++
		line, _ := r.FieldPos(0)
		if err := fn(line, head, row); err != nil {
			if of := (*headError)(nil); errors.As(err, &of) {
				line = headLine
			}
			return lineError(t, name, line, err)
		}
	}
	if header && head == nil {
		return fmt.Errorf("%s: empty file", path.Join(t.Location(), name))
	}
	return nil
}
