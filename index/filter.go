package index

import (
	"fmt"
	"unicode/utf8"

	"github.com/kindred-ml/kindred/internal/escape"
)

// Filter says which items a search or removal concerns. ParseFilter makes one; a
// nil *Filter lets all items pass.
//
//	filter     = and { "or" and }
//	and        = not { "and" not }
//	not        = "not" not | "(" filter ")" | test
//	test       = column ("=" | "!=" | "<" | "<=" | ">" | ">=") value
//	           | column ["not"] "in" "(" value { "," value } ")"
//	           | column "is" ["not"] "missing"
//	           | column                               a column of truth values: it is true
//	column     = a letter or _, then letters, digits, _, . or -; or anything in `backquotes`
//	value      = -1.5e3 | "text" | 'text' | true | false
//
// The words and, or, not, in, is, missing, true and false may be in capitals. In a
// text \ goes before a quote or another \. Columns called id and path are always
// there. Numbers compare by size, texts by the order of their bytes, as dates such
// as 2026-01-31 need it; truth values only by = and !=.
//
// A test of a missing value is false, whatever it compares, but for "is missing";
// "not" turns that into true: price != 5 leaves out items without a price, and
// not price = 5 takes them in.
type Filter struct {
	text string
	root node
}

// String returns the text that the filter was parsed from.
func (f *Filter) String() string {
	if f == nil {
		return ""
	}
	return f.text
}

// FilterError says what is wrong with a filter and where.
type FilterError struct {
	Text string
	// Column counts the characters of Text up to what is wrong, from 1.
	Column int
	Reason string

	texts string // a column of texts that was compared with a number
}

func (e *FilterError) Error() string {
	return fmt.Sprintf("filter, column %d: %s", e.Column, e.Reason)
}

// Bounds of a filter: those of its text, and how deep it may nest.
const (
	maxFilter = 1 << 16
	maxDepth  = 200
)

// ParseFilter reads a filter. The error is a *FilterError. Whether the columns are
// there and hold values of the right kind turns out when it is used, with the same
// error.
func ParseFilter(text string) (*Filter, error) {
	f := &Filter{text: text}
	p := &parser{lexer: lexer{text: text}}
	switch {
	case len(text) > maxFilter:
		return nil, f.fail(0, fmt.Sprintf("%d bytes: at most %d", len(text), maxFilter))
	case !utf8.ValidString(text):
		return nil, f.fail(0, "the text is not UTF-8")
	}
	root, err := p.filter()
	if err != nil {
		return nil, f.fail(err.at, err.reason)
	}
	f.root = root
	return f, nil
}

// fail is an error at a byte of the text.
func (f *Filter) fail(at int, reason string) *FilterError {
	at = min(at, len(f.text))
	return &FilterError{Text: f.text, Column: utf8.RuneCountInString(f.text[:at]) + 1,
		Reason: escape.Message(reason)}
}

// node is a part of a filter: *allOf, *anyOf, *notOf or *test.
type node interface{}

type allOf struct{ parts []node }
type anyOf struct{ parts []node }
type notOf struct{ part node }

// test compares a column with values.
type test struct {
	column string
	at     int // where its name begins
	op     operator
	values []Value // one, or those of in
	where  []int   // where each begins
}

type operator int

const (
	opEqual operator = iota
	opUnequal
	opLess
	opAtMost
	opGreater
	opAtLeast
	opIn
	opNotIn
	opMissing
	opPresent
	opTrue
)

// comparisons are the operators by their signs.
var comparisons = map[string]operator{
	"=": opEqual, "!=": opUnequal, "<": opLess, "<=": opAtMost, ">": opGreater, ">=": opAtLeast,
}
