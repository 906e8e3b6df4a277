package xla

import (
	"errors"
	"strings"
)

// brief is an error in one line: GoMLX's carry the stack on which they were made.
func brief(err error) error {
	if err == nil {
		return nil
	}
	text, _, _ := strings.Cut(strings.TrimSpace(err.Error()), "\n")
	return errors.New(text)
}
