package filter

import (
	"errors"
	"fmt"
	"unicode/utf8"

	"github.com/kindred-ml/kindred/internal/base/escape"
	"github.com/kindred-ml/kindred/store"
)

// Filter says which items count. Parse makes one, which does not change and may be used by
// several goroutines at once; a nil *Filter lets all items pass.
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

// Error says what is wrong with a filter and where.
type Error struct {
	Text string
	// Column counts the characters of Text up to what is wrong, from 1.
	Column int
	Reason string
	// Texts is the column of texts that was compared with a number; "" if something else
	// is wrong.
	Texts string
}

func (e *Error) Error() string {
	return fmt.Sprintf("filter, column %d: %s", e.Column, e.Reason)
}

// Bounds of a filter: those of its text, and how deep it may nest.
const (
	maxText  = 1 << 16
	maxDepth = 200
)

// Parse reads a filter of up to 64 KiB. The error is an *Error. Whether columns other
// than id and path are there and hold values of the right kind, Check tells.
func Parse(text string) (*Filter, error) {
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
func (f *Filter) checkTexts(t *Test) error {
	if !text(t.Column) {
		return nil
	}
	return f.checkKind(t, store.Text)
}

// ParseQuery reads the filter of a store.Query or a store.Page, nil of "". The error is
// the *store.FilterError that a store returns.
func ParseQuery(text string) (*Filter, error) {
	if text == "" {
		return nil, nil
	}
	f, err := Parse(text)
	if err != nil {
		return nil, StoreError(err)
	}
	return f, nil
}

// StoreError returns an *Error as the *store.FilterError that a store returns, and every
// other error as it is.
func StoreError(err error) error {
	var wrong *Error
	if !errors.As(err, &wrong) {
		return err
	}
	return &store.FilterError{Filter: wrong.Text, Err: fmt.Errorf("column %d: %s", wrong.Column, wrong.Reason)}
}

// fail is an error at a byte of the text.
func (f *Filter) fail(at int, reason string) *Error {
	at = min(at, len(f.text))
	return &Error{Text: f.text, Column: utf8.RuneCountInString(f.text[:at]) + 1, Reason: escape.Message(reason)}
}
