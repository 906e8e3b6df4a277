package classname

import (
	"slices"
	"testing"
)

func TestNaturalOrder(t *testing.T) {
	names := []string{"b", "a10", "a2", "a02", "a", "", "a1b", "a1", "B"}
	slices.SortFunc(names, Compare)
	want := []string{"", "B", "a", "a1", "a1b", "a02", "a2", "a10", "b"}
	if !slices.Equal(names, want) {
		t.Errorf("%q", names)
	}
}
