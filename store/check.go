package store

import (
	"errors"
	"fmt"
	"maps"
	"math"
	"reflect"
	"slices"
	"unicode"
	"unicode/utf8"
)

// Bounds of an item in every engine.
const (
	MaxID      = 512     // bytes of an id or the name of a column
	MaxText    = 1 << 16 // bytes of a path or a text
	MaxColumns = 256     // columns of an item
)

// Check returns a *DimensionError or an *ItemError if the item cannot be written to a
// store whose vectors have dim numbers: if an engine would refuse it, or would not return
// it unchanged. It first gives the columns new values of other types than an engine stores: an
// integer or a float32 becomes the equal float64, and a named type its text, number or bool.
func (it *Item) Check(dim int) error {
	it.convertColumns()
	if len(it.Vector) != dim {
		return &DimensionError{Have: len(it.Vector), Want: dim}
	}
	if err := it.check(); err != nil {
		return &ItemError{ID: it.ID, Err: err}
	}
	return nil
}

func (it *Item) check() error {
	if err := checkName("its id", it.ID); err != nil {
		return err
	}
	if it.ID == "/" || it.ID == "." || it.ID == ".." {
		return errors.New("its id would be a folder in an address: choose another id")
	}
	if err := checkText("its path", "", it.Path); err != nil {
		return err
	}
	for i, v := range it.Vector {
		if v != v || math.IsInf(float64(v), 0) {
			return fmt.Errorf("number %d of its vector is %g", i, v)
		}
	}
	if len(it.Columns) > MaxColumns {
		return fmt.Errorf("%d columns: must be at most %d", len(it.Columns), MaxColumns)
	}
	for name, v := range it.Columns {
		if checkColumn(name, v) != nil {
			return it.firstError()
		}
	}
	return nil
}

// convertColumns gives the columns the types that engines store, as far as values have an equal one. It leaves the map
// of the caller as it is.
func (it *Item) convertColumns() {
	own := false
	for name, v := range it.Columns {
		if KindOf(v) != "" {
			continue
		}
		if v = convertValue(v); v == nil {
			continue
		}
		if !own {
			it.Columns, own = maps.Clone(it.Columns), true
		}
		it.Columns[name] = v
	}
}

// convertValue returns the equal string, float64 or bool of a value of another type; nil without one.
func convertValue(v any) any {
	r := reflect.ValueOf(v)
	switch {
	case r.Kind() == reflect.String:
		return r.String()
	case r.Kind() == reflect.Bool:
		return r.Bool()
	case r.CanFloat():
		return r.Float()
	case r.CanInt():
		if f := float64(r.Int()); f < 1<<63 && int64(f) == r.Int() {
			return f
		}
	case r.CanUint():
		if f := float64(r.Uint()); f < 1<<64 && uint64(f) == r.Uint() {
			return f
		}
	}
	return nil
}

// firstError returns the first error in the columns, in the order of their names.
func (it *Item) firstError() error {
	for _, name := range slices.Sorted(maps.Keys(it.Columns)) {
		if err := checkColumn(name, it.Columns[name]); err != nil {
			return err
		}
	}
	return nil
}

func checkColumn(name string, value any) error {
	if err := checkName("the name of a column", name); err != nil {
		return err
	}
	switch v := value.(type) {
	case string:
		return checkText("column ", name, v)
	case float64:
		if math.IsNaN(v) || math.IsInf(v, 0) {
			return fmt.Errorf("column %s is %g", name, v)
		}
	case bool:
	default:
		if r := reflect.ValueOf(value); r.CanInt() || r.CanUint() {
			return fmt.Errorf("column %s is %d: float64 cannot hold this number; write it as text", name, value)
		}
		return fmt.Errorf("column %s is %T: must be text, a number, true or false", name, value)
	}
	return nil
}

func checkName(what, s string) error {
	switch {
	case s == "":
		return errors.New(what + " is empty")
	case len(s) > MaxID:
		return fmt.Errorf("%s has %d bytes: must be at most %d", what, len(s), MaxID)
	case isPrintable(s): // the usual case
		return nil
	case !utf8.ValidString(s):
		return errors.New(what + " is not UTF-8")
	}
	for _, r := range s {
		if unicode.IsControl(r) {
			return fmt.Errorf("%s has the control character %U", what, r)
		}
	}
	return nil
}

// isPrintable reports whether a text is printable ASCII.
func isPrintable(s string) bool {
	for i := range len(s) {
		if s[i] < ' ' || s[i] > '~' {
			return false
		}
	}
	return true
}

// checkText returns an error for an invalid text. what and name describe the text: a column or something else.
func checkText(what, name, s string) error {
	if len(s) > MaxText {
		return fmt.Errorf("%s%s has %d bytes: must be at most %d", what, name, len(s), MaxText)
	}
	if !utf8.ValidString(s) {
		return errors.New(what + name + " is not UTF-8")
	}
	return nil
}
