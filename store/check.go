package store

import (
	"errors"
	"fmt"
	"maps"
	"math"
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
// it unchanged.
func (it *Item) Check(dim int) error {
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
		return errors.New("its id means a folder in an address: choose another id")
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
		return fmt.Errorf("%d columns: want at most %d", len(it.Columns), MaxColumns)
	}
	for name, v := range it.Columns {
		if checkColumn(name, v) != nil {
			return it.firstFault()
		}
	}
	return nil
}

// firstFault returns the first error in the columns, in the order of their names.
func (it *Item) firstFault() error {
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
		return fmt.Errorf("column %s is not text, a number, true or false", name)
	}
	return nil
}

func checkName(what, s string) error {
	switch {
	case s == "":
		return errors.New(what + " is empty")
	case len(s) > MaxID:
		return fmt.Errorf("%s has %d bytes: want at most %d", what, len(s), MaxID)
	case plain(s): // the usual case
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

// plain reports whether a text is printable ASCII.
func plain(s string) bool {
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
		return fmt.Errorf("%s%s has %d bytes: want at most %d", what, name, len(s), MaxText)
	}
	if !utf8.ValidString(s) {
		return errors.New(what + name + " is not UTF-8")
	}
	return nil
}
