package objective

import (
	"encoding"
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/kindred-ml/kindred/internal/base/enum"
	"github.com/kindred-ml/kindred/internal/base/option"
	"github.com/kindred-ml/kindred/loss"
)

// section reads one section of a configuration, collecting errors and the keys
// it was asked for.
type section struct {
	name    string
	values  map[string]any
	asked   []string
	choices map[string][]string // the values of keys that take words
	errs    KeyErrors
}

// noteChoices notes the words that a key takes.
func (s *section) noteChoices(key string, words []string) {
	if s.choices == nil {
		s.choices = map[string][]string{}
	}
	s.choices[key] = words
}

// askedKeys lists those that were asked for.
func (s *section) askedKeys() []Key {
	var out []Key
	for _, name := range s.asked {
		out = append(out, Key{name, s.choices[name]})
	}
	return out
}

func (s *section) get(key string) (any, bool) {
	if !slices.Contains(s.asked, key) {
		s.asked = append(s.asked, key)
	}
	v, ok := s.values[key]
	return v, ok && v != nil
}

// fail adds an error about a key, once: some keys are read twice.
func (s *section) fail(key, format string, args ...any) {
	s.errs.Add(&KeyError{Key: s.name + "." + key, Text: fmt.Sprintf(format, args...)})
}

// number reads a finite number.
func (s *section) number(key string) *float64 {
	v, ok := s.get(key)
	if !ok {
		return nil
	}
	var x float64
	switch v := v.(type) {
	case float64:
		x = v
	case int:
		x = float64(v)
	case int64:
		x = float64(v)
	case uint64:
		x = float64(v)
	case string:
		var err error
		if x, err = strconv.ParseFloat(v, 64); err != nil {
			s.fail(key, "%q is not a number", v)
			return nil
		}
	default:
		s.fail(key, "%v is not a number", v)
		return nil
	}
	if math.IsNaN(x) || math.IsInf(x, 0) {
		s.fail(key, "%v is not finite", x)
		return nil
	}
	return new(x)
}

// positive reads a number above 0.
func (s *section) positive(key string) *float64 {
	x := s.number(key)
	if v := option.OrDefault(x, math.MaxFloat64); v <= 0 {
		s.fail(key, "%v is not above 0", v)
	}
	return x
}

// nonNegative reads a number of at least 0.
func (s *section) nonNegative(key string) *float64 {
	x := s.number(key)
	if option.OrDefault(x, 0) < 0 {
		s.fail(key, "%v is negative", option.OrDefault(x, 0))
	}
	return x
}

// nonNegativeBelow reads a number of at least 0 and below a limit.
func (s *section) nonNegativeBelow(key string, limit float64) *float64 {
	x := s.nonNegative(key)
	if option.OrDefault(x, 0) >= limit {
		s.fail(key, "%v is not below %v", option.OrDefault(x, 0), limit)
	}
	return x
}

// distanceRange reads the ends of a range of distances.
func (s *section) distanceRange(side string) DistanceRange {
	r := DistanceRange{From: s.nonNegative(side + "_from"), To: s.nonNegative(side + "_to")}
	if from, to := option.OrDefault(r.From, 0), option.OrDefault(r.To, math.Inf(1)); from > to && to >= 0 {
		s.fail(side+"_from", "%v is beyond %s.%s_to, %v", from, s.name, side, to)
	}
	return r
}

// angle reads a number of degrees between 0 and 90.
func (s *section) angle(key string) *float64 {
	x := s.number(key)
	if d := option.OrDefault(x, 45); d <= 0 || d >= 90 {
		s.fail(key, "%v is not between 0 and 90", d)
	}
	return x
}

// fraction reads a number from 0 to 1.
func (s *section) fraction(key string) *float64 {
	x := s.number(key)
	if v := option.OrDefault(x, 0); v < 0 || v > 1 {
		s.fail(key, "%v is not from 0 to 1", v)
	}
	return x
}

// nonNegativeInt reads a whole number of at least 0.
func (s *section) nonNegativeInt(key string) int {
	x := option.OrDefault(s.number(key), 0)
	if x < 0 || x > 1<<31 || x != math.Trunc(x) {
		s.fail(key, "%v is not a whole number of at least 0", x)
		return 0
	}
	return int(x)
}

// part reads one of several equal parts, as 3/4.
func (s *section) part(key string) Part {
	name := s.text(key, "")
	if name == "" {
		return Part{}
	}
	k, n, _ := strings.Cut(name, "/")
	p := Part{}
	var err, err2 error
	p.K, err = strconv.Atoi(k)
	p.N, err2 = strconv.Atoi(n)
	if err != nil || err2 != nil {
		s.fail(key, "%q is no part of an embedding, such as 3/4, the third of four", name)
		return Part{}
	}
	if err := p.check(0); err != nil {
		s.fail(key, "%v", err)
		return Part{}
	}
	return p
}

// positiveInts reads a list of whole numbers above 0.
func (s *section) positiveInts(key string) []int {
	v, ok := s.get(key)
	if !ok {
		return nil
	}
	list, ok := v.([]any)
	if !ok || len(list) == 0 {
		s.fail(key, "%v is not a list of numbers, such as [2, 1, 1]", v)
		return nil
	}
	var out []int
	for _, x := range list {
		n := (&section{name: s.name, values: map[string]any{key: x}}).nonNegativeInt(key)
		if n < 1 {
			s.fail(key, "%v is not a list of whole numbers above 0", v)
			return nil
		}
		out = append(out, n)
	}
	return out
}

func (s *section) text(key, def string) string {
	v, ok := s.get(key)
	if !ok {
		return def
	}
	t, ok := v.(string)
	if !ok {
		s.fail(key, "%v is not a name", v)
		return def
	}
	return t
}

func (s *section) boolean(key string, def bool) bool {
	s.noteChoices(key, []string{"true", "false"})
	v, ok := s.get(key)
	if !ok {
		return def
	}
	switch v := v.(type) {
	case bool:
		return v
	case string:
		if b, err := strconv.ParseBool(v); err == nil {
			return b
		}
	}
	s.fail(key, "%v: must be true or false", v)
	return def
}

func (s *section) choice(key, def string, of ...string) string {
	s.noteChoices(key, of)
	v := s.text(key, def)
	if _, err := enum.Index("value", v, of); err != nil {
		s.fail(key, "%v", err)
		return def
	}
	return v
}

// setByName reads a value that is written as one of some names; v keeps its own without one.
func (s *section) setByName(key string, v encoding.TextUnmarshaler, names []string) {
	s.noteChoices(key, names)
	raw, ok := s.get(key)
	if !ok {
		return
	}
	name, ok := raw.(string)
	if !ok {
		s.fail(key, "%v is not a name", raw)
	} else if err := v.UnmarshalText([]byte(name)); err != nil {
		s.fail(key, "%v", err)
	}
}

func (s *section) euclidean(def bool) bool {
	name := "squared"
	if def {
		name = "euclidean"
	}
	return s.choice("distance", name, "squared", "euclidean") == "euclidean"
}

func (s *section) reduction() loss.Reduction {
	var r loss.Reduction
	names := []string{loss.Mean.String(), loss.MeanActive.String(), loss.Sum.String()}
	if v, _ := s.get("reduce"); v != "" {
		s.setByName("reduce", &r, names)
	}
	return r
}

// allErrors returns all errors, unknown keys among them.
func (s *section) allErrors() KeyErrors {
	for _, key := range slices.Sorted(maps.Keys(s.values)) {
		if !slices.Contains(s.asked, key) {
			s.fail(key, "unknown key%s; known are %s", enum.Suggest(key, s.asked),
				strings.Join(slices.Sorted(slices.Values(s.asked)), ", "))
		}
	}
	return s.errs
}
