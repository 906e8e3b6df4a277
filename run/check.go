package run

import (
	"fmt"
	"slices"
	"strings"

	"github.com/kindred-ml/kindred/internal/base/spell"
)

// problem is what is wrong with the value of a key.
type problem struct{ key, text string }

// problems checks, key by key, all that needs no data. Whether a key agrees with others is
// checked only if its value is valid by itself.
func (c *Config) problems() []problem {
	var out []problem
	for i := range keys {
		k, before := &keys[i], len(out)
		bad := func(format string, args ...any) {
			out = append(out, problem{k.name, fmt.Sprintf(format, args...)})
		}
		for _, check := range k.checks {
			check(k, c, bad)
		}
		if k.only != nil && len(out) == before && !k.unset(c) {
			if why := k.only(c); why != "" {
				bad("%s", why)
			}
		}
	}
	return out
}

// check reports to bad what is wrong with the value of a key.
type check func(k *key, c *Config, bad report)

// report takes a sentence.
type report func(format string, args ...any)

// atLeast and atMost bound whole numbers. of says what is counted, after a space.
func atLeast(least int) check {
	return func(k *key, c *Config, bad report) {
		if v := k.value(c).(int); v < least {
			bad("%d is less than %d", v, least)
		}
	}
}

func atMost(most int, of string) check {
	return func(k *key, c *Config, bad report) {
		if v := k.value(c).(int); v > most {
			bad("%d is more than %d%s", v, most, of)
		}
	}
}

// positive, notNegative and share bound numbers; what is no number is beyond all bounds.
func positive(k *key, c *Config, bad report) {
	if v := k.value(c).(float64); !(v > 0) {
		bad("%v is not positive", v)
	}
}

func notNegative(k *key, c *Config, bad report) {
	if v := k.value(c).(float64); !(v >= 0) {
		bad("%v is negative", v)
	}
}

func share(k *key, c *Config, bad report) {
	if v := k.value(c).(float64); !(v >= 0 && v < 1) {
		bad("%v is not in [0, 1)", v)
	}
}

// listed refuses a word that is none of the key's values.
func listed(k *key, c *Config, bad report) {
	v := k.value(c).(string)
	switch {
	case v == "" || slices.Contains(k.values, v):
	case len(k.values) == 2:
		bad("%q is neither %s nor %s", v, k.values[0], k.values[1])
	default:
		bad("%q is none of %s", v, strings.Join(k.values, ", "))
	}
}

// anyOf refuses what is none of the key's values, which are things of the given kind, and
// names the nearest one.
func anyOf(what string) check {
	return func(k *key, c *Config, bad report) {
		if v := k.value(c).(string); !slices.Contains(k.values, v) {
			bad("unknown %s %q%s; there are %s", what, v, suggest(v, k.values), strings.Join(k.values, ", "))
		}
	}
}

// readBy refuses a text that parse does.
func readBy(parse func(string) error) check {
	return func(k *key, c *Config, bad report) {
		if err := parse(k.value(c).(string)); err != nil {
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
