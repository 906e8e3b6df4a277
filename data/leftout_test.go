package data

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

// What pieces of a set leave out adds up, without what the set had left out before,
// and the first five of a reason are named.
func TestAddLeftOut(t *testing.T) {
	before := []LeftOut{{Reason: "not an image", Count: 2, First: []string{"a.txt", "b.txt"}}}
	piece := func(names ...string) []LeftOut {
		return append(before[:1:1], LeftOut{Reason: "could not be read", Count: len(names), First: names})
	}
	sum := AddLeftOut(before[:1:1], before, piece("1", "2", "3"))
	sum = AddLeftOut(sum, before, before)
	sum = AddLeftOut(sum, before, []LeftOut{{Reason: "not an image", Count: 3, First: []string{"a.txt", "b.txt",
		"c.txt"}}})
	sum = AddLeftOut(sum, before, piece("4", "5", "6"))
	if diff := cmp.Diff([]LeftOut{{Reason: "not an image", Count: 3, First: []string{"a.txt", "b.txt", "c.txt"}},
		{Reason: "could not be read", Count: 6, First: []string{"1", "2", "3", "4", "5"}}}, sum); diff != "" {
		t.Error(diff)
	}
	if got := AddLeftOut(nil, nil, nil); got != nil {
		t.Errorf("%v", got)
	}
}
