package pgvector

import (
	"fmt"
	"strings"

	"github.com/kindred-ml/kindred/store"
)

// sqlBuilder collects the arguments of a statement while its text is written, so that no
// value or name of a caller becomes a part of the text.
type sqlBuilder struct{ args []any }

// addArg returns the placeholder of a value.
func (w *sqlBuilder) addArg(v any) string {
	w.args = append(w.args, v)
	return fmt.Sprintf("$%d", len(w.args))
}

// condition writes a filter as SQL; "true" for an empty filter.
func (w *sqlBuilder) condition(text string) (string, error) {
	f, err := store.ParseFilter(text)
	if f == nil || err != nil {
		return "true", err
	}
	return w.expr(f.Expr()), nil
}

func (w *sqlBuilder) expr(e store.Expr) string {
	joined := func(parts []store.Expr, by string) string {
		texts := make([]string, len(parts))
		for i, p := range parts {
			texts[i] = w.expr(p)
		}
		return "(" + strings.Join(texts, by) + ")"
	}
	switch e := e.(type) {
	case store.And:
		return joined(e, " AND ")
	case store.Or:
		return joined(e, " OR ")
	case store.Not:
		return "(NOT " + w.expr(e.Expr) + ")"
	case *store.Condition:
		return w.comparison(e)
	}
	return "false"
}

// sqlTypes are the types of PostgreSQL for the kinds of values.
var sqlTypes = map[store.Kind]string{store.Text: "text", store.Number: "float8", store.Bool: "bool"}

// comparison writes one comparison. It is never NULL: it is false for a missing value.
func (w *sqlBuilder) comparison(t *store.Condition) string {
	if t.Column == "id" || t.Column == "path" {
		return w.compareTo(t.ForTexts(), fmt.Sprintf(`NULLIF(%s, '') COLLATE "C"`, t.Column), store.Text)
	}
	value := "columns -> " + w.addArg(t.Column)
	switch t.Op {
	case store.Missing:
		return "((" + value + ") IS NULL)"
	case store.Present:
		return "((" + value + ") IS NOT NULL)"
	case store.True:
		return "COALESCE((" + value + ") = 'true'::jsonb, false)"
	}
	kind := store.KindOf(t.Values[0])
	if kind != store.Text && t.MatchesTexts() {
		return "(" + w.typedComparison(t, value, kind) + " OR " +
			w.typedComparison(t.ForTexts(), value, store.Text) + ")"
	}
	return w.typedComparison(t, value, kind)
}

// typedComparison writes a comparison that is false for values of another kind than the given one.
func (w *sqlBuilder) typedComparison(t *store.Condition, value string, kind store.Kind) string {
	typ := map[store.Kind]string{store.Text: "string", store.Number: "number", store.Bool: "boolean"}[kind]
	of := map[store.Kind]string{store.Text: `((%s) #>> '{}') COLLATE "C"`,
		store.Number: "((%s) #>> '{}')::float8",
		store.Bool:   "((%s) #>> '{}')::bool"}[kind]
	// CASE keeps a text from being read as a number.
	return fmt.Sprintf("CASE WHEN jsonb_typeof(%s) = '%s' THEN %s ELSE false END", value, typ,
		w.compareTo(t, fmt.Sprintf(of, value), kind))
}

// compareTo writes the comparison of an expression of a kind with the test's values.
func (w *sqlBuilder) compareTo(t *store.Condition, of string, kind store.Kind) string {
	values := make([]string, len(t.Values))
	for i, v := range t.Values {
		values[i] = w.addArg(v) + "::" + sqlTypes[kind]
	}
	list := strings.Join(values, ", ")
	switch t.Op {
	case store.Missing:
		return "(" + of + " IS NULL)"
	case store.Present:
		return "(" + of + " IS NOT NULL)"
	case store.In:
		return fmt.Sprintf("COALESCE(%s IN (%s), false)", of, list)
	case store.NotIn:
		return fmt.Sprintf("COALESCE(%s NOT IN (%s), false)", of, list)
	case store.Unequal:
		return fmt.Sprintf("COALESCE(%s <> %s, false)", of, list)
	}
	return fmt.Sprintf("COALESCE(%s %s %s, false)", of, t.Op, list)
}
