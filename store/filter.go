package store

import (
	"fmt"
	"unicode/utf8"

	"github.com/kindred-ml/kindred/internal/base/escape"
)

// Filter selects items. ParseFilter makes one, which does not change and may be
// used by several goroutines at once; a nil *Filter lets all items pass.
type Filter struct {
	text string
	root Expr
}

// String returns the text that the filter was parsed from; "" for a nil filter.
func (f *Filter) String() string {
	if f == nil {
		return ""
	}
	return f.text
}

// Expr returns the parsed expression of the filter; nil for a nil filter.
func (f *Filter) Expr() Expr {
	if f == nil {
		return nil
	}
	return f.root
}

// Bounds of a filter: those of its text, and how deep it may nest.
const (
	maxText  = 1 << 16
	maxDepth = 200
)

// ParseFilter parses a filter of up to 64 KiB; "" gives nil, which lets all items pass. The error is a
// *FilterError. Check then checks that columns other than id and path exist and have values of the
// right kind.
func ParseFilter(text string) (*Filter, error) {
	if text == "" {
		return nil, nil
	}
	f := &Filter{text: text}
	p := &parser{lexer: lexer{text: text}}
	switch {
	case len(text) > maxText:
		return nil, f.errorAt(0, fmt.Sprintf("%d bytes: must be at most %d", len(text), maxText))
	case !utf8.ValidString(text):
		return nil, f.errorAt(0, "the text is not UTF-8")
	}
	root, err := p.parseFilter()
	if err != nil {
		return nil, f.errorAt(err.offset, err.reason)
	}
	f.root = root
	if err := visitConditions(root, f.checkTexts); err != nil {
		return nil, err
	}
	return f, nil
}

// checkTexts refuses a comparison of an id or a path with a value that is not text.
func (f *Filter) checkTexts(t *Condition) error {
	if !isTextColumn(t.Column) {
		return nil
	}
	return f.checkKind(t, Text)
}

// errorAt returns an error at a byte of the text.
func (f *Filter) errorAt(at int, reason string) *FilterError {
	at = min(at, len(f.text))
	return &FilterError{Filter: f.text, Column: utf8.RuneCountInString(f.text[:at]) + 1, Reason: escape.Message(reason)}
}
