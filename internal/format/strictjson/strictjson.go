// Package strictjson refuses JSON that encoding/json changes silently: a null in a
// list, which becomes a zero among numbers, and text that is not UTF-8 or escapes
// half of a surrogate pair, which becomes U+FFFD. It bounds what decoding takes: by its memory, and
// by how deep values lie in one another. All JSON from outside is decoded here.
package strictjson

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strconv"
	"unicode/utf8"
)

// Error says which part of a JSON text would be read as something else.
type Error struct {
	Offset int // of the byte where it begins, from 0
	Reason string
}

func (e *Error) Error() string { return fmt.Sprintf("byte %d of the JSON: %s", e.Offset, e.Reason) }

// Unmarshal is json.Unmarshal of a text that Within and Check accept.
func Unmarshal(text []byte, v any) error {
	if err := UnmarshalLoose(text, v); err != nil {
		return err
	}
	return Check(text)
}

// UnmarshalLoose is json.Unmarshal of a text that Within accepts.
func UnmarshalLoose(text []byte, v any) error {
	if err := CheckSize("the JSON", text, v); err != nil {
		return err
	}
	return PlainError(json.Unmarshal(text, v), text, len(text))
}

// UnmarshalKnown is Loose that knows all names of the text: one that v has no field for is an error.
func UnmarshalKnown(text []byte, v any) error {
	if err := CheckSize("the JSON", text, v); err != nil {
		return err
	}
	dec := json.NewDecoder(bytes.NewReader(text))
	dec.DisallowUnknownFields()
	if err := dec.Decode(v); err != nil {
		return PlainError(err, text, int(dec.InputOffset()))
	}
	if _, err := dec.Token(); !errors.Is(err, io.EOF) {
		return &Error{int(dec.InputOffset()), "there is more after the end of the JSON"}
	}
	return nil
}

// Check checks a text that encoding/json accepts as JSON. The error is an *Error.
func Check(text []byte) error { return check(text, false, nil) }

// CheckText is Check for lists in which null has a meaning: it checks only texts.
func CheckText(text []byte) error { return check(text, true, nil) }

// check looks at names as well where there are some to know.
func check(text []byte, nulls bool, known *nameChecker) error {
	before := byte(0) // the last byte that was no white space
	for i := 0; i < len(text); i++ {
		switch c := text[i]; c {
		case ' ', '\t', '\r', '\n':
			continue
		case '"':
			n, err := checkString(text, i)
			if err == nil && known != nil {
				err = known.name(text[i:i+n+1], i, before)
			}
			if err != nil {
				return err
			}
			i += n
		case '{', '[':
			if known != nil {
				known.begin(c == '{')
			}
		case '}', ']':
			if known != nil {
				known.end()
			}
		case 'n':
			// In an object null comes after a colon.
			if !nulls && (before == '[' || before == ',') {
				return &Error{i, "null in a list is not allowed"}
			}
		}
		before = text[min(i, len(text)-1)]
	}
	return nil
}

// checkString looks through the string that begins at a byte, and returns how many
// bytes after it the string ends.
func checkString(text []byte, begin int) (n int, err error) {
	i := begin + 1
	for i < len(text) && text[i] != '"' {
		switch {
		case text[i] == '\\':
			n, ok := escapeLen(text[i:])
			if !ok {
				return 0, &Error{i, fmt.Sprintf("%s is half of a character", text[i:min(i+6, len(text))])}
			}
			i += n
		case text[i] < utf8.RuneSelf:
			i++
		default:
			r, size := utf8.DecodeRune(text[i:])
			if r == utf8.RuneError && size == 1 {
				return 0, &Error{i, fmt.Sprintf("the byte %#02x is not UTF-8", text[i])}
			}
			i += size
		}
	}
	return i - begin, nil
}

// escapeLen returns the length of the escape that a text begins with, of both if it is
// the first of a pair, and whether it is a character.
func escapeLen(text []byte) (n int, ok bool) {
	unit, isUnit := codeUnit(text)
	switch {
	case !isUnit:
		return 2, true
	case unit < 0xd800 || unit > 0xdfff:
		return 6, true
	case unit > 0xdbff:
		return 6, false
	}
	low, isUnit := codeUnit(text[6:])
	return 12, isUnit && low >= 0xdc00 && low <= 0xdfff
}

// codeUnit reads \uXXXX.
func codeUnit(text []byte) (unit uint64, ok bool) {
	if len(text) < 6 || text[0] != '\\' || text[1] != 'u' {
		return 0, false
	}
	unit, err := strconv.ParseUint(string(text[2:6]), 16, 16)
	return unit, err == nil
}
