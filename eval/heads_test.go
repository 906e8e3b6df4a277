package eval

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"runtime"
	"slices"
	"testing"

	"github.com/kindred-ml/kindred/internal/compute/exact"
	"github.com/kindred-ml/kindred/internal/compute/exact/quantized"
	"github.com/kindred-ml/kindred/internal/test/rowtest"
	"github.com/kindred-ml/kindred/matrix"
)

// labelings are ways to label n rows: what ranking by heads must get right.
var labelings = map[string]func(rng *rand.Rand, n int) []int64{
	"one class":  func(_ *rand.Rand, n int) []int64 { return make([]int64, n) },
	"ten":        func(rng *rand.Rand, n int) []int64 { return labelColumn(rng, n, 10) },
	"singletons": func(rng *rand.Rand, n int) []int64 { return labelColumn(rng, n, 20*n) },
	"one large, the others small": func(rng *rand.Rand, n int) []int64 {
		y := labelColumn(rng, n, n/3)
		for i := range n / 2 {
			y[i] = 5
		}
		return y
	},
}

// Ranking by heads and ordering large shares come to the same as counting items, which is compared with sorting:
// also where so many items tie that lists overflow. One case in seven ranks all queries, which
// are more than a block; the others rank some of them, in more than one group where lists are
// long and memory is short.
func TestHeads(t *testing.T) {
	const n, d = exact.Block + 333, 9
	for _, name := range slices.Sorted(maps.Keys(rowtest.Kinds)) {
		fill := rowtest.Kinds[name]
		rng := rand.New(rand.NewPCG(uint64(len(name)), 21))
		x, other := matrix.New(n, d), matrix.New(exact.Block+1, d)
		fill(rng, x)
		fill(rng, other)
		e := 0
		for _, labels := range slices.Sorted(maps.Keys(labelings)) {
			classes := labelings[labels]
			q := Set{X: x, Labels: [][]int64{classes(rng, n), labelColumn(rng, n, 50)}}
			g := Set{X: other, Labels: [][]int64{classes(rng, exact.Block+1), labelColumn(rng, exact.Block+1, 50)}}
			for _, depth := range []int{1, 20, 300} {
				opt := RankOptions{Depth: depth, Distance: Distance(e % 3), Memory: []int64{0, 1 << 20}[e%2]}
				gallery := []*Set{nil, &g}[e/2%2]
				if (e+len(name))%7 != 0 {
					opt.From, opt.To = exact.Block-93, exact.Block+50
				}
				e++
				opt.heads = choiceNo
				want := collect(t, q, gallery, opt)
				opt.deep = choiceYes
				compare(t, fmt.Sprintf("%s, %s, deep, %v, depth %d, separate %v", name, labels, opt.Distance, depth,
					gallery != nil), collect(t, q, gallery, opt), want)
				opt.deep = choiceNo
				opt.heads = choiceYes
				begin := func(engine string, begin quantized.Kind) {
					opt.tileKind = begin
					what := fmt.Sprintf("%s, %s, %s, %v, depth %d, separate %v", name, labels, engine,
						opt.Distance, depth, gallery != nil)
					compare(t, what, collect(t, q, gallery, opt), want)
				}
				if depth == 20 {
					eachEngine(t, begin)
				} else {
					begin("default", exact.KindAuto)
				}
			}
		}
	}
}

// Orders of whole rankings, of galleries that the first guess of a floor does not cover and that are packed span by
// span, are those of marks.
func TestDeep(t *testing.T) {
	const n, d = 5_000, 20
	for k, name := range slices.Sorted(maps.Keys(rowtest.Kinds)) {
		rng := rand.New(rand.NewPCG(uint64(k), 24))
		x := matrix.New(n, d)
		rowtest.Kinds[name](rng, x)
		q := Set{X: x, Labels: [][]int64{labelColumn(rng, n, 2), labelColumn(rng, n, 700)}}
		for e, depth := range []int{0, n / 2} {
			opt := RankOptions{Depth: depth, Distance: Distance((k + e) % 3), From: 700, To: 712, heads: choiceNo}
			want := collect(t, q, nil, opt)
			for _, memory := range []int64{1 << 20, 16 << 20} {
				opt.deep, opt.Memory = choiceYes, memory
				compare(t, fmt.Sprintf("%s, %v, depth %d, %d bytes", name, opt.Distance, depth, memory),
					collect(t, q, nil, opt), want)
			}
		}
	}
}

// Where queries have many positives among many items that matter, large shares are ordered.
func TestDeeply(t *testing.T) {
	for _, c := range []struct {
		rows, classes int
		opt           RankOptions
		want          bool
	}{
		{2000, 2, RankOptions{Depth: 1000}, true}, {2000, 2, RankOptions{}, true},
		{2000, 20, RankOptions{Depth: 100}, true},
		{2000, 2, RankOptions{Depth: 1000, FirstOnly: true}, false}, {2000, 2, RankOptions{Depth: 10}, false},
		{2000, 30, RankOptions{}, false}, {900, 2, RankOptions{}, false}, {2000, 2, RankOptions{Memory: 1000}, false},
		{2000, 2, RankOptions{heads: choiceYes}, false}, {2000, 2, RankOptions{deep: choiceNo}, false},
		{2000, 30, RankOptions{deep: choiceYes}, true},
	} {
		x, y := matrix.New(c.rows, 2), make([]int64, c.rows)
		for i := range y {
			y[i] = int64(i % c.classes)
		}
		c.opt.To = x.Rows
		q := Set{X: x, Labels: [][]int64{y}}
		if got := newProblem(q, q, exact.Self{Same: true}, c.opt).usesOrdering(); got != c.want {
			t.Errorf("%d rows, %d classes, %+v: deeply %v", c.rows, c.classes, c.opt, got)
		}
	}
}

// Ranks are the same on any number of cores.
func TestHeadsOnAnyCores(t *testing.T) {
	rng := rand.New(rand.NewPCG(22, 23))
	x := matrix.New(3*exact.Block, 50)
	rowtest.Kinds["duplicates"](rng, x)
	q := Set{X: x, Labels: [][]int64{labelColumn(rng, x.Rows, 12)}}
	var want [][]answer
	for _, procs := range []int{1, 2, 5} {
		old := runtime.GOMAXPROCS(procs)
		got := collect(t, q, nil, RankOptions{Depth: 100, heads: choiceYes})
		deep := collect(t, q, nil, RankOptions{Depth: 100, deep: choiceYes})
		runtime.GOMAXPROCS(old)
		if want == nil {
			want = got
		}
		compare(t, fmt.Sprintf("%d cores", procs), got, want)
		compare(t, fmt.Sprintf("deep, %d cores", procs), deep, want)
	}
}

// Where queries have many positives, they are ranked by heads.
func TestByHeads(t *testing.T) {
	x := matrix.New(1000, 2)
	for _, c := range []struct {
		classes int
		opt     RankOptions
		want    bool
	}{
		{2, RankOptions{Depth: 500}, true}, {2, RankOptions{}, false},
		{2, RankOptions{Depth: 500, FirstOnly: true}, false},
		{100, RankOptions{Depth: 10}, false}, {20, RankOptions{Depth: 100}, true}, {20, RankOptions{Depth: 300}, false},
		{2, RankOptions{Depth: 10}, false}, {2, RankOptions{Depth: 500, heads: choiceNo}, false},
	} {
		y := make([]int64, x.Rows)
		for i := range y {
			y[i] = int64(i % c.classes)
		}
		c.opt.To = x.Rows
		q := Set{X: x, Labels: [][]int64{y}}
		if got := newProblem(q, q, exact.Self{Same: true}, c.opt).usesHeads(); got != c.want {
			t.Errorf("%d classes, %+v: by heads %v", c.classes, c.opt, got)
		}
	}
}
