package lookup

import (
	"strings"
	"testing"

	"github.com/kindred-ml/kindred/serve/api"
	"github.com/kindred-ml/kindred/store"
)

// TestPrint: columns come in the order of the gallery's, quoted where they would be read otherwise; the further members
// of a group stand below it.
func TestPrint(t *testing.T) {
	p := 0.97
	r := Results{Head: api.Head{MinProbability: 0.5}, Queries: []api.Answer{
		{Query: "q.jpg", QueryIDs: []string{"a", "b", "o"},
			QueryLabels: []string{"x", "y", "x"}, Neighbours: []api.Neighbour{
				{Hit: store.Hit{Item: store.Item{ID: "c", Path: "p/c.jpg", Columns: map[string]any{"z": "two words",
					"n": 2.5}},
					Distance: 0.5}, MatchProbability: &p, Count: 3,
					Others: []api.Neighbour{{Hit: store.Hit{Item: store.Item{ID: "e"}, Distance: 0.75}}}},
				{Hit: store.Hit{Item: store.Item{ID: "d"}, Distance: 1}, Count: 1},
			}},
		{Query: "r.jpg", Explain: &api.Provenance{Query: "the photo", Gallery: "an index", Steps: []string{"one",
			"two"}}},
	}}
	var b strings.Builder
	in := &Info{Columns: []store.Column{{Name: "n", Kind: store.Number}, {Name: "z", Kind: store.Text}}}
	if err := r.Print(&b, &Items{}, in); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"q.jpg\nthis very picture, left out below: x (a, o), y (b): the labels differ\n",
		"p/c.jpg  n=2.5 z=\"two words\" (and 2 more)\n     0.75", "97 %", "gallery: an index", "steps: one; two\n",
		"\n\nr.jpg\nno neighbour is the same thing with a probability of 0.5 or more\n"} {
		if !strings.Contains(b.String(), want) {
			t.Errorf("%q lacks %q", b.String(), want)
		}
	}
}
