package tokenizer

import (
	"fmt"
	"io"
	"unicode/utf8"
)

// maxWork bounds the work on one text, in simple steps: a second or two. The longest allowed text takes a tenth of
// it with the patterns and vocabularies of published tokenizers. A pattern that looks to the end of the text again and
// again would take hours without a bound.
const maxWork = 1 << 28

// workLimit counts the work on one text.
type workLimit struct{ left int }

// spend reports whether n more steps are allowed.
func (e *workLimit) spend(n int) bool {
	e.left -= min(n, maxWork)
	return e.left >= 0
}

// lookUp counts the tokens of up to n bytes that are looked up at one place of a text.
func (e *workLimit) lookUp(n int) bool { return e.spend(n + n*n/32) }

// check returns an error if the work was too much. What was made of the text is then incomplete.
func (e *workLimit) check() error {
	if e.left >= 0 {
		return nil
	}
	return fmt.Errorf("the tokenizer takes more than %d steps for the text: give a shorter text, or a tokenizer whose "+
		"patterns do not look far ahead and whose tokens are shorter", maxWork)
}

// reader gives a text to a regular expression, and counts its steps for each character.
type reader struct {
	text  string
	steps int
	e     *workLimit
}

func (r *reader) ReadRune() (rune, int, error) {
	if r.text == "" || !r.e.spend(r.steps) {
		return 0, 0, io.EOF
	}
	c, n := utf8.DecodeRuneInString(r.text)
	r.text = r.text[n:]
	return c, n, nil
}
