package index

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/kindred-ml/kindred/eval"
	"github.com/kindred-ml/kindred/store"
)

// clusteredItems are items in 60 clusters, of which a seed chooses the members.
func clusteredItems(n, dim int, seed uint64) []store.Item {
	e := entries(n, dim, seed)
	for i := range e {
		for j := range e[i].Vector {
			e[i].Vector[j] = e[i].Vector[j]*0.3 + float32(math.Sin(float64(i%60*dim+j)*3))
		}
	}
	return e
}

// recallOf is the share of the true nearest that a search in lists finds.
func recallOf(t *testing.T, x *Index, queries [][]float32) float64 {
	t.Helper()
	hits, total := 0, 0
	for _, v := range queries {
		got, err := x.Search(t.Context(), Query{Vector: v})
		if err != nil {
			t.Fatal(err)
		}
		want, err := x.Search(t.Context(), Query{Vector: v, Exact: true})
		if err != nil {
			t.Fatal(err)
		}
		for _, w := range want.Hits {
			total++
			if slices.ContainsFunc(got.Hits, func(h store.Hit) bool { return h.ID == w.ID }) {
				hits++
			}
		}
	}
	return float64(hits) / float64(total)
}

// The recall that is stated is what other queries get: those like the items the one, those unlike them the other.
// The latter may find more, but hardly less. In 64 dimensions 0.81 was stated for them where 0.55 was found: it was the
// recall for items that had been moved.
func TestListsStateBothRecalls(t *testing.T) {
	for _, c := range []struct {
		eval.Distance
		dim int
	}{{eval.Euclidean, 16}, {eval.Cosine, 16}, {eval.Euclidean, 64}} {
		x := create(t, Config{Dim: c.dim, Distance: c.Distance})
		add(t, x, clusteredItems(9000, c.dim, 5), AddOptions{})
		if err := x.Compact(t.Context(), CompactOptions{NumLists: 60, Recall: 0.9}); err != nil {
			t.Fatal(err)
		}
		l := x.Info().Lists
		if l == nil || l.Recall < 0.9 || l.NumQueries != recallQueries || l.RecallOutliers >= l.Recall {
			t.Fatalf("%v: %+v", c, l)
		}
		rng := rand.New(rand.NewPCG(8, 8))
		var like, unlike [][]float32
		for _, e := range clusteredItems(200, c.dim, 77) { // of the same clusters, and not in the index
			like = append(like, e.Vector)
			shuffled := slices.Clone(e.Vector)
			rng.Shuffle(c.dim, func(i, j int) { shuffled[i], shuffled[j] = shuffled[j], shuffled[i] })
			unlike = append(unlike, shuffled)
		}
		if r := recallOf(t, x, like); math.Abs(r-l.Recall) > 0.05 {
			t.Errorf("%v: recall %.3f, and %.3f is stated", c, r, l.Recall)
		}
		r := recallOf(t, x, unlike)
		if r < l.RecallOutliers-0.03 || r > l.RecallOutliers+0.12 {
			t.Errorf("%v: recall %.3f of queries unlike the items, and %.3f is stated", c, r, l.RecallOutliers)
		}
		t.Logf("%v: %+v, %.3f for queries unlike the items", c, l, r)
		if again := reopen(t, x).Info().Lists; again == nil || *again != *l {
			t.Errorf("%v: opened again %+v", c, again)
		}
	}
}

// Few items, and such that have no room to be moved, are measured as well as can be.
func TestListsOfFew(t *testing.T) {
	for _, n := range []int{1, 2, 5, 40} {
		x := create(t, Config{Dim: 3})
		e := entries(n, 3, 1)
		e[0].Vector[1], e[n-1].Vector[2] = math.MaxFloat32, -math.MaxFloat32
		add(t, x, e, AddOptions{})
		for _, lists := range []int{1, n} {
			if err := x.Compact(t.Context(), CompactOptions{NumLists: lists}); err != nil {
				t.Fatalf("%d items in %d lists: %v", n, lists, err)
			}
			l := x.Info().Lists
			if l == nil || l.NumLists != lists || l.Recall < 0.95 || l.NumQueries < 1 {
				t.Errorf("%d items: %+v", n, l)
			}
		}
	}
}

// Lists come in the order of their centers, of equals the first; the rows of the nearest ones
// are those between their starts.
func TestNearestLists(t *testing.T) {
	centers := []float32{0, 0, 3, 0, -1, 0, 3, 0}
	for _, c := range []struct {
		distance eval.Distance
		x        []float32
		want     []int
	}{{eval.Euclidean, []float32{2, 0}, []int{1, 3, 0, 2}}, {eval.Dot, []float32{-2, 0}, []int{2, 0, 1, 3}},
		{eval.Cosine, []float32{1, 1}, []int{1, 3, 0, 2}}} {
		if got := nearestLists(c.distance, c.x, centers); !slices.Equal(got, c.want) {
			t.Errorf("%v: %v, want %v", c.distance, got, c.want)
		}
	}
	s := &segment{lists: []uint32{0, 5, 9, 9, 12}, centers: centers}
	for probes, want := range map[int][][2]int{1: {{5, 9}}, 2: {{5, 9}, {9, 12}}, 3: {{0, 5}, {5, 9}, {9, 12}},
		9: {{0, 5}, {5, 9}, {9, 9}, {9, 12}}} {
		got := s.rowsOfLists([]float32{2, 0}, probes)
		if len(got) != len(want) {
			t.Errorf("%d lists: %v, want %v", probes, got, want)
			continue
		}
		for i, r := range got {
			if [2]int{r.Lo, r.Hi} != want[i] {
				t.Errorf("%d lists: %v, want %v", probes, got, want)
			}
		}
	}
	if share(3, 4) != 0.75 || share(0, 0) != 1 {
		t.Errorf("%g, %g", share(3, 4), share(0, 0))
	}
}
