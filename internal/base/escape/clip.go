package escape

import (
	"fmt"
	"strconv"
	"unicode/utf8"
)

// MaxLen is the number of bytes of a text from outside that a message repeats.
const MaxLen = 160

// Clip returns s or, if it is longer than Most bytes, its beginning, cut between
// characters, with the full length. It keeps messages short that repeat a text from
// outside.
func Clip(s string) string { return ClipTo(s, MaxLen) }

// ClipTo is Clip to a number of bytes.
func ClipTo(s string, most int) string {
	if len(s) <= most {
		return s
	}
	return s[:cutIndex(s, most)] + lengthNote(s)
}

// Quote is strconv.Quote of Clip's result: one line, whatever s holds.
func Quote(s string) string {
	if len(s) <= MaxLen {
		return strconv.Quote(s)
	}
	return strconv.Quote(s[:cutIndex(s, MaxLen)]) + lengthNote(s)
}

// Line is Name of Clip's result: plain text on one short line of a terminal.
func Line(s string) string { return Name(Clip(s)) }

// cutIndex is the last place between characters among the first n bytes.
func cutIndex(s string, n int) int {
	for at := n; at > max(n-utf8.UTFMax, 0); at-- {
		if utf8.RuneStart(s[at]) {
			return at
		}
	}
	return n
}

func lengthNote(s string) string { return fmt.Sprintf("... (%d bytes)", len(s)) }

// Bytes of a message that are kept of its beginning, which says where, and of its
// end, which says the way out.
const (
	head = 3 << 10
	tail = 1 << 10
)

// Message returns a whole message, or the beginning and the end of a long one.
func Message(s string) string {
	if len(s) <= head+tail {
		return s
	}
	end := len(s) - tail
	for end < len(s) && !utf8.RuneStart(s[end]) {
		end++
	}
	begin := s[:cutIndex(s, head)]
	return fmt.Sprintf("%s ... (%d bytes left out) ... %s", begin, end-len(begin), s[end:])
}

// Shorten is err with its message shortened by Message.
func Shorten(err error) error {
	if err == nil || len(err.Error()) <= head+tail {
		return err
	}
	return shortError{err}
}

type shortError struct{ error }

func (s shortError) Error() string { return Message(s.error.Error()) }
func (s shortError) Unwrap() error { return s.error }
