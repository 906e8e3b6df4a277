package strictjson

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
	"unicode"
)

// PlainError is an error of encoding/json about a text in words of JSON: its own name types of Go. at is
// how far the text was read, for errors that do not say where. Other errors stay as they are.
func PlainError(err error, text []byte, at int) error {
	var kind *json.UnmarshalTypeError
	var syntax *json.SyntaxError
	switch {
	case err == nil:
		return nil
	case errors.As(err, &kind):
		return &Error{int(kind.Offset), fieldText(kind.Field) + " is " + valueText(kind.Value) +
			", which it cannot be"}
	case errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF),
		err.Error() == "unexpected end of JSON input":
		return &Error{len(text), "the JSON ends too early"}
	case errors.As(err, &syntax):
		return &Error{int(syntax.Offset), syntax.Error()}
	}
	if name, unknown := strings.CutPrefix(err.Error(), "json: unknown field "); unknown {
		if text, err := strconv.Unquote(name); err == nil {
			return &Error{at, fmt.Sprintf("unknown field %.100q", text)}
		}
	}
	return err
}

// fieldText is where a value stands: the names of fields. What is embedded in a struct is no field of
// the JSON, and has a name of Go.
func fieldText(field string) string {
	names := slices.DeleteFunc(strings.Split(field, "."), func(s string) bool {
		return s != "" && unicode.IsUpper(rune(s[0]))
	})
	if field = strings.Join(names, "."); field == "" {
		return "a value"
	}
	return field
}

// valueText names a value's type, with its article.
func valueText(kind string) string {
	if number, ok := strings.CutPrefix(kind, "number "); ok {
		return fmt.Sprintf("%.40s", number)
	}
	switch kind {
	case "array", "object":
		return "an " + kind
	case "bool":
		return "true or false"
	}
	return "a " + kind
}
