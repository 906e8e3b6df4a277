package store

import (
	"fmt"
	"math"
	"regexp"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"
)

// syntaxError is an error at a byte of a filter.
type syntaxError struct {
	offset int
	reason string
}

// token is a word of a filter.
type token struct {
	kind   tokenKind
	offset int
	text   string // a name, a keyword in small letters, a sign, or a number as written
	value  any
}

type tokenKind int

const (
	tokEnd tokenKind = iota
	tokName
	tokKeyword
	tokValue
	tokSign
)

func (t token) String() string {
	switch t.kind {
	case tokEnd:
		return "the end"
	case tokValue:
		if text, ok := t.value.(string); ok {
			return fmt.Sprintf("the text %q", text)
		}
	}
	return t.text
}

func (t token) isWord(word string) bool {
	return (t.kind == tokKeyword || t.kind == tokSign) && t.text == word
}

// lexer cuts a filter into tokens.
type lexer struct {
	text   string
	offset int
}

func isKeyword(word string) bool {
	switch word {
	case "and", "or", "not", "in", "is", "missing", "true", "false":
		return true
	}
	return false
}

func (l *lexer) next() (token, *syntaxError) {
	for l.offset < len(l.text) && strings.IndexByte(" \t\r\n", l.text[l.offset]) >= 0 {
		l.offset++
	}
	at := l.offset
	if at == len(l.text) {
		return token{kind: tokEnd, offset: at}, nil
	}
	rest := l.text[at:]
	r, _ := utf8.DecodeRuneInString(rest)
	switch {
	case r == '"' || r == '\'':
		return l.readQuoted(byte(r))
	case r == '`':
		end := strings.IndexByte(rest[1:], '`')
		if end <= 0 {
			return token{}, &syntaxError{at, "a name in backquotes is empty or lacks its second backquote"}
		}
		l.offset += end + 2
		return token{kind: tokName, offset: at, text: rest[1 : end+1]}, nil
	case r == '-' || r == '+' || r == '.' || '0' <= r && r <= '9':
		return l.readNumber()
	case r == '_' || unicode.IsLetter(r):
		end := strings.IndexFunc(rest, func(r rune) bool {
			return r != '_' && r != '.' && r != '-' && !unicode.IsLetter(r) && !unicode.IsDigit(r)
		})
		if end == -1 {
			end = len(rest)
		}
		l.offset += end
		if low := strings.ToLower(rest[:end]); isKeyword(low) {
			return l.readWord(token{kind: tokKeyword, offset: at, text: low}, rest[:end]), nil
		}
		return token{kind: tokName, offset: at, text: rest[:end]}, nil
	}
	for _, sign := range []string{"!=", "<=", ">=", "=", "<", ">", "(", ")", ","} {
		if strings.HasPrefix(rest, sign) {
			l.offset += len(sign)
			return token{kind: tokSign, offset: at, text: sign}, nil
		}
	}
	return token{}, &syntaxError{at, fmt.Sprintf("%q is not a part of a filter", r)}
}

// readWord makes values of true and false, which keep the text as it is written.
func (l *lexer) readWord(t token, written string) token {
	switch t.text {
	case "true":
		t.kind, t.text, t.value = tokValue, written, true
	case "false":
		t.kind, t.text, t.value = tokValue, written, false
	}
	return t
}

// date matches a day or a time as in texts of columns, which need no quotes.
var date = regexp.MustCompile(`^\d{4}-\d\d-\d\d(T\d\d:\d\d(:\d\d(\.\d+)?Z?)?)?`)

func (l *lexer) readNumber() (token, *syntaxError) {
	at := l.offset
	if found := date.FindString(l.text[at:]); found != "" {
		l.offset += len(found)
		return token{kind: tokValue, offset: at, value: found}, nil
	}
	end := at
	for end < len(l.text) {
		c := l.text[end]
		exponent := end > at && (l.text[end-1] == 'e' || l.text[end-1] == 'E')
		sign := (c == '-' || c == '+') && (end == at || exponent)
		if !sign && c != '.' && c != 'e' && c != 'E' && (c < '0' || c > '9') {
			break
		}
		end++
	}
	f, err := strconv.ParseFloat(l.text[at:end], 64)
	if err != nil || math.IsInf(f, 0) {
		return token{}, &syntaxError{at, fmt.Sprintf("%q is not a number", l.text[at:max(end, at+1)])}
	}
	l.offset = end
	return token{kind: tokValue, offset: at, text: l.text[at:end], value: f + 0}, nil // no -0
}

func (l *lexer) readQuoted(quote byte) (token, *syntaxError) {
	at := l.offset
	var b strings.Builder
	for i := at + 1; i < len(l.text); i++ {
		switch c := l.text[i]; {
		case c == quote:
			l.offset = i + 1
			return token{kind: tokValue, offset: at, value: b.String()}, nil
		case c == '\\' && i+1 < len(l.text) && strings.IndexByte(`"'\`, l.text[i+1]) >= 0:
			i++
			b.WriteByte(l.text[i])
		case c == '\\':
			return token{}, &syntaxError{i, `\ is allowed only before a quote or another \`}
		default:
			b.WriteByte(c)
		}
	}
	return token{}, &syntaxError{at, fmt.Sprintf("a text does not end: %c is missing", quote)}
}
