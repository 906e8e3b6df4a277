package rerank

import (
	"math"
	"slices"
	"testing"

	"github.com/kindred-ml/kindred/eval"
	"github.com/kindred-ml/kindred/internal/base/budget"
	"github.com/kindred-ml/kindred/internal/test/budgettest"
	"github.com/kindred-ml/kindred/matrix"
)

type set map[int]bool

// papers is KReciprocal by the formulas of its comment, with sets. Node 0 is the query.
type papers struct {
	s     [][]float64
	order [][]int // of each node: itself, then the others by s and number
}

func newPapers(c *Candidates) papers {
	rows := [][]float32{c.Query}
	for i := range c.X.Rows {
		rows = append(rows, c.X.Row(i))
	}
	s := make([][]float64, len(rows))
	for i := range s {
		s[i] = make([]float64, len(rows))
		for j := range s[i] {
			v := c.apart(rows[min(i, j)], rows[max(i, j)])
			if c.By == eval.Euclidean {
				v *= v
			}
			s[i][j] = v
		}
	}
	order := make([][]int, len(rows))
	for i := range order {
		all := Order(s[i])
		at := slices.Index(all, i)
		order[i] = append([]int{i}, slices.Delete(all, at, at+1)...)
	}
	return papers{s, order}
}

// d returns the relative distance of two nodes.
func (p papers) d(i, j int) float64 {
	low, top := slices.Min(p.s[i]), slices.Max(p.s[i])
	if low == top {
		return 0
	}
	return (p.s[i][j] - low) / (top - low)
}

// nearest returns N(i, k).
func (p papers) nearest(i, k int) set {
	out := set{}
	for _, j := range p.order[i][:min(k+1, len(p.s))] {
		out[j] = true
	}
	return out
}

// reciprocal returns R(i, k).
func (p papers) reciprocal(i, k int) set {
	out := set{}
	for j := range p.nearest(i, k) {
		if slices.Contains(p.order[j][:min(k+1, len(p.s))], i) {
			out[j] = true
		}
	}
	return out
}

// v returns V_i.
func (p papers) v(i, k1 int) []float64 {
	half := int(math.RoundToEven(float64(k1) / 2))
	own, all := p.reciprocal(i, k1), set{}
	for j := range own {
		all[j] = true
		further, common := p.reciprocal(j, half), 0
		for h := range further {
			if own[h] {
				common++
			}
		}
		if float64(common) > 2./3*float64(len(further)) {
			for h := range further {
				all[h] = true
			}
		}
	}
	out, sum := make([]float64, len(p.s)), 0.0
	for j := range out {
		if all[j] {
			out[j] = math.Exp(-p.d(i, j))
			sum += out[j]
		}
	}
	for j := range out {
		out[j] /= sum
	}
	return out
}

func (p papers) distances(k1, k2 int, lambda float64) []float64 {
	n := len(p.s)
	k1, k2 = min(k1, n-1), min(k2, n) // as the numbers of neighbours that there are
	v, w := make([][]float64, n), make([][]float64, n)
	for i := range v {
		v[i] = p.v(i, k1)
	}
	for i := range w {
		w[i] = make([]float64, n)
		near := p.nearest(i, k2-1)
		for j := range near {
			for h := range n {
				w[i][h] += v[j][h] / float64(len(near))
			}
		}
	}
	out := make([]float64, n-1)
	for i := range out {
		low, high := 0.0, 0.0
		for h := range n {
			low += min(w[0][h], w[i+1][h])
			high += max(w[0][h], w[i+1][h])
		}
		out[i] = (1-lambda)*(1-low/high) + lambda*p.d(0, i+1)
	}
	return out
}

func TestKReciprocal(t *testing.T) {
	forEachCase(t, func(t *testing.T, c *Candidates) {
		p := newPapers(c)
		for _, k := range [][2]int{{1, 1}, {2, 3}, {5, 1}, {7, 4}, {100, 50}} {
			for _, lambda := range []float64{0, Lambda, 1} {
				got, err := c.KReciprocal(t.Context(), k[0], k[1], lambda)
				if err != nil {
					t.Fatal(err)
				}
				want := p.distances(k[0], k[1], lambda)
				for i, v := range got {
					if !(math.Abs(v-want[i]) <= 3e-6) || v < 0 || v > 1 {
						t.Errorf("k %v, lambda %g: distance %d is %g, want %g", k, lambda, i, v, want[i])
					}
				}
				if len(got) != c.X.Rows {
					t.Errorf("%d distances for %d candidates", len(got), c.X.Rows)
				}
			}
		}
	})
}

// lattice returns n points of d numbers, each a multiple of 1/8, by a linear congruence.
func lattice(n, d, x int) *matrix.Dense {
	out := matrix.New(n, d)
	for i := range out.Data {
		x = (1103515245*x + 12345) % (1 << 31)
		out.Data[i] = float32((x>>16)%1000) / 8
	}
	return out
}

// The values are those of a program in numpy 1.24 that follows the authors' (zhunzhong07/person-re-ranking), in
// float64 and with a stable argsort. Candidates are in the order of their Euclidean distance. For cosine the rows
// were scaled to length 1.
func TestKReciprocalGolden(t *testing.T) {
	small := found(lattice(13, 3, 7), eval.Euclidean)
	large := found(lattice(201, 16, 11), eval.Euclidean)
	for _, golden := range []struct {
		c      *Candidates
		by     eval.Distance
		k1, k2 int
		want   []float64
		sum    float64 // of all
	}{
		{small, eval.Euclidean, 5, 3, []float64{0.00781180902741442, 0.0609649226448278, 0.513324379904015,
			0.661416626442773, 0.775890250119583, 0.803822322907613, 0.855128679743674, 0.885014140752144,
			0.906781682819064, 0.918400585789969, 0.950816576771677, 0.960867176909824}, 8.300239153832577},
		{small, eval.Cosine, 5, 3, []float64{0.00663810254943062, 0.182254198855793, 0.559564953395326,
			0.544105434460641, 0.448572308061835, 0.648370479946119, 0.713601687610503, 0.283617944053728,
			0.810520529067228, 0.385442437949466, 0.753471742169437, 0.831446443111699}, 6.167606261231205},
		{large, eval.Euclidean, K1, K2, []float64{0.469735663845812, 0.513561067777145, 0.509867615183233,
			0.587625717382407}, 153.819856525271},
		{large, eval.Cosine, K1, K2, []float64{0.362267171126489, 0.614909684160917, 0.485806647785307,
			0.712205651973817}, 153.154479865464},
	} {
		c := *golden.c
		c.By = golden.by
		got, err := c.KReciprocal(t.Context(), golden.k1, golden.k2, 0.3)
		if err != nil {
			t.Fatal(err)
		}
		checkNear(t, got[:len(golden.want)], golden.want, 1e-6)
		sum := 0.0
		for _, v := range got {
			sum += v
		}
		checkNear(t, []float64{sum}, []float64{golden.sum}, 1e-6)
	}
}

// Scaled vectors give the same result, and lambda 1 the order of the search.
func TestKReciprocalScale(t *testing.T) {
	for _, by := range distances {
		c := draw("normal", 50, by)
		want, err := c.KReciprocal(t.Context(), 8, 3, Lambda)
		if err != nil {
			t.Fatal(err)
		}
		x := matrix.New(c.X.Rows+1, c.X.Cols)
		for i := range x.Rows {
			row := c.Query
			if i > 0 {
				row = c.X.Row(i - 1)
			}
			for k, v := range row {
				x.Row(i)[k] = 4 * v
			}
		}
		got, err := found(x, by).KReciprocal(t.Context(), 8, 3, Lambda)
		if err != nil {
			t.Fatal(err)
		}
		checkNear(t, got, want, 1e-6)
		if got, _ = c.KReciprocal(t.Context(), 8, 3, 1); !slices.IsSorted(Order(got)) {
			t.Errorf("%s: with lambda 1 the order is %v", by, Order(got))
		}
	}
}

// Equal vectors are at distance 0, by cosine also parallel ones and those of zeros, which are all as near.
func TestKReciprocalOfCopies(t *testing.T) {
	for _, by := range distances {
		for _, x := range [][]float32{{1, 2, 1, 2, 1, 2, 1, 2}, {0, 0, 0, 0, 0, 0, 0, 0}, {1, 2, 3, 6, .1, .2, 7, 14}} {
			if by != eval.Cosine && x[3] == 6 {
				continue
			}
			c := &Candidates{Query: x[:2], X: matrix.FromSlice(3, 2, x[2:]), By: by}
			got, err := c.KReciprocal(t.Context(), 3, 4, Lambda)
			if err != nil {
				t.Fatal(err)
			}
			checkNear(t, got, []float64{0, 0, 0}, 1e-6)
		}
	}
}

func TestKReciprocalMemory(t *testing.T) {
	budgettest.Limit(t, 4*61*61-1)
	_, err := draw("normal", 60, eval.Cosine).KReciprocal(t.Context(), K1, K2, Lambda)
	if _, ok := err.(*budget.Error); !ok {
		t.Errorf("error %v, want one of package budget", err)
	}
}

func BenchmarkKReciprocal(b *testing.B) {
	x := lattice(1001, 768, 3)
	c := found(x, eval.Cosine)
	for b.Loop() {
		if _, err := c.KReciprocal(b.Context(), K1, K2, Lambda); err != nil {
			b.Fatal(err)
		}
	}
}
