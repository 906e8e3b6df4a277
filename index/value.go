package index

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math"
	"regexp"
	"strconv"
	"strings"

	"github.com/kindred-ml/kindred/internal/spell"
	"github.com/kindred-ml/kindred/internal/strictjson"
)

// Kind is what the values of a column are.
type Kind uint8

// Kinds. None is the kind of a missing value, which no column has.
const (
	None Kind = iota
	KindText
	KindNumber
	KindBool
)

var kindNames = []string{"none", "text", "number", "bool"}

func (k Kind) String() string { return spell.Name("Kind", int(k), kindNames) }

// MarshalText returns text, number or bool.
func (k Kind) MarshalText() ([]byte, error) { return spell.Text("kind of column", int(k), kindNames) }

// UnmarshalText reads a name.
func (k *Kind) UnmarshalText(text []byte) error {
	i, err := spell.Index("kind of column", string(text), kindNames)
	if err == nil {
		*k = Kind(i)
	}
	return err
}

// Value is what an item has in a column: a text, a finite number, true or false.
// The zero Value is a missing one. Values are comparable with ==. In JSON they are
// a string, a number, a boolean or null.
type Value struct {
	kind   Kind
	text   string
	number float64 // 1 is true, 0 false
}

// Text returns a text, which has to be UTF-8.
func Text(s string) Value { return Value{kind: KindText, text: s} }

// Number returns a number. One that is not finite is refused by Add.
func Number(f float64) Value { return Value{kind: KindNumber, number: f + 0} } // no -0

// Bool returns true or false.
func Bool(b bool) Value {
	v := Value{kind: KindBool}
	if b {
		v.number = 1
	}
	return v
}

// ParseValue reads a value of a kind from text, as a table holds it: an empty text
// is a missing value of any kind but KindText, and there as well.
func ParseValue(k Kind, text string) (Value, error) {
	if text == "" || k == None {
		return Value{}, nil
	}
	switch k {
	case KindNumber:
		f, err := strconv.ParseFloat(text, 64)
		if err != nil || math.IsInf(f, 0) || math.IsNaN(f) {
			return Value{}, fmt.Errorf("%q is no finite number", text)
		}
		return Number(f), nil
	case KindBool:
		switch text {
		case "true", "True", "TRUE":
			return Bool(true), nil
		case "false", "False", "FALSE":
			return Bool(false), nil
		}
		return Value{}, fmt.Errorf("%q is neither true nor false", text)
	}
	return Text(text), nil
}

// written is how programs write numbers: 0.30000000000000004, 1e-05, -1E+20. Ids such
// as 007, and those with more digits than a number keeps apart, are texts.
var written = regexp.MustCompile(`^-?(?:0|[1-9][0-9]*)(\.[0-9]+)?([eE][-+]?[0-9]+)?$`)

// wholeDigits is how many digits of a whole number are sure to be kept.
const wholeDigits = 15

// IsNumber tells whether a text is written as programs write finite numbers, so that
// a column of such texts is one of numbers. 007 is none, nor are +1, .5, 0x10 or nan,
// nor a whole number of more than 15 digits, which could become another one. Of a
// fraction the digits beyond those that float64 keeps are dropped.
func IsNumber(text string) bool {
	m := written.FindStringSubmatch(text)
	if m == nil {
		return false
	}
	if m[1] == "" && m[2] == "" {
		return len(strings.TrimPrefix(text, "-")) <= wholeDigits
	}
	f, err := strconv.ParseFloat(text, 64)
	if err != nil {
		return false // too large
	}
	mantissa, _, _ := strings.Cut(strings.ToLower(text), "e")
	return f != 0 || strings.Trim(mantissa, "-0.") == "" // else too small
}

// Kind returns the value's kind, None of a missing one.
func (v Value) Kind() Kind { return v.kind }

// Text returns a text, "" of what is none.
func (v Value) Text() string { return v.text }

// Number returns a number, 0 of what is none.
func (v Value) Number() float64 {
	if v.kind != KindNumber {
		return 0
	}
	return v.number
}

// Bool returns a truth value, false of what is none.
func (v Value) Bool() bool { return v.kind == KindBool && v.number != 0 }

// String writes the value for people and tables, "" for a missing one.
func (v Value) String() string {
	switch v.kind {
	case KindNumber:
		return strconv.FormatFloat(v.number, 'g', -1, 64)
	case KindBool:
		return strconv.FormatBool(v.number != 0)
	}
	return v.text
}

// MarshalJSON writes a string, a number, a boolean or null.
func (v Value) MarshalJSON() ([]byte, error) {
	switch v.kind {
	case KindText:
		return json.Marshal(v.text)
	case KindNumber:
		return json.Marshal(v.number)
	case KindBool:
		return strconv.AppendBool(nil, v.number != 0), nil
	}
	return []byte("null"), nil
}

// UnmarshalJSON reads what MarshalJSON writes; arrays and objects are errors.
func (v *Value) UnmarshalJSON(text []byte) error {
	var x any
	if err := strictjson.Unmarshal(text, &x); err != nil {
		return err
	}
	switch x := x.(type) {
	case nil:
		*v = Value{}
	case string:
		*v = Text(x)
	case float64:
		*v = Number(x)
	case bool:
		*v = Bool(x)
	default:
		return fmt.Errorf("%s is no value of a column: want a text, a number, true, false or null",
			bytes.TrimSpace(text[:min(len(text), 40)]))
	}
	return nil
}
