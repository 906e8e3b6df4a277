package store

import (
	"fmt"
	"unicode/utf8"

	"github.com/kindred-ml/kindred/internal/base/escape"
)

// Filter says which items count. ParseFilter makes one, which does not change and may be
// used by several goroutines at once; a nil *Filter lets all items pass.
type Filter struct {
	text string
	root Expr
}

// String returns the text that the filter was parsed from, "" of a nil filter.
func (f *Filter) String() string {
	if f == nil {
		return ""
	}
	return f.text
}

// Expr returns what the filter consists of; nil of a nil filter.
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

// ParseFilter reads a filter of up to 64 KiB; "" is nil, which is everything. The error is a
// *FilterError. Whether columns other than id and path are there and hold values of the
// right kind, Check tells.
func ParseFilter(text string) (*Filter, error) {
	if text == "" {
		return nil, nil
	}
	f := &Filter{text: text}
	p := &parser{lexer: lexer{text: text}}
	switch {
	case len(text) > maxText:
		return nil, f.fail(0, fmt.Sprintf("%d bytes: at most %d", len(text), maxText))
	case !utf8.ValidString(text):
		return nil, f.fail(0, "the text is not UTF-8")
	}
	root, err := p.filter()
	if err != nil {
		return nil, f.fail(err.at, err.reason)
	}
	f.root = root
	if err := each(root, f.checkTexts); err != nil {
		return nil, err
	}
	return f, nil
}

// checkTexts refuses a test of an id or a path that compares it with what is no text.
func (f *Filter) checkTexts(t *Condition) error {
	if !text(t.Column) {
		return nil
	}
	return f.checkKind(t, Text)
}

// fail is an error at a byte of the text.
func (f *Filter) fail(at int, reason string) *FilterError {
	at = min(at, len(f.text))
	return &FilterError{Filter: f.text, Column: utf8.RuneCountInString(f.text[:at]) + 1, Reason: escape.Message(reason)}
}
