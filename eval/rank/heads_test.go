package rank

import (
	"context"
	"fmt"
	"maps"
	"math"
	"math/rand/v2"
	"runtime"
	"slices"
	"testing"

	"github.com/kindred-ml/kindred/internal/compute/coded"
	"github.com/kindred-ml/kindred/mat"
)

// classesOf are ways to label n rows: what ranking by heads must get right.
var classesOf = map[string]func(rng *rand.Rand, n int) []int64{
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

// Ranking by heads comes to the same as counting items, which is compared with sorting:
// also where so many items tie that lists overflow. One case in seven ranks all queries, which
// are more than a block; the others rank some of them, in more than one group where lists are
// long and memory is short.
func TestHeads(t *testing.T) {
	const n, d = block + 333, 9
	for _, name := range slices.Sorted(maps.Keys(kinds)) {
		fill := kinds[name]
		rng := rand.New(rand.NewPCG(uint64(len(name)), 21))
		x, other := mat.New(n, d), mat.New(block+1, d)
		fill(rng, x)
		fill(rng, other)
		e := 0
		for _, labels := range slices.Sorted(maps.Keys(classesOf)) {
			classes := classesOf[labels]
			q := Set{X: x, Labels: [][]int64{classes(rng, n), labelColumn(rng, n, 50)}}
			g := Set{X: other, Labels: [][]int64{classes(rng, block+1), labelColumn(rng, block+1, 50)}}
			for _, depth := range []int{1, 20, 300} {
				opt := Options{Depth: depth, Distance: Distance(e % 3), Memory: []int64{0, 1 << 20}[e%2]}
				gallery := []*Set{nil, &g}[e/2%2]
				if (e+len(name))%7 != 0 {
					opt.From, opt.To = block-93, block+50
				}
				e++
				opt.heads = never
				want := collect(t, q, gallery, opt)
				opt.heads = always
				begin := func(engine string, begin coded.Kind) {
					opt.begin = begin
					what := fmt.Sprintf("%s, %s, %s, %v, depth %d, separate %v", name, labels, engine,
						opt.Distance, depth, gallery != nil)
					compare(t, what, collect(t, q, gallery, opt), want)
				}
				if depth == 20 {
					eachEngine(t, begin)
				} else {
					begin("default", automatic)
				}
			}
		}
	}
}

// Ranks are the same on any number of cores.
func TestHeadsOnAnyCores(t *testing.T) {
	rng := rand.New(rand.NewPCG(22, 23))
	x := mat.New(3*block, 50)
	kinds["duplicates"](rng, x)
	q := Set{X: x, Labels: [][]int64{labelColumn(rng, x.Rows, 12)}}
	var want [][]answer
	for _, procs := range []int{1, 2, 5} {
		old := runtime.GOMAXPROCS(procs)
		got := collect(t, q, nil, Options{Depth: 100, heads: always})
		runtime.GOMAXPROCS(old)
		if want == nil {
			want = got
		}
		compare(t, fmt.Sprintf("%d cores", procs), got, want)
	}
}

// Where the first items of the order are nearer than its others, the guess of a floor is
// wrong, which is noticed.
func TestHeadsMendGuesses(t *testing.T) {
	const n = 5 * block
	x := mat.New(n, 1)
	for j := range n {
		x.Row(j)[0] = float32(j * j)
	}
	q := Set{X: x.RowRange(0, 1), Labels: [][]int64{{1}}}
	g := Set{X: x, Labels: [][]int64{make([]int64, n)}}
	for j := range n {
		g.Labels[0][j] = int64(j % 2)
	}
	const depth = 400
	p := newProblem(q, g, false, Options{Depth: depth, To: 1})
	r := newHeadRunner(p, newSpace(p.scorer), 1<<20)
	for j := range r.order {
		r.order[j] = int32(j)
	}
	r.progress = func(float64) {}
	h := header{nearness: newNearness(r.sp)}
	list := head{depth: depth, near: make([]float32, 0, roomFor(depth)), row: make([]int32, 0, roomFor(depth))}
	list.begin()
	for from := 0; from < n; from += block {
		h.takeAll(&list, 0, r.order[from:from+block])
		h.guess(&list, float64(from+block)/n)
	}
	if h.close(&list) {
		t.Fatalf("%d items are taken for the first %d", len(list.near), depth)
	}
	got, err := r.run(context.Background(), 0, 1)
	if err != nil {
		t.Fatal(err)
	}
	var want []int32
	for rank := int32(2); rank <= depth; rank += 2 {
		want = append(want, rank)
	}
	if !slices.Equal(got[0].ranks, want) {
		t.Errorf("ranks %v, want %v", got[0].ranks, want)
	}
}

// Where queries have many positives, they are ranked by heads.
func TestByHeads(t *testing.T) {
	x := mat.New(1000, 2)
	for _, c := range []struct {
		classes int
		opt     Options
		want    bool
	}{
		{2, Options{Depth: 500}, true}, {2, Options{}, false}, {2, Options{Depth: 500, First: true}, false},
		{100, Options{Depth: 10}, false}, {20, Options{Depth: 100}, true}, {20, Options{Depth: 300}, false},
		{2, Options{Depth: 10}, false}, {2, Options{Depth: 500, heads: never}, false},
	} {
		y := make([]int64, x.Rows)
		for i := range y {
			y[i] = int64(i % c.classes)
		}
		c.opt.To = x.Rows
		q := Set{X: x, Labels: [][]int64{y}}
		if got := newProblem(q, q, true, c.opt).byHeads(); got != c.want {
			t.Errorf("%d classes, %+v: by heads %v", c.classes, c.opt, got)
		}
	}
}

func TestNth(t *testing.T) {
	rng := rand.New(rand.NewPCG(24, 25))
	var h header
	for n := 1; n < 200; n++ {
		v := make([]float32, n, n+16)
		for i := range v {
			v[i] = float32(rng.IntN(60)-30) * float32(math.Exp(float64(rng.IntN(40)-20)))
		}
		sorted := slices.Clone(v)
		slices.Sort(sorted)
		for k := 1; k <= n; k++ {
			got := h.nth(v, k, -math.MaxFloat32)
			above := 0
			for _, s := range v {
				if s > got {
					above++
				}
			}
			// No more than k but for ties of the k-th.
			if kth := sorted[n-k]; got >= kth || above < k || above > k && math.Nextafter32(got, kth) != kth {
				t.Fatalf("number %d of %d: %g, %d are above; it is %g", k, n, got, above, kth)
			}
		}
	}
}

func TestSorter(t *testing.T) {
	rng := rand.New(rand.NewPCG(26, 27))
	var s sorter
	for _, spread := range []float64{0, 1, 60} { // all equal, even, most in one bucket
		for n := range 300 {
			near, rows := make([]float32, n), make([]int32, n)
			want := make([]item, n)
			for i := range near {
				near[i], rows[i] = -float32(math.Exp(spread*rng.Float64())), int32(i)
				want[i] = item{score: float64(near[i]), row: rows[i]}
			}
			slices.SortFunc(want, compareItems)
			got := s.sort(near, rows)
			if !slices.EqualFunc(got, want, func(a, b item) bool { return a.score == b.score }) {
				t.Fatalf("spread %g: %v, want %v", spread, got, want)
			}
			seen := make([]bool, n)
			for _, it := range got {
				if seen[it.row] || float64(near[it.row]) != it.score {
					t.Fatalf("spread %g: row %d comes twice, or with the score of another", spread, it.row)
				}
				seen[it.row] = true
			}
		}
	}
}
