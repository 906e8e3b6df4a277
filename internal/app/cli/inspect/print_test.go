package inspect

import (
	"fmt"
	"strings"
	"testing"

	"github.com/kindred-ml/kindred/internal/app/cli/console"
)

// TestDuplicatesAreCounted: a list that is cut off says how many entries are missing, and a whole one does not.
func TestDuplicatesAreCounted(t *testing.T) {
	for n, want := range map[int]string{0: "", console.MaxPrinted: "", console.MaxPrinted + 1: "... and 1 more",
		console.MaxPrinted +
			6: "... and 6 more"} {
		var groups []Group
		for i := range n {
			groups = append(groups, Group{Names: []string{fmt.Sprint("a", i), fmt.Sprint("b", i)},
				Labels: []string{"a", "b"}, Conflict: true})
		}
		var out strings.Builder
		printDuplicates(&out, groups, console.MaxPrinted)
		if got := out.String(); strings.Count(got, "DIFFERENT LABELS") != min(n, console.MaxPrinted) ||
			!strings.Contains(got, want) ||
			want == "" && strings.Contains(got, "more (") {
			t.Errorf("%d duplicates:\n%s", n, got)
		}
	}
}
