package store

import (
	"errors"
	"strings"
	"testing"
)

// Errors repeat the beginning of what they are about, however long that is, on one line,
// and lead to what caused them.
func TestErrorsAreShort(t *testing.T) {
	cause := errors.New("no such column")
	for _, id := range []string{"x", "a\x1b[2J\nb\u202e", strings.Repeat("y\x00", 1<<20)} {
		for _, err := range []error{&NotFoundError{id}, &ExistsError{id},
			&FilterError{Filter: id, Column: 2, Reason: cause.Error()}, &ItemError{id, cause}} {
			text := err.Error()
			if len(text) > 1000 || strings.ContainsAny(text, "\x00\x1b\n\u202e") ||
				!strings.Contains(text, `"`+id[:1]) {
				t.Errorf("%T of %d bytes: %d bytes: %.200q", err, len(id), len(text), text)
			}
			switch err.(type) {
			case *FilterError, *ItemError:
				if !strings.HasSuffix(text, cause.Error()) {
					t.Errorf("%.200q does not say its cause", text)
				}
			}
			if _, ok := err.(*ItemError); ok && !errors.Is(err, cause) {
				t.Errorf("%.200q does not lead to its cause", text)
			}
		}
	}
}
