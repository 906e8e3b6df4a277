package filter

import (
	"cmp"
	"slices"
	"strings"

	"github.com/kindred-ml/kindred/store"
)

// Match tells whether an item passes. A value of another kind than it is compared with
// counts as missing there; Check tells of such columns before.
func (f *Filter) Match(it *store.Item) bool { return f == nil || matches(f.root, it) }

func matches(e Expr, it *store.Item) bool {
	switch e := e.(type) {
	case And:
		for _, part := range e {
			if !matches(part, it) {
				return false
			}
		}
		return true
	case Or:
		for _, part := range e {
			if matches(part, it) {
				return true
			}
		}
		return false
	case Not:
		return !matches(e.Of, it)
	case *Test:
		return e.Holds(it.Value(e.Column))
	}
	return false
}

// Holds tells whether the test is true of a value of its column: a string, a float64, a
// bool, or nil for a missing one.
func (t *Test) Holds(v any) bool {
	switch t.Op {
	case Missing:
		return v == nil
	case Present:
		return v != nil
	case True:
		return v == true
	case In:
		return slices.Contains(t.Values, v)
	case NotIn:
		return store.KindOf(v) == store.KindOf(t.Values[0]) && !slices.Contains(t.Values, v)
	}
	switch want := t.Values[0].(type) {
	case string:
		have, ok := v.(string)
		return ok && t.Op.Of(strings.Compare(have, want))
	case float64:
		have, ok := v.(float64)
		return ok && t.Op.Of(cmp.Compare(have, want))
	case bool:
		have, ok := v.(bool)
		return ok && (have == want) == (t.Op == Equal)
	}
	return false
}
