package objective

import (
	"errors"
	"slices"
	"strings"

	"github.com/kindred-ml/kindred/internal/base/option"
)

// KeyError says what is wrong with a key of a configuration, such as "mine.positives" or "loss.margin", or with the
// text as a whole. The errors of Parse have no place; run.Parse adds it.
type KeyError struct {
	// Place is the file, with the line if it is known: "run.yaml:3". It is empty if the
	// key is not in a file.
	Place string
	// Override is the setting, as "train.epochs=many", if that is where the key was given.
	Override string
	// Key is the key with its section, as "train.epochs"; empty if there is no such key.
	Key string
	// Text says what is wrong, without the key and the place.
	Text string
}

// Error is the place or the override, the key and the text, with ": " between them.
func (e *KeyError) Error() string { return e.Named(func(option string) string { return option }) }

// Message is the key and the text, without the place.
func (e *KeyError) Message() string {
	at := *e
	at.Place, at.Override = "", ""
	return at.Error()
}

// Named is Error with another word for "override", given by name.
func (e *KeyError) Named(name func(option string) string) string {
	parts := []string{e.Place, "", e.Key, e.Text}
	if e.Override != "" {
		parts[1] = name(option.Override) + " " + e.Override
	}
	return strings.Join(slices.DeleteFunc(parts, func(s string) bool { return s == "" }), ": ")
}

// KeyErrors has all errors of a configuration.
type KeyErrors []*KeyError

// Add appends an error unless an equal one is there already.
func (e *KeyErrors) Add(one *KeyError) {
	if !slices.ContainsFunc(*e, func(was *KeyError) bool { return *was == *one }) {
		*e = append(*e, one)
	}
}

// Err is e as an error, nil if there are none.
func (e KeyErrors) Err() error {
	if len(e) == 0 {
		return nil
	}
	return e
}

// Error is the messages, one a line.
func (e KeyErrors) Error() string { return errors.Join(e.Unwrap()...).Error() }

// Unwrap returns the errors one by one.
func (e KeyErrors) Unwrap() []error {
	out := make([]error, len(e))
	for i, one := range e {
		out[i] = one
	}
	return out
}
