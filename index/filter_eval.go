package index

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
)

// check compares a filter with the columns there are.
func (f *Filter) check(s *schema) error {
	if f == nil {
		return nil
	}
	return f.checkNode(f.root, s)
}

func (f *Filter) checkNode(n node, s *schema) error {
	switch n := n.(type) {
	case *allOf:
		return f.checkAll(n.parts, s)
	case *anyOf:
		return f.checkAll(n.parts, s)
	case *notOf:
		return f.checkNode(n.part, s)
	case *test:
		return f.checkTest(n, s)
	}
	return nil
}

func (f *Filter) checkAll(parts []node, s *schema) error {
	for _, p := range parts {
		if err := f.checkNode(p, s); err != nil {
			return err
		}
	}
	return nil
}

func (f *Filter) checkTest(t *test, s *schema) error {
	kind := KindText // of id and path
	if t.column != "id" && t.column != "path" {
		i, ok := s.at[t.column]
		if !ok {
			return f.fail(t.at, s.unknown(t.column))
		}
		kind = s.columns[i].Kind
	}
	for i, v := range t.values {
		if v.kind != kind {
			err := f.fail(t.where[i], fmt.Sprintf("column %s holds values of kind %v, and this is of kind %v", t.column,
				kind, v.kind))
			if kind == KindText && v.kind == KindNumber {
				err.texts = t.column
			}
			return err
		}
	}
	switch {
	case t.op == opTrue && kind != KindBool:
		return f.fail(t.at, fmt.Sprintf("column %s holds values of kind %v: compare it with one", t.column, kind))
	case kind == KindBool && t.op >= opLess && t.op <= opAtLeast:
		return f.fail(t.at, fmt.Sprintf("column %s is true or false: compare it by = or !=", t.column))
	}
	return nil
}

// holds tells whether the test is true of a value of its column.
func (t *test) holds(v Value) bool {
	switch {
	case t.op == opMissing:
		return v.kind == None
	case v.kind == None:
		return false
	}
	switch t.op {
	case opPresent:
		return true
	case opTrue:
		return v.number != 0
	case opIn:
		return slices.Contains(t.values, v)
	case opNotIn:
		return !slices.Contains(t.values, v)
	}
	order := strings.Compare(v.text, t.values[0].text)
	if v.kind != KindText {
		order = cmp.Compare(v.number, t.values[0].number)
	}
	return t.ordered(order)
}

// ordered tells whether a comparison is true of what compares so with its value.
func (t *test) ordered(order int) bool {
	switch t.op {
	case opEqual:
		return order == 0
	case opUnequal:
		return order != 0
	case opLess:
		return order < 0
	case opAtMost:
		return order <= 0
	case opGreater:
		return order > 0
	}
	return order >= 0
}

// passes tells whether an item passes, given its values by column.
func passes(n node, value func(column string) Value) bool {
	switch n := n.(type) {
	case *allOf:
		for _, p := range n.parts {
			if !passes(p, value) {
				return false
			}
		}
	case *anyOf:
		for _, p := range n.parts {
			if passes(p, value) {
				return true
			}
		}
		return false
	case *notOf:
		return !passes(n.part, value)
	case *test:
		return n.holds(value(n.column))
	}
	return true
}
