package keys

import (
	"fmt"
	"slices"
	"strings"

	"github.com/kindred-ml/kindred/internal/base/enum"
)

// Problem says what is wrong with the value of a key.
type Problem struct{ Key, Text string }

// Problems checks each key as far as that is possible without data. It compares a key with
// other keys only if the key's own value is valid.
func (t *Table[C]) Problems(c *C) []Problem {
	var out []Problem
	for i := range t.Keys {
		k, before := &t.Keys[i], len(out)
		bad := func(format string, args ...any) {
			out = append(out, Problem{k.Name, fmt.Sprintf(format, args...)})
		}
		for _, check := range k.Checks {
			check(t.Value(c, k), k.Values, bad)
		}
		if k.CheckOthers != nil {
			k.CheckOthers(c, bad)
		}
		if k.Inapplicable != nil && len(out) == before && !t.Unset(c, k) {
			if why := k.Inapplicable(c); why != "" {
				bad("%s", why)
			}
		}
	}
	return out
}

// Check calls bad if the value of a key is wrong. words are the key's allowed words.
type Check func(value any, words []string, bad Report)

// Report receives a message.
type Report func(format string, args ...any)

// AtLeast and AtMost bound whole numbers. of is appended to the message and names the unit,
// such as " points".
func AtLeast(least int) Check {
	return func(value any, words []string, bad Report) {
		if v := value.(int); v < least {
			bad("%d: must be %d or more", v, least)
		}
	}
}

func AtMost(most int, of string) Check {
	return func(value any, words []string, bad Report) {
		if v := value.(int); v > most {
			bad("%d: must be at most %d%s", v, most, of)
		}
	}
}

// Positive, NonNegative and Share bound numbers. They refuse NaN.
func Positive(value any, words []string, bad Report) {
	if v := value.(float64); !(v > 0) {
		bad("%v: must be above 0", v)
	}
}

func NonNegative(value any, words []string, bad Report) {
	if v := value.(float64); !(v >= 0) {
		bad("%v: must not be negative", v)
	}
}

func Fraction(value any, words []string, bad Report) {
	if v := value.(float64); !(v >= 0 && v < 1) {
		bad("%v: must be at least 0 and less than 1", v)
	}
}

// OneOf refuses a word that is not among the key's values.
func OneOf(value any, words []string, bad Report) {
	v := value.(string)
	switch {
	case v == "" || slices.Contains(words, v):
	case len(words) == 2:
		bad("%q: must be %s or %s", v, words[0], words[1])
	default:
		bad("%q: must be one of %s", v, strings.Join(words, ", "))
	}
}

// OneOfNames refuses a word that is not among the key's values, and suggests the nearest one. what
// is the noun for the values, such as "loss".
func OneOfNames(what string) Check {
	return func(value any, words []string, bad Report) {
		if v := value.(string); !slices.Contains(words, v) {
			bad("unknown %s %q%s: must be one of %s", what, v, suggest(v, words), strings.Join(words, ", "))
		}
	}
}

// ParsedBy refuses a text for which parse returns an error.
func ParsedBy(parse func(string) error) Check {
	return func(value any, words []string, bad Report) {
		if err := parse(value.(string)); err != nil {
			bad("%v", err)
		}
	}
}

// suggest is enum.Suggest for keys with their sections. It prefers the same key in another
// section, which is the likeliest mistake.
func suggest(word string, names []string) string {
	if _, key, ok := strings.Cut(word, "."); ok {
		for _, n := range names {
			if strings.HasSuffix(n, "."+key) {
				return enum.DidYouMean(n)
			}
		}
	}
	return enum.Suggest(word, names)
}

// Unless returns a function for Key.Inapplicable. It gives why as the reason unless used reports true.
func Unless[C any](used func(*C) bool, why string) func(*C) string {
	return func(c *C) string {
		if used(c) {
			return ""
		}
		return why
	}
}
