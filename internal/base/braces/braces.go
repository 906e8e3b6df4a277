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

// Has tells whether text has a pair of braces.
func Has(text string) bool {
	open := strings.IndexByte(text, '{')
	return open >= 0 && strings.IndexByte(text[open:], '}') > 0
}

// Expand returns the names that text stands for, in order; text without braces is its own
// name. Numbers keep the width of a first number that begins with a zero, and a range may
// count down. Errors: a brace without its partner, braces within braces, a range that is
// none, more than a million names or 128 MiB of them.
func Expand(text string) ([]string, error) {
	names, long := []string{""}, 0 // the longest of them
	for rest := text; ; {
		before, tail, more := strings.Cut(rest, "{")
		if strings.Contains(before, "}") {
			return nil, fmt.Errorf("%.200q: a closing brace without an opening one", text)
		}
		if long += len(before); long > maxBytes/len(names) {
			return nil, tooLong(text)
		}
		for i := range names {
			names[i] += before
		}
		if !more {
			return names, nil
		}
		inner, after, closed := strings.Cut(tail, "}")
		if !closed || strings.Contains(inner, "{") {
			return nil, fmt.Errorf("%.200q: an opening brace without a closing one before the next", text)
		}
		choices, err := alternatives(inner)
		if err != nil {
			return nil, fmt.Errorf("%.200q: %w", text, err)
		}
		if len(choices) > maxNames/len(names) {
			return nil, fmt.Errorf("%.200q stands for more than %d names", text, maxNames)
		}
		long += len(slices.MaxFunc(choices, func(a, b string) int { return len(a) - len(b) }))
		if long > maxBytes/(len(names)*len(choices)) {
			return nil, tooLong(text)
		}
		all := make([]string, 0, len(names)*len(choices))
		for _, n := range names {
			for _, c := range choices {
				all = append(all, n+c)
			}
		}
		names, rest = all, after
	}
}

func tooLong(text string) error {
	return fmt.Errorf("%.200q stands for names of more than %d bytes in all", text, maxBytes)
}

// alternatives are what stands between braces: words between commas, or a range of numbers.
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
		return nil, tooLong(inner)
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
