package eval

import (
	"cmp"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/kindred-ml/kindred/internal/compute/cosine"
	"github.com/kindred-ml/kindred/internal/compute/exact/quantized"
	"github.com/kindred-ml/kindred/matrix"
)

// drawScaled makes rows of few directions. Copies of a direction have other lengths, and some
// directions are others with their coordinates in another order, so that cosines with a
// constant query are equal though no row is.
func drawScaled(rng *rand.Rand, n, d int) *matrix.Dense {
	x := matrix.New(n, d)
	var directions [][]float32
	for range 4 {
		u := make([]float32, d)
		for j := range u {
			u[j] = float32(rng.IntN(1<<12)-1<<11) / 8
		}
		v := slices.Clone(u)
		rng.Shuffle(d, func(a, b int) { v[a], v[b] = v[b], v[a] })
		directions = append(directions, u, v)
	}
	for i := range n {
		f := float32(2*rng.IntN(64) + 1)
		for j, v := range directions[rng.IntN(len(directions))] {
			x.Row(i)[j] = f * v
		}
	}
	for j := range d {
		x.Row(0)[j] = 3
	}
	return x
}

// rankByCosine ranks by sorting cosines that are rounded once.
func rankByCosine(x *matrix.Dense, labels []int64) (rows [][]int32, ranks [][]answer) {
	for i := range x.Rows {
		cosines := make([]float64, x.Rows)
		var order []int32
		for j := range x.Rows {
			if cosines[j] = cosine.Similarity(x.Row(i), x.Row(j)); j != i {
				order = append(order, int32(j))
			}
		}
		slices.SortStableFunc(order, func(a, b int32) int { return cmp.Compare(cosines[b], cosines[a]) })
		var a answer
		for k, j := range order {
			if labels[j] == labels[i] {
				a.r++
				a.ranks = append(a.ranks, int32(k+1))
			}
		}
		rows, ranks = append(rows, order), append(ranks, []answer{a})
	}
	return rows, ranks
}

// Ties of cosines are in the order of the rows, whatever the lengths of the rows and however rankings
// are computed.
func TestEqualCosinesGoByRow(t *testing.T) {
	rng := rand.New(rand.NewPCG(31, 32))
	for _, d := range []int{2, 3, 17, 40} {
		x := drawScaled(rng, 90, d)
		labels := make([]int64, x.Rows)
		for i := range labels {
			labels[i] = int64(rng.IntN(5))
		}
		rows, want := rankByCosine(x, labels)
		set := Set{x, [][]int64{labels}}
		for _, opt := range []RankOptions{{}, {Depth: 7}, {FirstOnly: true}, {heads: choiceYes},
			{heads: choiceYes, Depth: 5},
			{tileKind: quantized.Bits8}, {tileKind: quantized.Float32}} {
			opt.Distance = Cosine
			got := collect(t, set, nil, opt)
			for i, columns := range cutQueries(want, opt) {
				if !slices.Equal(got[i][0].ranks, columns[0].ranks) {
					t.Fatalf("d %d, %+v: query %d has ranks %v, want %v", d, opt, i, got[i][0].ranks, columns[0].ranks)
				}
			}
		}
		for _, k := range []int{1, 9, 60} {
			nb, err := Nearest(t.Context(), x, nil, k, RankOptions{Distance: Cosine})
			if err != nil {
				t.Fatal(err)
			}
			for i := range x.Rows {
				if got := nb.Row[i*k : (i+1)*k]; !slices.Equal(got, rows[i][:k]) {
					t.Fatalf("d %d: query %d has nearest %v, want %v", d, i, got, rows[i][:k])
				}
				if v := reverse(nb.Value[i*k : (i+1)*k]); v[k-1] > 1 || !slices.IsSorted(v) {
					t.Fatalf("d %d: query %d has cosines %v", d, i, v)
				}
			}
		}
	}
}

func reverse(v []float64) []float64 {
	v = slices.Clone(v)
	slices.Reverse(v)
	return v
}

// A query that is parallel to all rows finds the first of them.
func TestParallelRows(t *testing.T) {
	base := []float32{1, -3.125, -1.125}
	g, q := matrix.New(8, 3), matrix.New(1, 3)
	for j, v := range base {
		q.Row(0)[j] = 17 * v
		for i := range g.Rows {
			g.Row(i)[j] = float32(2*i+1) * v
		}
	}
	nb, err := Nearest(t.Context(), q, g, 8, RankOptions{Distance: Cosine})
	if err != nil {
		t.Fatal(err)
	}
	between := DistanceFunc(q, g, Cosine)
	for i, row := range nb.Row {
		if int(row) != i || nb.Value[i] != 1 || between(0, i) != 0 {
			t.Errorf("place %d: row %d, cosine %v, distance %v", i, row, nb.Value[i], between(0, i))
		}
	}
}

// Distances between rows are 0 for parallel ones, never less, and equal cosines give the
// distance that exact integers give, to 20 bits rounded up.
func TestBetweenCosines(t *testing.T) {
	rng := rand.New(rand.NewPCG(33, 34))
	up := func(v float64) uint64 { return (math.Float64bits(v) + 1<<33 - 1) >> 33 }
	for _, d := range []int{2, 19, 64} {
		x := drawScaled(rng, 60, d)
		x.Row(1)[0] = x.Row(1)[0] * (1 + 0x1p-22) // almost parallel to others
		for i := 2; i < 12; i++ {
			clear(x.Row(i))
			x.Row(i)[0], x.Row(i)[1] = float32(i%2), float32(i%3) // cosines such as 0 and 1
		}
		between := DistanceFunc(x, x, Cosine)
		for i := range x.Rows {
			for j := range x.Rows {
				got, want := between(i, j), 1-cosine.Similarity(x.Row(i), x.Row(j))
				if !(got >= 0) || up(got) != up(want) {
					t.Fatalf("d %d: distance of %d and %d is %v, want %v", d, i, j, got, want)
				}
			}
		}
	}
}
