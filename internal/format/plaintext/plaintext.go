// Package plaintext reads the text files of other programs: tables and lists as spreadsheets and
// scripts on any system write them.
package plaintext

import (
	"bufio"
	"bytes"
	"errors"
	"io"
)

// ErrUTF16 is the error of a text in UTF-16.
var ErrUTF16 = errors.New(`the text is in UTF-16: save it in UTF-8 (in spreadsheets "CSV UTF-8", else iconv -f UTF-16 ` +
	`-t UTF-8)`)

// BOM is the byte order mark that some programs begin text in UTF-8 with.
const BOM = "\ufeff"

// NewReader returns a reader of the text that r holds, without a byte order mark and with line
// feeds in the place of carriage returns that alone end the lines. It returns ErrUTF16 for a
// text in UTF-16.
func NewReader(r io.Reader) (*bufio.Reader, error) {
	const size = 1 << 20
	in := bufio.NewReaderSize(r, size)
	begin, _ := in.Peek(4) // an error comes again with the first read
	if isUTF16(begin) {
		return nil, ErrUTF16
	}
	if bytes.HasPrefix(begin, []byte(BOM)) {
		_, _ = in.Discard(len(BOM)) // they are in the buffer
	}
	return bufio.NewReaderSize(&lineEnds{in: in}, size), nil
}

// Bytes is what NewReader gives of a text, which it may change.
func Bytes(text []byte) ([]byte, error) {
	if isUTF16(text) {
		return nil, ErrUTF16
	}
	text = bytes.TrimPrefix(text, []byte(BOM))
	(&lineEnds{}).put(text, nil)
	return text, nil
}

// isUTF16 tells a text in UTF-16 by its byte order mark, or by the zeros in its first two
// characters, which are of ASCII in tables and lists.
func isUTF16(begin []byte) bool {
	if len(begin) < 2 {
		return false
	}
	if begin[0] == 0xff && begin[1] == 0xfe || begin[0] == 0xfe && begin[1] == 0xff {
		return true
	}
	return len(begin) >= 4 && (begin[0] == 0) != (begin[1] == 0) && (begin[0] == 0) == (begin[2] == 0) &&
		(begin[1] == 0) == (begin[3] == 0)
}

// lineEnds replaces carriage returns by line feeds if the first line ends in one alone, outside
// of quotes.
type lineEnds struct {
	in      *bufio.Reader
	quoted  bool
	decided bool
	replace bool
}

func (l *lineEnds) Read(p []byte) (int, error) {
	n, err := l.in.Read(p)
	l.put(p[:n], l.in)
	return n, err
}

// put replaces in p, which in follows.
func (l *lineEnds) put(p []byte, in *bufio.Reader) {
	for i, c := range p {
		if l.decided {
			break
		}
		l.quoted = l.quoted != (c == '"')
		l.decided = !l.quoted && (c == '\r' || c == '\n')
		if l.decided && c == '\r' {
			next := p[i+1:]
			if len(next) == 0 && in != nil {
				next, _ = in.Peek(1)
			}
			l.replace = len(next) > 0 && next[0] != '\n'
		}
	}
	for i := 0; l.replace && i < len(p); i++ {
		if p[i] == '\r' {
			p[i] = '\n'
		}
	}
}
