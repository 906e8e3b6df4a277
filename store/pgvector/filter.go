package pgvector

import (
	"fmt"
	"strings"

	"github.com/kindred-ml/kindred/index"
	"github.com/kindred-ml/kindred/store"
)

// where collects the arguments of a statement while its text is written, so that no
// value or name from outside becomes part of the text.
type where struct{ args []any }

// arg returns the placeholder of a value.
func (w *where) arg(v any) string {
	w.args = append(w.args, v)
	return fmt.Sprintf("$%d", len(w.args))
}

// condition writes a filter as SQL; "true" of "".
func (w *where) condition(filter string) (string, error) {
	if filter == "" {
		return "true", nil
	}
	f, err := index.ParseFilter(filter)
	if err != nil {
		return "", &store.FilterError{Filter: filter, Err: err}
	}
	return w.expr(f.Expr()), nil
}

func (w *where) expr(e index.Expr) string {
	joined := func(parts []index.Expr, by string) string {
		texts := make([]string, len(parts))
		for i, p := range parts {
			texts[i] = w.expr(p)
		}
		return "(" + strings.Join(texts, by) + ")"
	}
	switch e := e.(type) {
	case index.And:
		return joined(e, " AND ")
	case index.Or:
		return joined(e, " OR ")
	case index.Not:
		return "(NOT " + w.expr(e.Of) + ")"
	case index.Test:
		return w.test(&e)
	}
	return "false"
}

// test writes one comparison, which is never NULL: what is missing compares to
// nothing.
func (w *where) test(t *index.Test) string {
	if t.Column == "id" || t.Column == "path" {
		return w.compare(t, fmt.Sprintf(`NULLIF(%s, '') COLLATE "C"`, t.Column), index.KindText)
	}
	value := "columns -> " + w.arg(t.Column)
	switch t.Op {
	case "is missing":
		return "((" + value + ") IS NULL)"
	case "is not missing":
		return "((" + value + ") IS NOT NULL)"
	case "is true":
		return "COALESCE((" + value + ") = 'true'::jsonb, false)"
	}
	kind := t.Values[0].Kind()
	typ := map[index.Kind]string{index.KindText: "string", index.KindNumber: "number", index.KindBool: "boolean"}[kind]
	of := map[index.Kind]string{index.KindText: `((%s) #>> '{}') COLLATE "C"`,
		index.KindNumber: "((%s) #>> '{}')::float8",
		index.KindBool:   "((%s) #>> '{}')::bool"}[kind]
	// CASE keeps a text from being read as a number.
	return fmt.Sprintf("CASE WHEN jsonb_typeof(%s) = '%s' THEN %s ELSE false END", value, typ,
		w.compare(t, fmt.Sprintf(of, value), kind))
}

// compare writes the comparison of an expression of a kind with the test's values.
func (w *where) compare(t *index.Test, of string, kind index.Kind) string {
	values := make([]string, len(t.Values))
	for i, v := range t.Values {
		switch kind {
		case index.KindText:
			values[i] = w.arg(v.Text()) + "::text"
		case index.KindNumber:
			values[i] = w.arg(v.Number()) + "::float8"
		default:
			values[i] = w.arg(v.Bool()) + "::bool"
		}
	}
	list := strings.Join(values, ", ")
	switch t.Op {
	case "is missing":
		return "(" + of + " IS NULL)"
	case "is not missing":
		return "(" + of + " IS NOT NULL)"
	case "in":
		return fmt.Sprintf("COALESCE(%s IN (%s), false)", of, list)
	case "not in":
		return fmt.Sprintf("COALESCE(%s NOT IN (%s), false)", of, list)
	case "!=":
		return fmt.Sprintf("COALESCE(%s <> %s, false)", of, list)
	}
	return fmt.Sprintf("COALESCE(%s %s %s, false)", of, t.Op, list)
}
