package keys

import (
	"fmt"
	"slices"
	"strings"

	"github.com/kindred-ml/kindred/internal/base/spell"
)

// Problem is what is wrong with the value of a key.
type Problem struct{ Key, Text string }

// Problems checks, key by key, all that needs no data. Whether a key agrees with others is
// checked only if its value is valid by itself.
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
		if k.Agrees != nil {
			k.Agrees(c, bad)
		}
		if k.Only != nil && len(out) == before && !t.Unset(c, k) {
			if why := k.Only(c); why != "" {
				bad("%s", why)
			}
		}
	}
	return out
}

// Check reports to bad what is wrong with the value of a key that takes some words.
type Check func(value any, words []string, bad Report)

// Report takes a sentence.
type Report func(format string, args ...any)

// AtLeast and AtMost bound whole numbers. of says what is counted, after a space.
func AtLeast(least int) Check {
	return func(value any, words []string, bad Report) {
		if v := value.(int); v < least {
			bad("%d is less than %d", v, least)
		}
	}
}

func AtMost(most int, of string) Check {
	return func(value any, words []string, bad Report) {
		if v := value.(int); v > most {
			bad("%d is more than %d%s", v, most, of)
		}
	}
}

// Positive, NotNegative and Share bound numbers; what is no number is beyond all bounds.
func Positive(value any, words []string, bad Report) {
	if v := value.(float64); !(v > 0) {
		bad("%v is not positive", v)
	}
}

func NotNegative(value any, words []string, bad Report) {
	if v := value.(float64); !(v >= 0) {
		bad("%v is negative", v)
	}
}

func Share(value any, words []string, bad Report) {
	if v := value.(float64); !(v >= 0 && v < 1) {
		bad("%v is not in [0, 1)", v)
	}
}

// Listed refuses a word that is not among the key's values.
func Listed(value any, words []string, bad Report) {
	v := value.(string)
	switch {
	case v == "" || slices.Contains(words, v):
	case len(words) == 2:
		bad("%q: must be %s or %s", v, words[0], words[1])
	default:
		bad("%q: must be one of %s", v, strings.Join(words, ", "))
	}
}

// AnyOf refuses a word that is not among the key's values, which are things of the given kind, and
// names the nearest one.
func AnyOf(what string) Check {
	return func(value any, words []string, bad Report) {
		if v := value.(string); !slices.Contains(words, v) {
			bad("unknown %s %q%s; there are %s", what, v, suggest(v, words), strings.Join(words, ", "))
		}
	}
}

// ReadBy refuses a text that parse does.
func ReadBy(parse func(string) error) Check {
	return func(value any, words []string, bad Report) {
		if err := parse(value.(string)); err != nil {
			bad("%v", err)
		}
	}
}

// suggest is spell.Suggest for keys with their sections: the same key in another section
// is the likeliest slip.
func suggest(word string, names []string) string {
	if _, key, ok := strings.Cut(word, "."); ok {
		for _, n := range names {
			if strings.HasSuffix(n, "."+key) {
				return spell.Meant(n)
			}
		}
	}
	return spell.Suggest(word, names)
}
