package opt

import (
	"encoding/json"
	"fmt"
	"math"
	"strconv"
)

// Float is a number that may be left out. The zero value is a number left out: it
// stands for the default, whatever that is. Floats compare by ==.
type Float struct {
	value float64
	set   bool
}

// Of returns a Float that is set to x.
func Of(x float64) Float { return Float{x, true} }

// Or returns the number, or def if it is left out.
func (f Float) Or(def float64) float64 {
	if f.set {
		return f.value
	}
	return def
}

// IsSet reports whether there is a number.
func (f Float) IsSet() bool { return f.set }

// IsZero is the opposite of IsSet, for encoders that leave out zero values.
func (f Float) IsZero() bool { return !f.set }

// String returns the number as MarshalText does, or "default" if it is left out.
func (f Float) String() string {
	if !f.set {
		return "default"
	}
	return strconv.FormatFloat(f.value, 'g', -1, 64)
}

// MarshalText returns the number in the fewest digits that read back as the same
// number, or nothing if it is left out. An infinity or NaN, which most formats
// cannot hold, is an error.
func (f Float) MarshalText() ([]byte, error) {
	if !f.set {
		return []byte{}, nil
	}
	if err := finite(f.value); err != nil {
		return nil, err
	}
	return []byte(f.String()), nil
}

// UnmarshalText reads a finite number, or nothing for a number left out.
func (f *Float) UnmarshalText(text []byte) error {
	if len(text) == 0 {
		*f = Float{}
		return nil
	}
	x, err := strconv.ParseFloat(string(text), 64)
	if err != nil && !math.IsInf(x, 0) {
		return fmt.Errorf("%q is not a number", text)
	}
	if err := finite(x); err != nil {
		return err
	}
	*f = Of(x)
	return nil
}

// MarshalJSON returns the number, or null if it is left out.
func (f Float) MarshalJSON() ([]byte, error) {
	if !f.set {
		return []byte("null"), nil
	}
	return json.Marshal(f.value)
}

// UnmarshalJSON reads a number, a string as UnmarshalText does, or null for a
// number left out.
func (f *Float) UnmarshalJSON(data []byte) error {
	if string(data) == "null" {
		*f = Float{}
		return nil
	}
	var text string
	if json.Unmarshal(data, &text) == nil {
		return f.UnmarshalText([]byte(text))
	}
	return f.UnmarshalText(data)
}

// MarshalYAML returns the number, or nil if it is left out.
func (f Float) MarshalYAML() (any, error) {
	if !f.set {
		return nil, nil
	}
	return f.value, nil
}

func finite(x float64) error {
	if math.IsNaN(x) || math.IsInf(x, 0) {
		return fmt.Errorf("%v is not finite", x)
	}
	return nil
}
