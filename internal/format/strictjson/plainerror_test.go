package strictjson

import (
	"errors"
	"strings"
	"testing"
)

// TestPlain: errors name fields and places, and no types of Go.
func TestPlain(t *testing.T) {
	type inner struct {
		B int `json:"b"`
	}
	type Embedded struct {
		E float64 `json:"e"`
	}
	type outer struct {
		Embedded
		A []inner           `json:"a"`
		M map[string]string `json:"m"`
		T bool              `json:"t"`
	}
	for text, want := range map[string]string{
		`{"a":[{"b":"x"}]}`:  "byte 14 of the JSON: a.b is a string, which it cannot be",
		`{"a":[{"b":1e99}]}`: "a.b is 1e99, which it cannot be",
		`{"a":{}}`:           "a is an object, which it cannot be",
		`{"e":[1]}`:          "e is an array, which it cannot be",
		`{"e":true}`:         "e is true or false, which it cannot be",
		`{"m":{"x":5}}`:      "m is a number, which it cannot be",
		`{"m":5}`:            "m is a number",
		`[]`:                 "a value is an array",
		`{"t":1e999}`:        "t is a number",
		`{"e":1e999}`:        "e is 1e999, which it cannot be",
		`{"a":`:              "ends too early",
		``:                   "ends too early",
		`{"a"}`:              "byte 5 of the JSON: invalid character",
		`{"A\"x":1}`:         `unknown field "A\"x"`,
	} {
		for name, read := range map[string]func([]byte, any) error{"Loose": UnmarshalLoose, "Known": UnmarshalKnown} {
			if name == "Loose" && strings.HasPrefix(want, "unknown") {
				continue
			}
			err := read([]byte(text), new(outer))
			var e *Error
			if !errors.As(err, &e) || !strings.Contains(err.Error(), want) {
				t.Errorf("%s of %s: %v, want %q", name, text, err, want)
			}
		}
	}
	other := errors.New("json: something else")
	if PlainError(nil, nil, 0) != nil || PlainError(other, nil, 0) != other {
		t.Error("another error is changed")
	}
}
