package webmap

import (
	"strings"
	"testing"
)

// A rule that is not closed would take all that stand after it away.
func TestStyleIsClosed(t *testing.T) {
	depth := 0
	for i, line := range strings.Split(Style, "\n") {
		depth += strings.Count(line, "{") - strings.Count(line, "}")
		if depth < 0 || depth > 1 && strings.HasPrefix(line, ".") {
			t.Fatalf("line %d is within %d rules: %s", i+1, depth, line)
		}
	}
	if depth != 0 {
		t.Errorf("%d rules are not closed", depth)
	}
}
