package weaviate

import (
	"encoding/json"
	"strconv"
	"strings"

	"github.com/kindred-ml/kindred/internal/database/driver"
	"github.com/kindred-ml/kindred/store"
)

// Properties that every item has. hasProp lists the others that it has: Weaviate's own index
// of missing values lacks items that are older than a property.
const (
	idProp      = "kindredId"
	orderProp   = "kindredOrder" // order of the id
	pathProp    = "kindredPath"
	columnsProp = "kindredColumns" // as JSON, with the names of the columns
	hasProp     = "kindredHas"
	versionProp = "kindredVersion" // of the object that counts writes
)

// Every item has the value isItem in hasProp. No object has the value nothing.
const (
	isItem = "item"
	noItem = "-"
)

// protectSpaces encodes a text for Weaviate, which cuts off spaces at both ends. Equal texts stay
// equal, and the order of texts stays the same.
func protectSpaces(text string) string { return "=" + text + "\x00" }

// clause is a filter for both interfaces of Weaviate, GraphQL and REST.
type clause struct {
	operator string
	operands []clause
	path     string
	value    string // in the form of GraphQL: valueText:"x"
}

func (c clause) String() string {
	if c.path != "" {
		return `{path:["` + c.path + `"],operator:` + c.operator + "," + c.value + "}"
	}
	parts := make([]string, len(c.operands))
	for i, o := range c.operands {
		parts[i] = o.String()
	}
	return "{operator:" + c.operator + ",operands:[" + strings.Join(parts, ",") + "]}"
}

func quoteText(s string) string {
	quoted, err := json.Marshal(s)
	if err != nil { // impossible for a string
		return `valueText:""`
	}
	return "valueText:" + string(quoted)
}

func quoteTexts(list []string) string {
	quoted, err := json.Marshal(list)
	if err != nil {
		return "valueText:[]"
	}
	return "valueText:" + string(quoted)
}

func newClause(path, operator, value string) clause {
	return clause{operator: operator, path: path, value: value}
}

// allOf and anyOf join clauses.
func allOf(of ...clause) clause { return joinClauses("And", of) }
func anyOf(of ...clause) clause { return joinClauses("Or", of) }

func joinClauses(operator string, of []clause) clause {
	if len(of) == 1 {
		return of[0]
	}
	return clause{operator: operator, operands: of}
}

// hasProperty returns the condition that an item has a property, and lacks that it does not have it.
func hasProperty(prop string) clause   { return newClause(hasProp, "Equal", quoteText(prop)) }
func lacksProperty(prop string) clause { return newClause(hasProp, "NotEqual", quoteText(prop)) }

// translator translates filters for a class with known properties. An unknown property is
// an error for Weaviate; no item has it.
type translator struct{ hasProperty func(prop string) bool }

// translate translates an expression or, if not is set, its negation. Negations are moved to
// the tests. A test is false for an item that lacks the value, and true if it is negated.
func (t translator) translate(e store.Expr, not bool) clause {
	list := func(of []store.Expr) []clause {
		out := make([]clause, len(of))
		for i, one := range of {
			out[i] = t.translate(one, not)
		}
		return out
	}
	switch e := e.(type) {
	case store.Not:
		return t.translate(e.Expr, !not)
	case store.And:
		if not {
			return anyOf(list(e)...)
		}
		return allOf(list(e)...)
	case store.Or:
		if not {
			return allOf(list(e)...)
		}
		return anyOf(list(e)...)
	case *store.Condition:
		return t.translateTest(e, not)
	}
	return hasProperty(noItem)
}

// propertyNames returns the properties of a column for some kinds; without kinds, for all kinds.
func propertyNames(column string, kinds ...store.Kind) []string {
	switch column {
	case "id":
		return []string{orderProp}
	case "path":
		return []string{pathProp}
	}
	out := make([]string, len(kinds))
	for i, k := range kinds {
		out[i] = driver.PropertyName(k, column)
	}
	return out
}

func (t translator) translateTest(e *store.Condition, not bool) clause {
	switch e.Op {
	case store.Missing, store.Present:
		var none, some []clause
		for _, p := range propertyNames(e.Column, store.Text, store.Number, store.Bool) {
			none, some = append(none, lacksProperty(p)), append(some, hasProperty(p))
		}
		if (e.Op == store.Missing) != not {
			return allOf(none...)
		}
		return anyOf(some...)
	case store.True:
		return t.comparison(e.Column, store.Equal, []any{true}, not)
	}
	if e.Column == "id" || e.Column == "path" {
		e = e.ForTexts()
	}
	one := t.comparison(e.Column, e.Op, e.Values, not)
	if store.KindOf(e.Values[0]) == store.Text || !e.MatchesTexts() {
		return one
	}
	literal := t.comparison(e.Column, e.Op, e.ForTexts().Values, not) // for a column of texts
	if not {
		return allOf(one, literal)
	}
	return anyOf(one, literal)
}

// names has Weaviate's operators, and opposites the operator of the negated comparison.
var (
	operatorNames = map[store.Op]string{store.Equal: "Equal", store.Unequal: "NotEqual", store.Less: "LessThan",
		store.AtMost: "LessThanEqual", store.Greater: "GreaterThan", store.AtLeast: "GreaterThanEqual"}
	opposites = map[store.Op]store.Op{store.Equal: store.Unequal, store.Unequal: store.Equal,
		store.Less: store.AtLeast, store.AtMost: store.Greater, store.Greater: store.AtMost,
		store.AtLeast: store.Less, store.In: store.NotIn, store.NotIn: store.In}
)

// comparison returns a comparison for items that have the value. If not is set, it returns the
// opposite comparison, or that the item lacks the value.
func (t translator) comparison(column string, op store.Op, values []any, not bool) clause {
	kind := store.KindOf(values[0])
	prop := propertyNames(column, kind)[0]
	if not {
		op = opposites[op]
	}
	if !t.hasProperty(prop) {
		if not {
			return hasProperty(isItem)
		}
		return hasProperty(noItem)
	}
	var parts []clause
	for _, v := range values {
		one := op
		switch op {
		case store.In:
			one = store.Equal
		case store.NotIn:
			one = store.Unequal
		}
		parts = append(parts, newClause(prop, operatorNames[one], formatValue(prop, v)))
	}
	// NotEqual is also true for items without the value.
	switch {
	case op == store.In && not:
		return anyOf(append(parts, lacksProperty(prop))...)
	case op == store.In:
		return anyOf(parts...)
	case op == store.NotIn && not:
		return allOf(parts...)
	case op == store.NotIn:
		return allOf(append(parts, hasProperty(prop))...)
	case not && op != store.Unequal:
		return anyOf(parts[0], lacksProperty(prop))
	case !not && op == store.Unequal:
		return allOf(parts[0], hasProperty(prop))
	}
	return parts[0]
}

// formatValue writes a value of a property.
func formatValue(prop string, v any) string {
	switch v := v.(type) {
	case float64:
		return "valueNumber:" + strconv.FormatFloat(v, 'g', -1, 64)
	case bool:
		return "valueBoolean:" + strconv.FormatBool(v)
	}
	word, _ := v.(string) // a condition has no other values
	if prop == orderProp {
		return quoteText(orderKey(word))
	}
	return quoteText(protectSpaces(word))
}
