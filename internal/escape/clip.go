package escape

import (
	"fmt"
	"strconv"
	"unicode/utf8"
)

// Most is the number of bytes of a text from outside that a message repeats.
const Most = 160

// Clip returns s, or its first Most bytes, cut between characters, and how many
// there are: a message that repeats what someone sent stays short, whatever it was.
func Clip(s string) string {
	if len(s) <= Most {
		return s
	}
	return s[:cut(s)] + rest(s)
}

// Quote is strconv.Quote of what Clip keeps: one line, whatever s holds.
func Quote(s string) string {
	if len(s) <= Most {
		return strconv.Quote(s)
	}
	return strconv.Quote(s[:cut(s)]) + rest(s)
}

// Line is Name of what Clip keeps: plain text on one short line of a terminal.
func Line(s string) string { return Name(Clip(s)) }

// cut is the last place between characters among the first Most bytes.
func cut(s string) int {
	n := Most
	for n > Most-utf8.UTFMax && !utf8.RuneStart(s[n]) {
		n--
	}
	return n
}

func rest(s string) string { return fmt.Sprintf("... (%d bytes)", len(s)) }

// fewNumbers is the number of elements of a list of numbers that a message repeats.
const fewNumbers = 16

// Numbers writes a list of numbers as fmt does, [1 2 3], or its first ones and how
// many there are.
func Numbers[T ~int | ~int32 | ~int64](list []T) string {
	if len(list) <= fewNumbers {
		return fmt.Sprint(list)
	}
	few := fmt.Sprint(list[:fewNumbers])
	return fmt.Sprintf("%s ...] (%d numbers)", few[:len(few)-1], len(list))
}
