// Package strictjson refuses JSON that encoding/json changes silently: a null in a
// list, which becomes a zero among numbers, and text that is not UTF-8 or escapes
// half of a surrogate pair, which becomes U+FFFD. It bounds what decoding takes: by its memory, and
// by how deep values lie in one another. All JSON from outside is decoded here.
//
// The decoder is encoding/json: its second version refuses such text too, but bounds no memory, and the
// module that has it today announces changes that break its users.
package strictjson

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"reflect"

	"github.com/kindred-ml/kindred/internal/base/budget"
)

// Error says which part of a JSON text would be read as something else.
type Error struct {
	Offset int // of the byte where it begins, from 0
	Reason string
}

func (e *Error) Error() string { return fmt.Sprintf("byte %d of the JSON: %s", e.Offset, e.Reason) }

// JSONHolder is a type with an UnmarshalJSON of its own that says what it reads: a value of
// the type that encoding/json would read in its place.
type JSONHolder interface{ JSON() any }

// UnmarshalLoose is json.Unmarshal of a text whose values are at most 200 deep in one another, and which
// takes at most the memory that package budget allows: an element of two bytes, {}, can take hundreds.
func UnmarshalLoose(text []byte, v any) error { return unmarshal(text, v, &scanner{}) }

// Unmarshal is UnmarshalLoose of a text without a null in a list, and without letters that are none.
func Unmarshal(text []byte, v any) error { return unmarshal(text, v, &scanner{strict: true}) }

// UnmarshalNulls is Unmarshal of a text in whose lists null has a meaning.
func UnmarshalNulls(text []byte, v any) error {
	return unmarshal(text, v, &scanner{strict: true, nulls: true})
}

// UnmarshalKnown is UnmarshalLoose that knows all names of the text: one that v has no field for is an
// error, and so is what stands behind the value.
func UnmarshalKnown(text []byte, v any) error { return unmarshal(text, v, &scanner{known: true}) }

// UnmarshalExact is Unmarshal and UnmarshalKnown together. Moreover it refuses names of objects, at any
// depth, that encoding/json takes for a field of a struct whatever their capitals: "Filter" for "filter".
// What a type with an UnmarshalJSON reads is not looked at, unless it is a JSONHolder.
func UnmarshalExact(text []byte, v any) error {
	return unmarshal(text, v, &scanner{strict: true, known: true, exact: true})
}

// unmarshal decodes a text that a scanner has looked through before. That a text is no JSON is said
// before what else is wrong with it.
func unmarshal(text []byte, v any, s *scanner) error {
	limit := budget.Limit()
	if err := s.scan(text, reflect.TypeOf(v), float64(limit)); err != nil {
		return err
	}
	if s.need > float64(limit) {
		return &budget.Error{What: "the JSON", Limit: limit}
	}
	if !s.known {
		if err := json.Unmarshal(text, v); err != nil {
			return PlainError(err, text, len(text))
		}
		return s.verdict()
	}
	dec := json.NewDecoder(bytes.NewReader(text))
	dec.DisallowUnknownFields()
	if err := dec.Decode(v); err != nil {
		return PlainError(err, text, int(dec.InputOffset()))
	}
	if _, err := dec.Token(); !errors.Is(err, io.EOF) {
		return &Error{int(dec.InputOffset()), "there is more after the end of the JSON"}
	}
	return s.verdict()
}
