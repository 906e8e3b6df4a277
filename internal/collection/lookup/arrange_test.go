package lookup

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/kindred-ml/kindred/embedding"
	"github.com/kindred-ml/kindred/eval"
	"github.com/kindred-ml/kindred/internal/base/option"
	"github.com/kindred-ml/kindred/matrix"
	"github.com/kindred-ml/kindred/serve/api"
	"github.com/kindred-ml/kindred/store"
)

// newCircles returns galleries of 400 items, 4 copies of each of 100: copy j of item i lies at the distance
// i + 1 + j/1000 from 0, in one of two directions. Its label is the last digit of i.
func newCircles(t *testing.T) map[string]Gallery {
	t.Helper()
	const n, copies = 100, 4
	table := &embedding.Table{X: matrix.New(n*copies, 2)}
	var labels []string
	var list []store.Item
	for i := range n {
		for j := range copies {
			row := table.X.Row(copies*i + j)
			row[i%2] = float32(i+1) + 0.001*float32(j)
			labels = append(labels, fmt.Sprintf("c%d", i%10))
			name := fmt.Sprintf("%02d-%d.jpg", i, j)
			table.Files = append(table.Files, name)
			list = append(list, store.Item{ID: name, Path: name, Vector: row,
				Columns: map[string]any{"label": labels[len(labels)-1]}})
		}
	}
	return fillGalleries(t, table, labels, list)
}

// formatNeighbours returns neighbours as name(count)[searchOthers].
func formatNeighbours(near []api.Neighbour) string {
	var out []string
	for _, n := range near {
		s := strings.TrimSuffix(n.ID, ".jpg")
		if n.Count > 0 {
			s += fmt.Sprintf("(%d)", n.Count)
		}
		if len(n.Others) > 0 {
			s += "[" + formatNeighbours(n.Others) + "]"
		}
		out = append(out, s)
	}
	return strings.Join(out, " ")
}

// The same neighbours are arranged of every kind of gallery: groups and copies are searched for until there are enough,
// with their numbers and as many of the others as were asked for.
func TestArrange(t *testing.T) {
	query := []Query{{Name: "v", Vector: []float32{0, 0}}}
	for _, c := range []struct {
		opt  Options
		want string
	}{
		{Options{K: 3}, "00-0 00-1 00-2"},
		{Options{K: 2, Arrange: api.Arrange{Collapse: 0.01}}, "00-0(4) 01-0(4)"},
		{Options{K: 2, Arrange: api.Arrange{Collapse: 0.01, Others: 2}}, "00-0(4)[00-1 00-2] 01-0(4)[01-1 01-2]"},
		{Options{K: 2, Arrange: api.Arrange{GroupBy: "label", Others: 1}}, "00-0(20)[00-1] 01-0(20)[01-1]"},
		{Options{K: 2, Arrange: api.Arrange{GroupBy: "label", Collapse: 0.01, Others: 5}},
			"00-0(20)[00-1 00-2 00-3 10-0 10-1] 01-0(20)[01-1 01-2 01-3 11-0 11-1]"},
		{Options{K: 20, Arrange: api.Arrange{GroupBy: "label"}}, // fewer groups than asked for
			"00-0(40) 01-0(40) 02-0(40) 03-0(40) 04-0(40) 05-0(40) 06-0(40) 07-0(40) 08-0(40) 09-0(40)"},
		{Options{K: 1, Arrange: api.Arrange{GroupBy: "path"}}, "00-0(1)"},
		{Options{K: 60, Arrange: api.Arrange{Collapse: 0.01}}, ""},
	} {
		for name, g := range newCircles(t) {
			got, err := Nearest(t.Context(), g, query, c.opt)
			if err != nil {
				t.Fatal(name, err)
			}
			if near := got[0].Neighbours; c.want == "" && len(near) != c.opt.K || c.want != "" &&
				formatNeighbours(near) != c.want {
				t.Errorf("%s, %+v: %s", name, c.opt.Arrange, formatNeighbours(near))
			}
			for _, n := range got[0].Neighbours {
				if n.Vector != nil || n.Columns["label"] != n.Label {
					t.Fatalf("%s: %+v", name, n)
				}
			}
		}
	}
}

// Diverse neighbours are of both directions; the nearest comes first.
func TestDiverse(t *testing.T) {
	for name, g := range newCircles(t) {
		opt := Options{K: 4, Arrange: api.Arrange{Diverse: 0.9}}
		got, err := Nearest(t.Context(), g, []Query{{Vector: []float32{0, 0}}}, opt)
		if err != nil {
			t.Fatal(name, err)
		}
		near := got[0].Neighbours
		directions := map[bool]bool{}
		for _, n := range near {
			directions[n.ID[1]%2 == 0] = true
		}
		if near[0].ID != "00-0.jpg" || near[1].Distance < 40 || len(directions) != 2 {
			t.Errorf("%s: %s", name, formatNeighbours(near))
		}
	}
}

// Re-ranking orders by the score, shows the distance from the query, and does not lose or invent items.
func TestRerank(t *testing.T) {
	for name, g := range newCircles(t) {
		for _, way := range []string{AlphaQE, KReciprocal} {
			opt := Options{K: MinRerank, Arrange: api.Arrange{Rerank: way}, Explain: &api.Provenance{Gallery: name}}
			got, err := Nearest(t.Context(), g, []Query{{Name: "v", From: "a vector", Vector: []float32{3, 1}}}, opt)
			if err != nil {
				t.Fatal(name, err)
			}
			near := got[0].Neighbours
			if !slices.IsSortedFunc(near, func(a, b api.Neighbour) int {
				switch {
				case *a.Score < *b.Score:
					return -1
				case *a.Score > *b.Score:
					return 1
				}
				return 0
			}) || len(near) != MinRerank || slices.IsSortedFunc(near, func(a, b api.Neighbour) int {
				return int(math.Copysign(1, a.Distance-b.Distance))
			}) {
				t.Errorf("%s, %s: %d neighbours, not ordered anew", name, way, len(near))
			}
			if e := got[0].Explain; e.Query != "v: a vector" || e.Gallery != name || len(e.Steps) != 2 ||
				!strings.Contains(e.Steps[1], way) {
				t.Errorf("%s: %+v", name, e)
			}
			seen := map[string]bool{}
			for _, n := range near {
				seen[n.ID] = true
			}
			if len(seen) != len(near) {
				t.Errorf("%s, %s: %d items", name, way, len(seen))
			}
		}
	}
}

// Wrong values and values that lack another are refused by their settings.
func TestValidateOptions(t *testing.T) {
	nan := math.NaN()
	for want, o := range map[string]Options{
		"least 2: want":                            {Least: 2},
		"least NaN: want":                          {Least: nan},
		"collapse -1: want":                        {Arrange: api.Arrange{Collapse: -1}},
		"collapse NaN: want":                       {Arrange: api.Arrange{Collapse: nan}},
		"diverse 1: want":                          {Arrange: api.Arrange{Diverse: 1}},
		"diverse NaN: want":                        {Arrange: api.Arrange{Diverse: nan}},
		"neighbours 3000: want at most 2000":       {K: 3000, Arrange: api.Arrange{Diverse: 0.5}},
		"others -1: want":                          {Arrange: api.Arrange{Others: -1, GroupBy: "label"}},
		"rerank x: want alpha-qe or k-reciprocal":  {Arrange: api.Arrange{Rerank: "x"}},
		"others applies to group-by or collapse, ": {Arrange: api.Arrange{Others: 1}},
	} {
		if err := o.Validate(); err == nil || !strings.HasPrefix(err.Error(), want) || !option.IsUsage(err) {
			t.Errorf("%v, want %q", err, want)
		}
	}
	for name, g := range newCircles(t) {
		_, err := Nearest(t.Context(), g, []Query{{Vector: []float32{0, 0}}},
			Options{K: 1, Arrange: api.Arrange{GroupBy: "colour"}})
		if err == nil || err.Error() != "group-by colour: want a column of the gallery: label" {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// Copies have no small distance under the dot product.
func TestCollapseDot(t *testing.T) {
	g := &Table{Set: &Set{Table: &embedding.Table{X: matrix.New(2, 2)}}, Distance: eval.Dot}
	_, err := Nearest(t.Context(), g, []Query{{Vector: []float32{0, 0}}}, Options{K: 1,
		Arrange: api.Arrange{Collapse: 1}})
	if err == nil || !strings.HasPrefix(err.Error(), "collapse does not apply to a gallery with dot distance") {
		t.Error(err)
	}
}

// A gallery without items has no neighbours, however they are arranged.
func TestArrangeNothing(t *testing.T) {
	for name, g := range emptyItems(t) {
		for _, a := range []api.Arrange{{}, {Rerank: AlphaQE}, {Rerank: KReciprocal}, {Diverse: 0.5}, {Collapse: 1}} {
			got, err := Nearest(t.Context(), g, []Query{{Vector: []float32{0, 0}}}, Options{K: 2, Arrange: a})
			if err != nil || len(got[0].Neighbours) != 0 {
				t.Errorf("%s, %+v: %+v, %v", name, a, got, err)
			}
		}
	}
}
