package store

import (
	"fmt"
	"slices"
	"strings"

	"github.com/kindred-ml/kindred/internal/base/enum"
)

// Check returns a *FilterError unless every column that the filter names, except id and path,
// is among columns and has the kind that the filter compares it with.
func (f *Filter) Check(columns []Column) error {
	if f == nil {
		return nil
	}
	return visitConditions(f.root, func(t *Condition) error {
		if isTextColumn(t.Column) {
			return nil // ParseFilter has checked these columns
		}
		i := slices.IndexFunc(columns, func(c Column) bool { return c.Name == t.Column })
		if i < 0 {
			return f.errorAt(t.offset, unknownColumn(t.Column, columns))
		}
		return f.checkKind(t, columns[i].Kind)
	})
}

// isTextColumn reports whether a column is one of those that every item has, which are texts.
func isTextColumn(column string) bool { return column == "id" || column == "path" }

// visitConditions calls a function of every test of an expression, and returns its first error.
func visitConditions(e Expr, do func(*Condition) error) error {
	several := func(parts []Expr) error {
		for _, p := range parts {
			if err := visitConditions(p, do); err != nil {
				return err
			}
		}
		return nil
	}
	switch e := e.(type) {
	case And:
		return several(e)
	case Or:
		return several(e)
	case Not:
		return visitConditions(e.Expr, do)
	case *Condition:
		return do(e)
	}
	return nil
}

// checkKind compares a test with the kind of its column's values.
func (f *Filter) checkKind(t *Condition, kind Kind) error {
	for i, v := range t.Values {
		if is := KindOf(v); is != kind && !(kind == Text && t.MatchesTexts()) {
			err := f.errorAt(t.valueOffsets[i],
				fmt.Sprintf("column %s has values of kind %v, but this value is of kind "+
					"%v", t.Column,
					kind, is))
			if kind == Text && is == Number {
				err.Texts = t.Column
			}
			return err
		}
	}
	switch {
	case t.Op == True && kind != Bool:
		return f.errorAt(t.offset, fmt.Sprintf("column %s has values of kind %v: compare it with one", t.Column, kind))
	case kind == Bool && t.Op >= Less && t.Op <= AtLeast:
		return f.errorAt(t.offset, fmt.Sprintf("column %s is true or false: compare it by = or !=", t.Column))
	}
	return nil
}

// unknownColumn returns the message about a column that does not exist.
func unknownColumn(name string, columns []Column) string {
	known := []string{"id", "path"}
	for _, c := range columns {
		known = append(known, c.Name)
	}
	return fmt.Sprintf("no column %s%s: the columns are %s", name, enum.Suggest(name, known),
		strings.Join(known, ", "))
}
