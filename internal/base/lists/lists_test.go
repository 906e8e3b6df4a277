package lists

import (
	"reflect"
	"testing"
)

func TestLists(t *testing.T) {
	list := []string{"b", "a", "b", "c", "a"}
	elements, places := Group(list)
	numbers, ranked := Rank[int64](list)
	none, nowhere := Group([]int(nil))
	for name, c := range map[string]struct{ got, want any }{
		"indices":    {Indices(3), []int{0, 1, 2}},
		"no indices": {Indices(0), []int{}},
		"at":         {At(list, []int{3, 0}), []string{"c", "b"}},
		"at of nil":  {At([]string(nil), []int{3}), []string(nil)},
		"at nowhere": {At(list, nil), []string{}},
		"set":        {Set(list), map[string]bool{"a": true, "b": true, "c": true}},
		"count":      {Count(list), map[string]int{"a": 2, "b": 2, "c": 1}},
		"elements":   {elements, []string{"b", "a", "c"}},
		"places":     {places, [][]int{{0, 2}, {1, 4}, {3}}},
		"numbers":    {numbers, []int64{1, 0, 1, 2, 0}},
		"ranked":     {ranked, []string{"a", "b", "c"}},
		"of each":    {Places(numbers, 4), [][]int{{1, 4}, {0, 2}, {3}, nil}},
		"none":       {none, []int(nil)},
		"nowhere":    {nowhere, [][]int(nil)},
	} {
		if !reflect.DeepEqual(c.got, c.want) {
			t.Errorf("%s: %v; want %v", name, c.got, c.want)
		}
	}
}
