package selfmatch

import (
	"slices"
	"testing"

	"github.com/kindred-ml/kindred/matrix"
)

// rows makes a table of rows of one number, with the ids and paths that are given.
func rows(x []float32, ids, paths string) Rows {
	r := Rows{X: matrix.FromSlice(len(x), 1, x)}
	name := func(of string) func(int) string { return func(i int) string { return of[i : i+1] } }
	if ids != "" {
		r.ID = name(ids)
	}
	if paths != "" {
		r.Path = name(paths)
	}
	return r
}

// A query is the row with its embedding, and with its id or path if both tables have them.
func TestPair(t *testing.T) {
	x := []float32{1, 2, 2, 3}
	five := []float32{2, 3, 2, 2, 9}
	for name, c := range map[string]struct {
		queries, gallery Rows
		want             []int32
		renamed          int
	}{
		"by occurrence":               {rows(five, "", ""), rows(x, "", ""), []int32{1, 3, 2, -1, -1}, 0},
		"names of one side":           {rows([]float32{2, 1}, "", ""), rows(x, "abcd", "efgh"), []int32{1, 0}, 0},
		"ids of one, paths of others": {rows([]float32{2, 1}, "xy", ""), rows(x, "", "efgh"), []int32{1, 0}, 0},
		"by id":                       {rows([]float32{2, 2, 3}, "cbx", ""), rows(x, "abcd", ""), []int32{2, 1, -1}, 1},
		"by path":                     {rows([]float32{2, 1}, "", "gz"), rows(x, "", "efgh"), []int32{2, -1}, 1},
		"by path where ids differ":    {rows([]float32{2, 1}, "xy", "ge"), rows(x, "abcd", "efgh"), []int32{2, 0}, 0},
		"names alone":                 {rows([]float32{7, 8}, "ab", "ef"), rows(x, "abcd", "efgh"), nil, 0},
		"a name twice":                {rows([]float32{2, 2, 2}, "aaa", ""), rows(x, "aaaa", ""), []int32{1, 2, -1}, 1},
		"no rows in common":           {rows([]float32{9}, "", ""), rows(x, "", ""), nil, 0},
	} {
		p := Pair(c.queries, c.gallery)
		n := 0
		for _, j := range p.Row {
			if j >= 0 {
				n++
			}
		}
		if !slices.Equal(p.Row, c.want) || p.Renamed != c.renamed || p.Itself != n {
			t.Errorf("%s: %+v, want %v and %d renamed", name, p, c.want, c.renamed)
		}
	}
	// Where digests are known, they decide, whatever the embeddings and the names are.
	hashed := func(r Rows, digests ...string) Rows {
		r.Digest = func(i int) string { return digests[i] }
		return r
	}
	g := hashed(rows(x, "abcd", ""), "A", "B", "C", "")
	for name, c := range map[string]struct {
		queries Rows
		want    []int32
	}{
		"other embeddings and ids": {hashed(rows([]float32{7, 8}, "yz", ""), "C", "A"), []int32{2, 0}},
		"other contents":           {hashed(rows([]float32{1, 2}, "ab", ""), "X", "Y"), nil},
		"no digest in the gallery": {hashed(rows([]float32{3}, "d", ""), "X"), []int32{3}},
		"no digest of the query":   {hashed(rows([]float32{1}, "a", ""), ""), []int32{0}},
		"no digests of queries":    {rows([]float32{2, 1}, "ba", ""), []int32{1, 0}},
	} {
		if p := Pair(c.queries, g); !slices.Equal(p.Row, c.want) {
			t.Errorf("%s: %v, want %v", name, p.Row, c.want)
		}
	}
	if p := Pair(rows(x, "", ""), Rows{X: matrix.New(4, 2)}); p.Row != nil {
		t.Error("embeddings of another length are the same")
	}
}
