package index

// Expr is a part of a filter, for those who write it in the language of another
// engine: an And, an Or, a Not or a Test.
type Expr interface{ expr() }

// And is true if all of its parts are, Or if one of them is. Both have at least two.
type (
	And []Expr
	Or  []Expr
)

// Not is true if Of is not.
type Not struct{ Of Expr }

// Test compares the value of a column with others. It is false where the value is
// missing, but for the operator "is missing".
type Test struct {
	Column string // id and path among them
	// Op is =, !=, <, <=, > or >= with one value, in or not in with several, is missing,
	// is not missing or is true with none.
	Op     string
	Values []Value
}

func (And) expr()  {}
func (Or) expr()   {}
func (Not) expr()  {}
func (Test) expr() {}

// Expr returns what the filter consists of; nil of a nil filter.
func (f *Filter) Expr() Expr {
	if f == nil {
		return nil
	}
	return exprOf(f.root)
}

func exprOf(n node) Expr {
	several := func(parts []node) []Expr {
		out := make([]Expr, len(parts))
		for i, p := range parts {
			out[i] = exprOf(p)
		}
		return out
	}
	switch n := n.(type) {
	case *allOf:
		return And(several(n.parts))
	case *anyOf:
		return Or(several(n.parts))
	case *notOf:
		return Not{exprOf(n.part)}
	case *test:
		return Test{Column: n.column, Op: n.op.text(), Values: n.values}
	}
	panic("index: a filter of an unknown part")
}

// text is the operator as filters have it.
func (o operator) text() string {
	return [...]string{opEqual: "=", opUnequal: "!=", opLess: "<", opAtMost: "<=", opGreater: ">", opAtLeast: ">=",
		opIn: "in", opNotIn: "not in", opMissing: "is missing", opPresent: "is not missing", opTrue: "is true"}[o]
}
