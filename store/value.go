package store

import (
	"cmp"
	"fmt"
	"maps"
	"math"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/kindred-ml/kindred/internal/base/classname"
)

// Value returns the value that a filter compares for a column; "id" and "path" are the
// item's own. It is nil if the item has no value in that column, or no path.
func (it *Item) Value(column string) any {
	switch {
	case column == "id":
		return it.ID
	case column != "path":
		return it.Columns[column]
	case it.Path == "":
		return nil
	}
	return it.Path
}

// IsClassColumn reports whether a column holds classes: label, coarse, fine and labels. A class is text, exact to the
// byte: 2.1 and 2.10 are two classes, so these columns are never numbers.
func IsClassColumn(name string) bool { return classname.IsColumn(name) }

// ClassColumn returns the column of the items' classes that a user calls name; "" means label. fine and label are one
// column where only one of them exists.
func ClassColumn(columns []Column, name string) string {
	return classname.Find(cmp.Or(name, "label"), func(name string) bool {
		return slices.ContainsFunc(columns, func(c Column) bool { return c.Name == name })
	})
}

// ConvertClasses gives an item's classes the kinds of the columns of the store that it is written to: text, or the kind
// that an older store has. Numbers and truth values become texts in a column of texts. Spaces at the ends of a class do
// not count.
func ConvertClasses(it *Item, columns []Column) error {
	it.convertColumns()
	for _, name := range classname.Columns() {
		v := it.Columns[name]
		kind := Text
		if i := slices.IndexFunc(columns, func(c Column) bool { return c.Name == name }); i >= 0 {
			kind = columns[i].Kind
		}
		text := classname.Clean(FormatValue(v))
		if v == nil || KindOf(v) == kind && (kind != Text || v == any(text)) {
			continue
		}
		v, err := ParseValue(kind, text)
		if err != nil {
			return ClassError(name, it.ID, err)
		}
		it.Columns = maps.Clone(it.Columns)
		if it.Columns[name] = v; v == nil {
			delete(it.Columns, name)
		}
	}
	return nil
}

// ClassError is the error for a class that an older column of numbers or truth values cannot hold.
func ClassError(column, id string, err error) error {
	return fmt.Errorf("column %s of %s: %w, the type of this column in the store; classes are text in an index made "+
		"anew with kindred index create", column, id, err)
}

// KindOf returns the kind of a value of an item's column; "" for nil and for values that
// no column can hold.
func KindOf(v any) Kind {
	switch v.(type) {
	case string:
		return Text
	case float64:
		return Number
	case bool:
		return Bool
	}
	return ""
}

// ParseValue reads a value of a kind from a text of a table. For an empty text, which is a missing
// value of any kind, it returns nil.
func ParseValue(k Kind, text string) (any, error) {
	if text == "" {
		return nil, nil
	}
	switch k {
	case Number:
		f, err := strconv.ParseFloat(text, 64)
		if err != nil || math.IsInf(f, 0) || math.IsNaN(f) {
			return nil, fmt.Errorf("%q is not a finite number", text)
		}
		return f + 0, nil // no -0
	case Bool:
		switch text {
		case "true", "True", "TRUE":
			return true, nil
		case "false", "False", "FALSE":
			return false, nil
		}
		return nil, fmt.Errorf("%q: must be true or false", text)
	}
	return text, nil
}

// FormatValue writes a value of a column for people and tables; "" for a missing one.
func FormatValue(v any) string {
	switch v := v.(type) {
	case float64:
		return strconv.FormatFloat(v, 'g', -1, 64)
	case bool:
		return strconv.FormatBool(v)
	case string:
		return v
	}
	return ""
}

// numberForm is how programs write numbers: 0.30000000000000004, 1e-05, -1E+20. Ids such
// as 007, and those with more digits than a number keeps apart, are texts.
var numberForm = regexp.MustCompile(`^-?(?:0|[1-9][0-9]*)(\.[0-9]+)?([eE][-+]?[0-9]+)?$`)

// maxExactDigits is the number of digits of a whole number that float64 always keeps.
const maxExactDigits = 15

// IsNumber reports whether a text has the form in which programs write finite numbers, so that a
// column of such texts can be a column of numbers. 007, +1, .5, 0x10 and nan are not, nor
// is a whole number of more than 15 digits, which could become another number. A fraction
// may have more digits than float64 keeps.
func IsNumber(text string) bool {
	m := numberForm.FindStringSubmatch(text)
	if m == nil {
		return false
	}
	if m[1] == "" && m[2] == "" {
		return len(strings.TrimPrefix(text, "-")) <= maxExactDigits
	}
	f, err := strconv.ParseFloat(text, 64)
	if err != nil {
		return false // too large
	}
	mantissa, _, _ := strings.Cut(strings.ToLower(text), "e")
	return f != 0 || strings.Trim(mantissa, "-0.") == "" // else too small
}
