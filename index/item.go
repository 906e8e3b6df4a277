package index

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/kindred-ml/kindred/store"
)

// InputError is the error of an invalid query, vector or setting: the same call would fail
// again. The error of an item that cannot be kept is a *store.ItemError.
type InputError struct{ Reason string }

func (e *InputError) Error() string { return e.Reason }

func inputf(format string, args ...any) error { return &InputError{fmt.Sprintf(format, args...)} }

// Bounds of an index, besides those of an item, which package store has.
const (
	maxName = 256 // bytes of the name of a column
	maxDim  = 1 << 16
)

// reserved are names that filters and results use themselves.
var reserved = [...]string{"id", "path", "distance"}

// checkItem refuses items that no index can keep.
func checkItem(it *store.Item, dim int) error {
	if len(it.Vector) != dim {
		return inputf("the vector of item %q has %d numbers, and the index holds vectors of %d", it.ID, len(it.Vector),
			dim)
	}
	if err := it.Check(dim); err != nil {
		return err
	}
	if strings.ContainsRune(it.Path, 0) {
		return itemf(it, "its path holds a zero")
	}
	for name := range it.Columns {
		if err := checkColumn(name); err != nil {
			return itemf(it, "%v", err)
		}
	}
	return nil
}

// itemf says what is wrong with an item.
func itemf(it *store.Item, format string, args ...any) error {
	return &store.ItemError{ID: it.ID, Err: fmt.Errorf(format, args...)}
}

// storedID tells whether an id can be one that was written.
func storedID(id string) bool {
	return id != "" && len(id) <= store.MaxID && utf8.ValidString(id) && !strings.ContainsFunc(id, control)
}

// storedItem tells whether an item, but for its vector, can be one that was written.
func storedItem(it *store.Item) bool {
	if !storedID(it.ID) || !storedText(it.Path) || strings.ContainsRune(it.Path, 0) ||
		len(it.Columns) > store.MaxColumns {
		return false
	}
	for name, v := range it.Columns {
		if text, ok := v.(string); ok && !storedText(text) {
			return false
		}
		if number, ok := v.(float64); ok && number-number != 0 {
			return false
		}
		if checkColumn(name) != nil {
			return false
		}
	}
	return true
}

func storedText(s string) bool { return len(s) <= store.MaxText && utf8.ValidString(s) }

// control tells the control characters that no id and no name of a column has ever had.
func control(r rune) bool { return r < ' ' || r == 0x7f }

func checkColumn(name string) error {
	switch {
	case name == "" || len(name) > maxName:
		return inputf("a column name of %d bytes: want 1 to %d", len(name), maxName)
	case !utf8.ValidString(name) || strings.ContainsFunc(name, control) || strings.Contains(name, "`"):
		return inputf("column %q: its name is not UTF-8 or holds a control character or a backquote", name)
	case slices.Contains(reserved[:], name):
		return inputf("a column cannot be called %s", name)
	}
	return nil
}

// checkQuery refuses the vector of a query.
func checkQuery(x []float32, dim int) error {
	if len(x) != dim {
		return inputf("the query has %d numbers, and the index holds vectors of %d", len(x), dim)
	}
	if i := unfinite(x); i >= 0 {
		return inputf("the query holds %v (in dimension %d)", x[i], i)
	}
	return nil
}

// unfinite returns the first place of a vector that is not finite, -1 if all are.
func unfinite(x []float32) int { return slices.IndexFunc(x, func(v float32) bool { return v-v != 0 }) }

// schema is the columns in the order of their first appearance. It only grows.
type schema struct {
	columns []store.Column
	at      map[string]int
}

func newSchema(columns []store.Column) *schema {
	s := &schema{columns: slices.Clone(columns), at: make(map[string]int)}
	for i, c := range columns {
		s.at[c.Name] = i
	}
	return s
}

// fits refuses an item whose columns are of other kinds than those that are there, and
// tells which columns it would add.
func (s *schema) fits(it *store.Item) (more []store.Column, err error) {
	known := true
	for name, v := range it.Columns {
		i, ok := s.at[name]
		known = known && ok && s.columns[i].Kind == store.KindOf(v)
	}
	if known {
		return nil, nil
	}
	for _, name := range slices.Sorted(maps.Keys(it.Columns)) { // new columns in the same order each time
		v := it.Columns[name]
		kind := store.KindOf(v)
		i, ok := s.at[name]
		switch {
		case !ok:
			more = append(more, store.Column{Name: name, Kind: kind})
		case s.columns[i].Kind != kind:
			return nil, itemf(it, "column %s holds values of kind %v, and %q is of kind %v", name, s.columns[i].Kind,
				store.FormatValue(v), kind)
		}
	}
	if n := len(s.columns) + len(more); n > store.MaxColumns {
		return nil, itemf(it, "with it the index would have %d columns: at most %d", n, store.MaxColumns)
	}
	return more, nil
}

// grown is s with more columns. s itself is not changed, because others read it.
func (s *schema) grown(more []store.Column) *schema {
	if len(more) == 0 {
		return s
	}
	return newSchema(append(slices.Clip(s.columns), more...))
}
