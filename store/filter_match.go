package store

import (
	"cmp"
	"slices"
	"strings"
)

// Match reports whether an item passes. A text is compared with a number as the filter writes it. Otherwise a value
// of another kind than the one it is compared with counts as missing; Check finds such columns beforehand.
func (f *Filter) Match(it *Item) bool { return f == nil || matches(f.root, it) }

func matches(e Expr, it *Item) bool {
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
		return !matches(e.Expr, it)
	case *Condition:
		return e.Matches(it.Value(e.Column))
	}
	return false
}

// Matches reports whether the test is true for a value of its column: a string, a float64, a
// bool, or nil for a missing one. MatchesText and MatchesNumber do the same for engines that
// store such values in columns.
func (t *Condition) Matches(v any) bool {
	switch v := v.(type) {
	case nil:
		return t.Op == Missing
	case string:
		return t.MatchesText(v)
	case float64:
		return t.MatchesNumber(v)
	case bool:
		return t.matchesBool(v)
	}
	return t.Op == Present
}

// MatchesText is Holds for a text.
func (t *Condition) MatchesText(v string) bool {
	switch t.Op {
	case Present:
		return true
	case Missing:
		return false
	case In, NotIn:
		for i := range t.Values {
			if t.TextValue(i) == v {
				return t.Op == In
			}
		}
		return t.Op == NotIn
	}
	return t.MatchesTexts() && t.Op.Compare(strings.Compare(v, t.TextValue(0)))
}

// MatchesNumber is Holds for a number.
func (t *Condition) MatchesNumber(v float64) bool {
	switch t.Op {
	case Present:
		return true
	case Missing, True:
		return false
	}
	want, ok := t.Values[0].(float64)
	switch {
	case !ok:
		return false
	case t.Op == In, t.Op == NotIn:
		for _, one := range t.Values {
			if one, ok := one.(float64); ok && one == v {
				return t.Op == In
			}
		}
		return t.Op == NotIn
	}
	return t.Op.Compare(cmp.Compare(v, want))
}

func (t *Condition) matchesBool(v bool) bool {
	switch t.Op {
	case Present:
		return true
	case Missing:
		return false
	case True:
		return v
	}
	if _, ok := t.Values[0].(bool); !ok {
		return false
	}
	return slices.Contains(t.Values, any(v)) == (t.Op == Equal || t.Op == In)
}
