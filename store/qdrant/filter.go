package qdrant

import (
	"fmt"

	"github.com/qdrant/go-client/qdrant"

	"github.com/kindred-ml/kindred/index"
	"github.com/kindred-ml/kindred/internal/storename"
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
func items(filter string) (*qdrant.Filter, error) {
	out := &qdrant.Filter{MustNot: []*qdrant.Condition{qdrant.NewHasID(qdrant.NewID(aboutID))}}
	if filter == "" {
		return out, nil
	}
	f, err := index.ParseFilter(filter)
	if err != nil {
		return nil, &store.FilterError{Filter: filter, Err: err}
	}
	c, err := condition(f.Expr())
	if err != nil {
		return nil, &store.FilterError{Filter: filter, Err: err}
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
func condition(e index.Expr) (*qdrant.Condition, error) {
	list := func(of []index.Expr) ([]*qdrant.Condition, error) {
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
	case index.And:
		of, err := list(e)
		return must(of...), err
	case index.Or:
		of, err := list(e)
		return should(of...), err
	case index.Not:
		of, err := condition(e.Of)
		return mustNot(of), err
	case index.Test:
		return test(&e)
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
		out[i] = storename.Property(k, column)
	}
	return out
}

func test(t *index.Test) (*qdrant.Condition, error) {
	switch t.Op {
	case "is missing", "is not missing":
		var of []*qdrant.Condition
		for _, key := range keys(t.Column, store.Text, store.Number, store.Bool) {
			of = append(of, qdrant.NewIsEmpty(key))
		}
		if t.Op == "is missing" {
			return must(of...), nil
		}
		return mustNot(must(of...)), nil
	case "is true":
		return qdrant.NewMatchBool(keys(t.Column, store.Bool)[0], true), nil
	}
	key := keys(t.Column, store.Kind(t.Values[0].Kind().String()))[0]
	switch t.Op {
	case "=", "in":
		return among(key, t.Values), nil
	case "!=", "not in":
		return mustNot(among(key, t.Values), qdrant.NewIsEmpty(key)), nil
	}
	v := t.Values[0]
	if v.Kind() != index.KindNumber {
		return nil, fmt.Errorf("texts are compared by = and != only in Qdrant, not by %s: column %s", t.Op, t.Column)
	}
	r, x := &qdrant.Range{}, v.Number()
	switch t.Op {
	case "<":
		r.Lt = &x
	case "<=":
		r.Lte = &x
	case ">":
		r.Gt = &x
	default:
		r.Gte = &x
	}
	return qdrant.NewRange(key, r), nil
}

// among is that a value is one of several of a kind. Qdrant matches no fractions: an
// interval of one number does.
func among(key string, values []index.Value) *qdrant.Condition {
	var of []*qdrant.Condition
	var words []string
	for _, v := range values {
		switch v.Kind() {
		case index.KindNumber:
			x := v.Number()
			of = append(of, qdrant.NewRange(key, &qdrant.Range{Gte: &x, Lte: &x}))
		case index.KindBool:
			of = append(of, qdrant.NewMatchBool(key, v.Bool()))
		default:
			words = append(words, v.Text())
		}
	}
	if words != nil {
		of = append(of, qdrant.NewMatchKeywords(key, words...))
	}
	return should(of...)
}
