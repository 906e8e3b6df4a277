package qdrant

import (
	"fmt"

	"github.com/qdrant/go-client/qdrant"

	"github.com/kindred-ml/kindred/internal/database/driver"
	"github.com/kindred-ml/kindred/store"
)

// Keys of the payload, besides a column's t_NAME, n_NAME or b_NAME.
const (
	idKey      = "id"
	pathKey    = "path"
	columnsKey = "columns" // as JSON, which keeps what they are called
	networkKey = "network" // these two of the point that tells of the store
	versionKey = "version"
)

// items is the filter of all that are items, and pass a filter if there is one.
func items(text string) (*qdrant.Filter, error) {
	out := &qdrant.Filter{MustNot: []*qdrant.Condition{qdrant.NewHasID(qdrant.NewID(aboutID))}}
	f, err := store.ParseFilter(text)
	if f == nil || err != nil {
		return out, err
	}
	c, err := condition(f.Expr())
	if err != nil {
		return nil, &store.FilterError{Filter: text, Reason: err.Error()}
	}
	out.Must = []*qdrant.Condition{c}
	return out, nil
}

func must(of ...*qdrant.Condition) *qdrant.Condition {
	return qdrant.NewFilterAsCondition(&qdrant.Filter{Must: of})
}

func should(of ...*qdrant.Condition) *qdrant.Condition {
	return qdrant.NewFilterAsCondition(&qdrant.Filter{Should: of})
}

func mustNot(of ...*qdrant.Condition) *qdrant.Condition {
	return qdrant.NewFilterAsCondition(&qdrant.Filter{MustNot: of})
}

// condition translates an expression.
func condition(e store.Expr) (*qdrant.Condition, error) {
	list := func(of []store.Expr) ([]*qdrant.Condition, error) {
		out := make([]*qdrant.Condition, len(of))
		for i, one := range of {
			var err error
			if out[i], err = condition(one); err != nil {
				return nil, err
			}
		}
		return out, nil
	}
	switch e := e.(type) {
	case store.And:
		of, err := list(e)
		return must(of...), err
	case store.Or:
		of, err := list(e)
		return should(of...), err
	case store.Not:
		of, err := condition(e.Of)
		return mustNot(of), err
	case *store.Condition:
		return test(e)
	}
	return nil, fmt.Errorf("a filter of another kind: %T", e)
}

// keys are where the values of a column are, of each kind.
func keys(column string, kinds ...store.Kind) []string {
	if column == idKey || column == pathKey {
		return []string{column}
	}
	out := make([]string, len(kinds))
	for i, k := range kinds {
		out[i] = driver.Property(k, column)
	}
	return out
}

func test(t *store.Condition) (*qdrant.Condition, error) {
	switch t.Op {
	case store.Missing, store.Present:
		var of []*qdrant.Condition
		for _, key := range keys(t.Column, store.Text, store.Number, store.Bool) {
			of = append(of, qdrant.NewIsEmpty(key))
		}
		if t.Op == store.Missing {
			return must(of...), nil
		}
		return mustNot(must(of...)), nil
	case store.True:
		return qdrant.NewMatchBool(keys(t.Column, store.Bool)[0], true), nil
	}
	if t.Column == idKey || t.Column == pathKey {
		t = t.AsText()
	}
	kind := store.KindOf(t.Values[0])
	key := keys(t.Column, kind)[0]
	if t.Op != store.Equal && t.Op != store.Unequal && t.Op != store.In && t.Op != store.NotIn {
		return ordered(key, t)
	}
	of := []*qdrant.Condition{equality(key, t.Op, t.Values)}
	if kind != store.Text { // a column of texts is compared with the literals
		of = append(of, equality(keys(t.Column, store.Text)[0], t.Op, t.AsText().Values))
	}
	return should(of...), nil
}

// equality is that a column has, or for Unequal and NotIn has another value than, one of several of a kind.
func equality(key string, op store.Op, values []any) *qdrant.Condition {
	if op == store.Unequal || op == store.NotIn {
		return mustNot(among(key, values), qdrant.NewIsEmpty(key))
	}
	return among(key, values)
}

// ordered is a comparison by the order of numbers.
func ordered(key string, t *store.Condition) (*qdrant.Condition, error) {
	x, ok := t.Values[0].(float64)
	if !ok {
		return nil, fmt.Errorf("texts are compared by = and != only in Qdrant, not by %s: column %s", t.Op, t.Column)
	}
	r := &qdrant.Range{}
	switch t.Op {
	case store.Less:
		r.Lt = &x
	case store.AtMost:
		r.Lte = &x
	case store.Greater:
		r.Gt = &x
	default:
		r.Gte = &x
	}
	return qdrant.NewRange(key, r), nil
}

// among is that a value is one of several of a kind. Qdrant matches no fractions: an
// interval of one number does.
func among(key string, values []any) *qdrant.Condition {
	var of []*qdrant.Condition
	var words []string
	for _, v := range values {
		switch v := v.(type) {
		case float64:
			of = append(of, qdrant.NewRange(key, &qdrant.Range{Gte: &v, Lte: &v}))
		case bool:
			of = append(of, qdrant.NewMatchBool(key, v))
		case string:
			words = append(words, v)
		}
	}
	if words != nil {
		of = append(of, qdrant.NewMatchKeywords(key, words...))
	}
	return should(of...)
}
