package main

import (
	"fmt"
	"strings"
	"testing"

	"github.com/kindred-ml/kindred/internal/app/cli/inspect"
)

// TestDuplicatesAreCounted: a list that is cut off says how many entries are missing, and a whole one does not.
func TestDuplicatesAreCounted(t *testing.T) {
	for n, want := range map[int]string{0: "", maxPrinted: "", maxPrinted + 1: "... and 1 more", maxPrinted +
		6: "... and 6 more"} {
		var groups []inspect.Group
		for i := range n {
			groups = append(groups, inspect.Group{Names: []string{fmt.Sprint("a", i), fmt.Sprint("b", i)},
				Labels: []string{"a", "b"}, Conflict: true})
		}
		var out strings.Builder
		printDuplicates(&out, groups, maxPrinted)
		if got := out.String(); strings.Count(got, "DIFFERENT LABELS") != min(n, maxPrinted) ||
			!strings.Contains(got, want) ||
			want == "" && strings.Contains(got, "more (") {
			t.Errorf("%d duplicates:\n%s", n, got)
		}
	}
}
