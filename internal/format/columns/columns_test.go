package columns

import (
	"fmt"
	"strings"
	"testing"
)

func TestCoordinate(t *testing.T) {
	for name, want := range map[string]int{"embedding_0": 0, "embedding_17": 17, "embedding_007": 7,
		"embedding_": -1, "embedding_-1": -1, "embedding_x": -1, "embedding": -1, "0": -1, "": -1,
		"embedding_99999999999999999999": -1} {
		k, ok := Coordinate(name)
		if ok != (want >= 0) || ok && k != want {
			t.Errorf("%q: %d, %v", name, k, ok)
		}
	}
}

func TestFew(t *testing.T) {
	var names []string
	for i := range 21 {
		names = append(names, fmt.Sprint("c", i))
	}
	if got := Few(names[:20]); !strings.HasSuffix(got, "c18, c19") {
		t.Error(got)
	}
	if got := Few(names); !strings.HasSuffix(got, "c19 and 1 more") {
		t.Error(got)
	}
}
