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

// faultAt is an error at a byte of a filter.
type faultAt struct {
	at     int
	reason string
}

// token is a word of a filter.
type token struct {
	kind  tokenKind
	at    int
	text  string // a name, a keyword in small letters, a sign, or a number as written
	value any
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

func (t token) is(word string) bool {
	return (t.kind == tokKeyword || t.kind == tokSign) && t.text == word
}

// lexer cuts a filter into tokens.
type lexer struct {
	text string
	at   int
}

func keyword(word string) bool {
	switch word {
	case "and", "or", "not", "in", "is", "missing", "true", "false":
		return true
	}
	return false
}

func (l *lexer) next() (token, *faultAt) {
	for l.at < len(l.text) && strings.IndexByte(" \t\r\n", l.text[l.at]) >= 0 {
		l.at++
	}
	at := l.at
	if at == len(l.text) {
		return token{kind: tokEnd, at: at}, nil
	}
	rest := l.text[at:]
	r, _ := utf8.DecodeRuneInString(rest)
	switch {
	case r == '"' || r == '\'':
		return l.quoted(byte(r))
	case r == '`':
		end := strings.IndexByte(rest[1:], '`')
		if end <= 0 {
			return token{}, &faultAt{at, "a name in backquotes is empty or lacks its second backquote"}
		}
		l.at += end + 2
		return token{kind: tokName, at: at, text: rest[1 : end+1]}, nil
	case r == '-' || r == '+' || r == '.' || '0' <= r && r <= '9':
		return l.number()
	case r == '_' || unicode.IsLetter(r):
		end := strings.IndexFunc(rest, func(r rune) bool {
			return r != '_' && r != '.' && r != '-' && !unicode.IsLetter(r) && !unicode.IsDigit(r)
		})
		if end == -1 {
			end = len(rest)
		}
		l.at += end
		if low := strings.ToLower(rest[:end]); keyword(low) {
			return l.word(token{kind: tokKeyword, at: at, text: low}, rest[:end]), nil
		}
		return token{kind: tokName, at: at, text: rest[:end]}, nil
	}
	for _, sign := range []string{"!=", "<=", ">=", "=", "<", ">", "(", ")", ","} {
		if strings.HasPrefix(rest, sign) {
			l.at += len(sign)
			return token{kind: tokSign, at: at, text: sign}, nil
		}
	}
	return token{}, &faultAt{at, fmt.Sprintf("%q is not a part of a filter", r)}
}

// word makes values of true and false, which keep the text as it is written.
func (l *lexer) word(t token, written string) token {
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

func (l *lexer) number() (token, *faultAt) {
	at := l.at
	if found := date.FindString(l.text[at:]); found != "" {
		l.at += len(found)
		return token{kind: tokValue, at: at, value: found}, nil
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
		return token{}, &faultAt{at, fmt.Sprintf("%q is not a number", l.text[at:max(end, at+1)])}
	}
	l.at = end
	return token{kind: tokValue, at: at, text: l.text[at:end], value: f + 0}, nil // no -0
}

func (l *lexer) quoted(quote byte) (token, *faultAt) {
	at := l.at
	var b strings.Builder
	for i := at + 1; i < len(l.text); i++ {
		switch c := l.text[i]; {
		case c == quote:
			l.at = i + 1
			return token{kind: tokValue, at: at, value: b.String()}, nil
		case c == '\\' && i+1 < len(l.text) && strings.IndexByte(`"'\`, l.text[i+1]) >= 0:
			i++
			b.WriteByte(l.text[i])
		case c == '\\':
			return token{}, &faultAt{i, `\ is allowed only before a quote or another \`}
		default:
			b.WriteByte(c)
		}
	}
	return token{}, &faultAt{at, fmt.Sprintf("a text does not end: %c is missing", quote)}
}
