package index

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/kindred-ml/kindred/store"
)

// InputError is the error for an invalid query, vector or setting: the same call would fail
// again. The error for an item that cannot be stored is a *store.ItemError.
type InputError struct{ Reason string }

func (e *InputError) Error() string { return e.Reason }

func inputf(format string, args ...any) error { return &InputError{fmt.Sprintf(format, args...)} }

// Bounds of an index, besides those of an item, which package store has.
const (
	maxName = 256 // bytes of the name of a column
	maxDim  = 1 << 16
)

// reservedNames are names that filters and results use themselves.
var reservedNames = [...]string{"id", "path", "distance"}

// checkItem refuses items that an index cannot store.
func checkItem(it *store.Item, dim int) error {
	if len(it.Vector) != dim {
		return inputf("the vector of item %q has %d numbers, but the index has vectors of %d", it.ID, len(it.Vector),
			dim)
	}
	if err := it.Check(dim); err != nil {
		return err
	}
	if strings.ContainsRune(it.Path, 0) {
		return itemf(it, "its path contains a zero byte")
	}
	for name := range it.Columns {
		if err := checkColumn(name); err != nil {
			return itemf(it, "%v", err)
		}
	}
	return nil
}

// itemf returns an error about an item.
func itemf(it *store.Item, format string, args ...any) error {
	return &store.ItemError{ID: it.ID, Err: fmt.Errorf(format, args...)}
}

// isValidID reports whether a stored id can be valid.
func isValidID(id string) bool {
	return id != "" && len(id) <= store.MaxID && utf8.ValidString(id) && !strings.ContainsFunc(id, isControl)
}

// isValidItem reports whether a stored item can be valid, apart from its vector.
func isValidItem(it *store.Item) bool {
	if !isValidID(it.ID) || !isValidText(it.Path) || strings.ContainsRune(it.Path, 0) ||
		len(it.Columns) > store.MaxColumns {
		return false
	}
	for name, v := range it.Columns {
		if text, ok := v.(string); ok && !isValidText(text) {
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

func isValidText(s string) bool { return len(s) <= store.MaxText && utf8.ValidString(s) }

// isControl reports whether r is a control character that ids and names of columns never contain.
func isControl(r rune) bool { return r < ' ' || r == 0x7f }

func checkColumn(name string) error {
	switch {
	case name == "" || len(name) > maxName:
		return inputf("the name of a column has %d bytes: must be 1 to %d", len(name), maxName)
	case !utf8.ValidString(name) || strings.ContainsFunc(name, isControl) || strings.Contains(name, "`"):
		return inputf("column %q: the name is not UTF-8, or it contains a control character or a backquote", name)
	case slices.Contains(reservedNames[:], name):
		return inputf("the column name %s is reserved", name)
	}
	return nil
}

// checkQuery refuses the vector of a query.
func checkQuery(x []float32, dim int) error {
	if len(x) != dim {
		return inputf("the query has %d numbers, but the index has vectors of %d", len(x), dim)
	}
	if i := firstNonFinite(x); i >= 0 {
		return inputf("the query has the value %v in dimension %d", x[i], i)
	}
	return nil
}

// firstNonFinite returns the index of the first number that is not finite; -1 if all are.
func firstNonFinite(x []float32) int {
	return slices.IndexFunc(x, func(v float32) bool { return v-v != 0 })
}

// schema is the columns in the order of their first appearance. It only grows.
type schema struct {
	columns   []store.Column
	positions map[string]int
}

func newSchema(columns []store.Column) *schema {
	s := &schema{columns: slices.Clone(columns), positions: make(map[string]int)}
	for i, c := range columns {
		s.positions[c.Name] = i
	}
	return s
}

// newColumns refuses an item whose columns have other kinds than the existing columns. It returns the columns that
// the item would add.
func (s *schema) newColumns(it *store.Item) (more []store.Column, err error) {
	known := true
	for name, v := range it.Columns {
		i, ok := s.positions[name]
		known = known && ok && s.columns[i].Kind == store.KindOf(v)
	}
	if known {
		return nil, nil
	}
	for _, name := range slices.Sorted(maps.Keys(it.Columns)) { // new columns in the same order each time
		v := it.Columns[name]
		kind := store.KindOf(v)
		i, ok := s.positions[name]
		switch {
		case !ok:
			more = append(more, store.Column{Name: name, Kind: kind})
		case s.columns[i].Kind != kind:
			return nil, itemf(it, "column %s has values of kind %v, but %q has one of kind %v", name, s.columns[i].Kind,
				store.FormatValue(v), kind)
		}
	}
	if n := len(s.columns) + len(more); n > store.MaxColumns {
		return nil, itemf(it, "with it the index would have %d columns: must be at most %d", n, store.MaxColumns)
	}
	return more, nil
}

// extended returns s with more columns. It does not change s, because others read it.
func (s *schema) extended(more []store.Column) *schema {
	if len(more) == 0 {
		return s
	}
	return newSchema(append(slices.Clip(s.columns), more...))
}
