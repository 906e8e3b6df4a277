package main

import (
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
)

// tally counts runs and failures, by package, condition and test.
type tally struct {
	order  []string
	runs   map[string]map[string]int            // by package and condition
	failed map[string]map[string]map[string]int // by package, test and condition
}

func (t *tally) add(path, condition string, r outcome) {
	if t.runs == nil {
		t.runs, t.failed = make(map[string]map[string]int), make(map[string]map[string]map[string]int)
	}
	if t.runs[path] == nil {
		t.order = append(t.order, path)
		t.runs[path], t.failed[path] = make(map[string]int), make(map[string]map[string]int)
	}
	t.runs[path][condition]++
	for _, test := range r.failed {
		if t.failed[path][test] == nil {
			t.failed[path][test] = make(map[string]int)
		}
		t.failed[path][test][condition]++
	}
}

// print writes a line for each test that failed, with its rate and the conditions, and a sum.
// It reports whether any failed.
func (t *tally) print(w io.Writer) bool {
	failures, runs := 0, 0
	for _, path := range t.order {
		all := sumCounts(t.runs[path])
		runs += all
		for _, test := range slices.Sorted(maps.Keys(t.failed[path])) {
			by := t.failed[path][test]
			var in []string
			for _, c := range slices.Sorted(maps.Keys(by)) {
				in = append(in, fmt.Sprintf("%s %d of %d", c, by[c], t.runs[path][c]))
			}
			n := sumCounts(by)
			failures += n
			fmt.Fprintf(w, "%s %s failed in %d of %d runs: %s\n", path, test, n, all, strings.Join(in, ", "))
		}
	}
	fmt.Fprintf(w, "%d failures in %d runs of %d packages\n", failures, runs, len(t.order))
	return failures > 0
}

func sumCounts(by map[string]int) (n int) {
	for _, v := range by {
		n += v
	}
	return n
}
