package eval

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"math"
	"math/rand/v2"
	"slices"
	"sort"
	"testing"

	"github.com/kindred-ml/kindred/internal/compute/exact"
	"github.com/kindred-ml/kindred/internal/compute/exact/quantized"
	"github.com/kindred-ml/kindred/internal/kernel/dot8"
	"github.com/kindred-ml/kindred/internal/kernel/simd"
	"github.com/kindred-ml/kindred/internal/test/rowtest"
	"github.com/kindred-ml/kindred/matrix"
)

// answer is a Query that outlives its visit.
type answer struct {
	r     int
	ranks []int32
}

func collect(t *testing.T, q Set, g *Set, opt RankOptions) [][]answer {
	t.Helper()
	var out [][]answer
	err := RankPositives(context.Background(), q, g, opt, func(v RankedQuery) {
		if v.Column == 0 {
			out = append(out, nil)
		}
		at := v.Index - opt.From
		if at != len(out)-1 || v.Column != len(out[at]) {
			t.Fatalf("visit of query %d, column %d out of order", v.Index, v.Column)
		}
		out[at] = append(out[at], answer{v.Positives, slices.Clone(v.Ranks)})
	})
	if err != nil {
		t.Fatal(err)
	}
	want := opt.To - opt.From
	if want == 0 {
		want = q.X.Rows
	}
	if len(out) != want {
		t.Fatalf("%d queries are visited, want %d", len(out), want)
	}
	return out
}

// cutQueries applies Depth and First.
func cutQueries(full [][]answer, opt RankOptions) [][]answer {
	out := make([][]answer, len(full))
	for i, columns := range full {
		for _, a := range columns {
			n := len(a.ranks)
			if opt.Depth > 0 {
				n = sort.Search(n, func(k int) bool { return int(a.ranks[k]) > opt.Depth })
			}
			if opt.FirstOnly {
				n = min(n, 1)
			}
			out[i] = append(out[i], answer{a.r, a.ranks[:n]})
		}
	}
	return out
}

// rankBySorting ranks by sorting the whole gallery for every query.
func rankBySorting(q Set, g *Set, d Distance, self ...int32) [][]answer {
	gal := q
	if g != nil {
		gal = *g
	}
	out := make([][]answer, q.X.Rows)
	for i := range q.X.Rows {
		type neighbour struct {
			far float64
			row int
		}
		var all []neighbour
		for j := range gal.X.Rows {
			if g == nil && j == i || self != nil && int(self[i]) == j {
				continue
			}
			var xy, xx, yy, dd float64
			for k := range q.X.Cols {
				x, y := float64(q.X.At(i, k)), float64(gal.X.At(j, k))
				xy += x * y
				xx += x * x
				yy += y * y
				dd += (x - y) * (x - y)
			}
			far := dd
			switch d {
			case Cosine:
				far = 0
				if xx > 0 && yy > 0 {
					far = -xy / math.Sqrt(xx) / math.Sqrt(yy)
				}
			case Dot:
				far = -xy
			}
			all = append(all, neighbour{far, j})
		}
		sort.SliceStable(all, func(a, b int) bool { return all[a].far < all[b].far })
		for c := range q.Labels {
			a := answer{}
			for rank, n := range all {
				if gal.Labels[c][n.row] != q.Labels[c][i] {
					continue
				}
				a.r++
				a.ranks = append(a.ranks, int32(rank+1))
			}
			out[i] = append(out[i], a)
		}
	}
	return out
}

func labelColumn(rng *rand.Rand, n, classes int) []int64 {
	y := make([]int64, n)
	for i := range y {
		y[i] = int64(rng.IntN(classes))*math.MaxInt32*4 - 77 // negative and beyond float64's integers in float32
	}
	return y
}

func TestPositivesAgreesWithSorting(t *testing.T) {
	for _, name := range slices.Sorted(maps.Keys(rowtest.Kinds)) {
		fill := rowtest.Kinds[name]
		t.Run(name, func(t *testing.T) {
			rng := rand.New(rand.NewPCG(uint64(len(name)), 9))
			for _, d := range []int{1, 2, 19} {
				q := Set{X: matrix.New(130, d), Labels: [][]int64{labelColumn(rng, 130, 20), labelColumn(rng, 130, 90)}}
				g := Set{X: matrix.New(101, d), Labels: [][]int64{labelColumn(rng, 101, 20), labelColumn(rng, 101, 90)}}
				fill(rng, q.X)
				fill(rng, g.X)
				copy(g.X.Row(3), q.X.Row(0))
				for _, dist := range []Distance{Euclidean, Cosine, Dot} {
					if dist == Cosine &&
						(d == 1 || name == "equal" || name == "lattice" || name == "huge" || name == "offset") {
						continue // equal up to the rounding of different formulas
					}
					for _, gallery := range []*Set{nil, &g} {
						full := rankBySorting(q, gallery, dist)
						for _, opt := range []RankOptions{
							{}, {FirstOnly: true}, {Depth: 1}, {Depth: 7}, {Depth: 7, FirstOnly: true}, {Depth: 1000},
						} {
							opt.Distance = dist
							eachEngine(t, func(engine string, begin quantized.Kind) {
								opt.tileKind = begin
								for _, opt.heads = range headChoices(opt) {
									what := fmt.Sprintf("%s, d %d, %v, depth %d, first %v, separate %v, heads %v",
										engine, d, dist, opt.Depth, opt.FirstOnly, gallery != nil, opt.heads)
									compare(t, what, collect(t, q, gallery, opt), cutQueries(full, opt))
								}
							})
						}
					}
				}
			}
		})
	}
}

// headChoices are the ways to rank. Where only the first positive counts there is one.
func headChoices(opt RankOptions) []choice {
	if opt.FirstOnly {
		return []choice{choiceNo}
	}
	return []choice{choiceNo, choiceYes}
}

// eachEngine runs f with the tiles that the machine chooses, with all integer tiles
// that it has, and with float32 tiles.
func eachEngine(t *testing.T, f func(name string, begin quantized.Kind)) {
	t.Helper()
	f("default", exact.KindAuto)
	if dot8.IsFast() {
		f("8 bits", quantized.Bits8)
		f("16 bits", quantized.Bits16)
	}
	restore := simd.Force(simd.AVX2)
	defer restore()
	f("without VNNI", exact.KindAuto)
}

func compare(t *testing.T, what string, got, want [][]answer) {
	t.Helper()
	for i := range want {
		for c := range want[i] {
			g, w := got[i][c], want[i][c]
			if g.r != w.r || !slices.Equal(g.ranks, w.ranks) {
				t.Fatalf("%s: query %d, column %d: R %d, ranks %v; want %d, %v", what, i, c, g.r, g.ranks, w.r, w.ranks)
			}
		}
	}
}

// Several blocks, several sides, several groups of queries: the seams. The less memory there
// is, the fewer queries are ranked, as each group of them packs the gallery again.
func TestPositivesAcrossBlocks(t *testing.T) {
	rng := rand.New(rand.NewPCG(7, 8))
	n := 2*exact.Block + 37 // a first block, one within, and a part of one
	q := Set{X: matrix.New(n, 24), Labels: [][]int64{labelColumn(rng, n, 60)}}
	rowtest.Kinds["duplicates"](rng, q.X)
	g := Set{X: q.X.RowRange(100, 100+exact.Block+5), Labels: [][]int64{q.Labels[0][100 : 100+exact.Block+5]}}
	same, separate := rankBySorting(q, nil, Euclidean), rankBySorting(q, &g, Euclidean)
	for _, opt := range []RankOptions{{}, {Depth: 10}, {FirstOnly: true}} {
		wantSame, wantSeparate := cutQueries(same, opt), cutQueries(separate, opt)
		for _, c := range []struct {
			memory   int64
			from, to int
		}{{0, 0, n}, {1 << 20, 0, n}, {1 << 17, exact.Block - 100, exact.Block + 80},
			{1, 2*exact.Block - 9, 2*exact.Block + 12}} {
			opt.Memory, opt.From, opt.To = c.memory, c.from, c.to
			eachEngine(t, func(engine string, begin quantized.Kind) {
				opt.tileKind = begin
				for _, opt.heads = range headChoices(opt) {
					what := fmt.Sprintf("%s, memory %d, depth %d, first %v, heads %v", engine, c.memory, opt.Depth,
						opt.FirstOnly, opt.heads)
					compare(t, what, collect(t, q, nil, opt), wantSame[c.from:c.to])
					compare(t, what+", separate", collect(t, q, &g, opt), wantSeparate[c.from:c.to])
				}
			})
		}
	}
}

func TestPositivesRejects(t *testing.T) {
	nan := float32(math.NaN())
	x := matrix.New(3, 2)
	y := [][]int64{{1, 1, 2}}
	bad := matrix.New(3, 2)
	bad.Row(1)[1] = nan
	inf := matrix.New(3, 2)
	inf.Row(2)[0] = float32(math.Inf(1))
	for _, c := range []struct {
		name, want string
		q          Set
		g          *Set
	}{
		{"no rows", "there are no query embeddings", Set{matrix.New(0, 2), [][]int64{{}}}, nil},
		{"no labels", "there are no labels for the query embeddings", Set{x, nil}, nil},
		{"lengths", "there are 2 query labels in column 0, but 3 embeddings", Set{x, [][]int64{{1, 2}}}, nil},
		{"NaN", "row 1 of the query embeddings holds NaN (in dimension 1); 1 of 3 rows are not finite", Set{bad, y},
			nil},
		{"infinity", "row 2 of the gallery embeddings holds +Inf (in dimension 0); 1 of 3 rows are not finite",
			Set{x, y}, &Set{inf, y}},
		{"dimensions", "the queries have 2 dimensions, but the gallery has 3", Set{x, y}, &Set{matrix.New(3, 3), y}},
		{"columns", "the queries have 1 columns of labels, but the gallery has 2", Set{x, y},
			&Set{x, [][]int64{y[0], y[0]}}},
	} {
		err := RankPositives(context.Background(), c.q, c.g, RankOptions{},
			func(RankedQuery) { t.Errorf("%s: visited", c.name) })
		if err == nil || err.Error() != c.want {
			t.Errorf("%s: error %q, want %q", c.name, err, c.want)
		}
	}
}

func TestPositivesStopsWhenCancelled(t *testing.T) {
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	x := matrix.New(3, 2)
	if err := RankPositives(ctx, Set{x, [][]int64{{1, 1, 2}}}, nil, RankOptions{},
		func(RankedQuery) {}); !errors.Is(err,
		context.Canceled) {
		t.Errorf("error %v, want %v", err, context.Canceled)
	}
}

func TestNearestAgreesWithSorting(t *testing.T) {
	for _, name := range slices.Sorted(maps.Keys(rowtest.Kinds)) {
		fill := rowtest.Kinds[name]
		rng := rand.New(rand.NewPCG(11, uint64(len(name))))
		for _, d := range []int{2, 33} {
			q, g := matrix.New(90, d), matrix.New(exact.Block+61, d)
			fill(rng, q)
			fill(rng, g)
			for _, gallery := range []*matrix.Dense{nil, g} {
				for _, k := range []int{1, 5, 89} {
					for _, memory := range []int64{0, 1} {
						nb, err := Nearest(context.Background(), q, gallery, k, RankOptions{Memory: memory})
						if err != nil {
							t.Fatal(err)
						}
						all := gallery
						if all == nil {
							all = q
						}
						for i := range q.Rows {
							want := nearestBySorting(q, all, i, gallery == nil)[:k]
							if got := nb.Row[i*k : (i+1)*k]; !slices.Equal(got, want) {
								t.Fatalf("%s, d %d, k %d, separate %v, memory %d: query %d finds %v, want %v", name, d,
									k, gallery != nil, memory, i, got, want)
							}
						}
					}
				}
			}
		}
	}
}

func nearestBySorting(q, g *matrix.Dense, i int, same bool) []int32 {
	var rows []int32
	dist := make([]float64, g.Rows)
	for j := range g.Rows {
		for k, v := range g.Row(j) {
			dist[j] += (float64(v) - float64(q.At(i, k))) * (float64(v) - float64(q.At(i, k)))
		}
		if !same || i != j {
			rows = append(rows, int32(j))
		}
	}
	sort.SliceStable(rows, func(a, b int) bool { return dist[rows[a]] < dist[rows[b]] })
	return rows
}

func TestNearestRejects(t *testing.T) {
	x := matrix.New(3, 2)
	for _, k := range []int{-1, 0, 3} {
		want := fmt.Sprintf("%d nearest of 2 items: must be 1 to 2", k)
		if _, err := Nearest(context.Background(), x, nil, k, RankOptions{}); err == nil || err.Error() != want {
			t.Errorf("k %d: error %v, want %s", k, err, want)
		}
	}
	if _, err := Nearest(context.Background(), x, matrix.New(3, 3), 1, RankOptions{}); err == nil {
		t.Error("different dimensions: no error")
	}
}
