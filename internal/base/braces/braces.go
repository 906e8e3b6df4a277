// Package braces spells out names with braces as shells do: a{1,2}b are a1b and a2b,
// set-{000..063}.tar are 64 names.
package braces

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// maxNames and maxBytes bound what one text may stand for.
const (
	maxNames = 1_000_000
	maxBytes = 128 << 20
)

// HasBraces reports whether text has a pair of braces.
func HasBraces(text string) bool {
	open := strings.IndexByte(text, '{')
	return open >= 0 && strings.IndexByte(text[open:], '}') > 0
}

// Expand returns the names that text stands for, in order; text without braces is its own
// name. Numbers keep the width of a first number that begins with a zero, and a range may
// count down. Errors: a brace without its partner, braces within braces, an invalid
// range, more than a million names or 128 MiB of them.
func Expand(text string) ([]string, error) {
	// The choices for each place of the names. The names are built only once their number is
	// known to be allowed.
	var places [][]string
	count, long := 1, 0 // the names, and the longest of them
	add := func(choices []string) error {
		if len(choices) > maxNames/count {
			return fmt.Errorf("%.200q stands for more than %d names", text, maxNames)
		}
		count *= len(choices)
		long += len(slices.MaxFunc(choices, func(a, b string) int { return len(a) - len(b) }))
		if long > maxBytes/count {
			return fmt.Errorf("%.200q stands for names of more than %d bytes in all", text, maxBytes)
		}
		places = append(places, choices)
		return nil
	}
	for rest, more := text, true; more; {
		var before, inner string
		before, rest, more = strings.Cut(rest, "{")
		if strings.Contains(before, "}") {
			return nil, fmt.Errorf("%.200q: a closing brace without an opening one", text)
		}
		if err := add([]string{before}); err != nil {
			return nil, err
		}
		if !more {
			break
		}
		var closed bool
		inner, rest, closed = strings.Cut(rest, "}")
		if !closed || strings.Contains(inner, "{") {
			return nil, fmt.Errorf("%.200q: an opening brace without a closing one before the next", text)
		}
		choices, err := alternatives(inner)
		if err != nil {
			return nil, fmt.Errorf("%.200q: %w", text, err)
		}
		if err := add(choices); err != nil {
			return nil, err
		}
	}
	return product(places, count), nil
}

// product returns every combination of one choice for each place. The last place changes first.
func product(places [][]string, count int) []string {
	names := make([]string, count)
	var b strings.Builder
	for i := range names {
		b.Reset()
		for left, k := count, 0; k < len(places); k++ {
			left /= len(places[k])
			b.WriteString(places[k][i/left%len(places[k])])
		}
		names[i] = b.String()
	}
	return names
}

// alternatives parses the text between braces: words between commas, or a range of numbers.
func alternatives(inner string) ([]string, error) {
	if words := strings.Split(inner, ","); len(words) > 1 {
		return words, nil
	}
	low, high, ok := strings.Cut(inner, "..")
	from, err1 := strconv.ParseUint(low, 10, 63)
	to, err2 := strconv.ParseUint(high, 10, 63)
	if !ok || err1 != nil || err2 != nil {
		return nil, fmt.Errorf("between braces stands %.200q: neither words with commas nor a range such as 000..063",
			inner)
	}
	down := from > to
	if down {
		from, to = to, from
	}
	if to-from >= maxNames {
		return nil, fmt.Errorf("%.200q stands for more than %d names", inner, maxNames)
	}
	if int(to-from) > maxBytes/len(inner) {
		return nil, fmt.Errorf("%.200q stands for names of more than %d bytes in all", inner, maxBytes)
	}
	width := 0
	if low[0] == '0' || high[0] == '0' {
		width = max(len(low), len(high))
	}
	var out []string
	for n := from; n <= to; n++ {
		out = append(out, fmt.Sprintf("%0*d", width, n))
	}
	if down {
		slices.Reverse(out)
	}
	return out, nil
}
