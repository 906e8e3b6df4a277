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
	columnsKey = "columns" // as JSON, with the names of the columns
	networkKey = "network" // this key and the next are of the point that describes the store
	versionKey = "version"
)

// itemFilter returns the filter of all points that are items and pass the filter text, if it is not empty.
func itemFilter(text string) (*qdrant.Filter, error) {
	out := &qdrant.Filter{MustNot: []*qdrant.Condition{qdrant.NewHasID(qdrant.NewID(descriptionID))}}
	f, err := store.ParseFilter(text)
	if f == nil || err != nil {
		return out, err
	}
	c, err := translate(f.Expr())
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

// translate translates an expression.
func translate(e store.Expr) (*qdrant.Condition, error) {
	list := func(of []store.Expr) ([]*qdrant.Condition, error) {
		out := make([]*qdrant.Condition, len(of))
		for i, one := range of {
			var err error
			if out[i], err = translate(one); err != nil {
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
		of, err := translate(e.Expr)
		return mustNot(of), err
	case *store.Condition:
		return translateTest(e)
	}
	return nil, fmt.Errorf("unknown kind of filter: %T", e)
}

// payloadKeys returns the keys of the values of a column, one for each kind.
func payloadKeys(column string, kinds ...store.Kind) []string {
	if column == idKey || column == pathKey {
		return []string{column}
	}
	out := make([]string, len(kinds))
	for i, k := range kinds {
		out[i] = driver.PropertyName(k, column)
	}
	return out
}

func translateTest(t *store.Condition) (*qdrant.Condition, error) {
	switch t.Op {
	case store.Missing, store.Present:
		var of []*qdrant.Condition
		for _, key := range payloadKeys(t.Column, store.Text, store.Number, store.Bool) {
			of = append(of, qdrant.NewIsEmpty(key))
		}
		if t.Op == store.Missing {
			return must(of...), nil
		}
		return mustNot(must(of...)), nil
	case store.True:
		return qdrant.NewMatchBool(payloadKeys(t.Column, store.Bool)[0], true), nil
	}
	if t.Column == idKey || t.Column == pathKey {
		t = t.ForTexts()
	}
	kind := store.KindOf(t.Values[0])
	key := payloadKeys(t.Column, kind)[0]
	if t.Op != store.Equal && t.Op != store.Unequal && t.Op != store.In && t.Op != store.NotIn {
		return comparison(key, t)
	}
	of := []*qdrant.Condition{equalTo(key, t.Op, t.Values)}
	if kind != store.Text { // a column of texts is compared with the literals
		of = append(of, equalTo(payloadKeys(t.Column, store.Text)[0], t.Op, t.ForTexts().Values))
	}
	return should(of...), nil
}

// equalTo returns the condition that a column has one of several values of a kind or, for Unequal and NotIn, another
// value.
func equalTo(key string, op store.Op, values []any) *qdrant.Condition {
	if op == store.Unequal || op == store.NotIn {
		return mustNot(anyOf(key, values), qdrant.NewIsEmpty(key))
	}
	return anyOf(key, values)
}

// comparison returns a comparison by the order of numbers.
func comparison(key string, t *store.Condition) (*qdrant.Condition, error) {
	x, ok := t.Values[0].(float64)
	if !ok {
		return nil, fmt.Errorf("the store Qdrant compares texts only by = and !=, not by %s: column %s", t.Op, t.Column)
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

// anyOf returns the condition that a value is one of several of a kind. Qdrant cannot match
// fractions, so a number is written as a range.
func anyOf(key string, values []any) *qdrant.Condition {
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
