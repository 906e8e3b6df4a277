package store

import "github.com/kindred-ml/kindred/internal/base/enum"

// Expr is a part of a filter: an And, an Or, a Not or a *Condition.
type Expr interface{ expr() }

// And is true if all of its parts are, Or if one of them is. Both have at least two.
type (
	And []Expr
	Or  []Expr
)

// Not is true if Of is not.
type Not struct{ Expr Expr }

// Condition compares the value of a column with others. It is false if the value is missing,
// except for Missing.
type Condition struct {
	Column string // id and path among them
	Op     Op
	// Values are strings, float64s or bools: one for Equal to AtLeast, at least one and all
	// of one kind for In and NotIn, none for the others.
	Values []any

	offset       int      // byte of the text where Column begins
	valueOffsets []int    // bytes where the values begin
	sources      []string // the values as the filter writes them, texts without their quotes
}

// TextValue returns the text that value i is compared with in a column of texts: a number as the filter writes it, so
// that label = 2.10 is not label = 2.1.
func (t *Condition) TextValue(i int) string {
	if i < len(t.sources) {
		return t.sources[i]
	}
	return FormatValue(t.Values[i])
}

// ForTexts returns the condition as it holds for texts: its values are texts.
func (t *Condition) ForTexts() *Condition {
	out := *t
	out.Values = make([]any, len(t.Values))
	for i := range out.Values {
		out.Values[i] = t.TextValue(i)
	}
	return &out
}

// MatchesTexts reports whether the condition can be true for a text: it compares with texts, or asks for equality with
// numbers or truth values, whose literals are then texts. The order of a text and a number is not defined.
func (t *Condition) MatchesTexts() bool {
	switch t.Op {
	case True:
		return false
	case Less, AtMost, Greater, AtLeast:
		return KindOf(t.Values[0]) == Text
	}
	return true
}

func (And) expr()        {}
func (Or) expr()         {}
func (Not) expr()        {}
func (*Condition) expr() {}

// Op is the comparison of a Condition.
type Op int

// The operators.
const (
	Equal   Op = iota // =
	Unequal           // !=
	Less              // <
	AtMost            // <=
	Greater           // >
	AtLeast           // >=
	In                // in (...)
	NotIn             // not in (...)
	Missing           // is missing
	Present           // is not missing
	True              // the column alone
)

var opNames = enum.New[Op]("Op", "operator", "=", "!=", "<", "<=", ">", ">=", "in", "not in", "is missing",
	"is not missing", "is true")

// String returns the operator as it is written in filters; "is true" for True.
func (o Op) String() string { return opNames.Name(o) }

// Compare reports whether an operator from Equal to AtLeast is true for the order of two values: negative
// if the value is smaller than the test's, 0 if it is equal, positive if it is larger.
func (o Op) Compare(order int) bool {
	switch o {
	case Equal:
		return order == 0
	case Unequal:
		return order != 0
	case Less:
		return order < 0
	case AtMost:
		return order <= 0
	case Greater:
		return order > 0
	}
	return order >= 0
}
