package exact

import (
	"context"
	"fmt"
	"maps"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/kindred-ml/kindred/internal/compute/exact/quantized"
	"github.com/kindred-ml/kindred/internal/kernel/dot16"
	"github.com/kindred-ml/kindred/internal/kernel/dot8"
	"github.com/kindred-ml/kindred/internal/test/rowtest"
	"github.com/kindred-ml/kindred/matrix"
)

// crowded are rows of a few tight groups far from each other: 8 bits cannot tell the
// rows of a group apart.
func crowded(n, d, groups int) *matrix.Dense {
	rng := rand.New(rand.NewPCG(11, 12))
	x := matrix.New(n, d)
	for i := range n {
		for j := range d {
			x.Row(i)[j] = float32(math.Cos(float64((i%groups+1)*(j+1))) + 0.1*rng.NormFloat64())
		}
	}
	return x
}

func TestEightBitsWhereTheyAreEnough(t *testing.T) {
	if !dot8.IsFast() {
		t.Skip("no fast products of 8-bit integers here")
	}
	const n, d, memory = 8*block - 3, 48, 256 << 20
	ctx := context.Background()
	for _, c := range []struct {
		name        string
		x           *matrix.Dense
		begin, want quantized.Kind
	}{
		{"crowded", crowded(n, d, 3), KindAuto, quantized.Bits16},
		{"crowded", crowded(n, d, 3), quantized.Bits8, quantized.Bits16},
		{"spread", crowded(n, d, n), KindAuto, quantized.Bits8},
	} {
		sp := NewSpace(c.x, c.x, Euclidean)
		r := NewRunner(sp, Self{Same: true}, memory, c.begin)
		const k = 3
		l := newShortlists(sp, k, 0, n)
		if err := r.Run(ctx, l, 0, n); err != nil {
			t.Fatal(err)
		}
		if r.kept != c.want {
			t.Errorf("%s: ended with %v, want %v", c.name, r.kept, c.want)
		}
		rows, values, err := TopK(ctx, c.x, c.x, Self{Same: true}, k,
			Options{Memory: memory, FirstKind: quantized.Bits16})
		if err != nil {
			t.Fatal(err)
		}
		gotRows, gotValues, err := TopK(ctx, c.x, c.x, Self{Same: true}, k, Options{Memory: memory})
		if err != nil || !slices.Equal(gotRows, rows) || !slices.Equal(gotValues, values) {
			t.Errorf("%s: differs from 16 bits (%v)", c.name, err)
		}
	}
}

// A score in float32 is within its band of the exact one, and so is what 8 and 16 bits
// make of it.
func TestBandsHold(t *testing.T) {
	rng := rand.New(rand.NewPCG(13, 14))
	for _, name := range slices.Sorted(maps.Keys(rowtest.Kinds)) {
		fill := rowtest.Kinds[name]
		for _, d := range []int{1, 7, 130} {
			x := matrix.New(60, d)
			fill(rng, x)
			for _, dist := range []Distance{Euclidean, Cosine, Dot} {
				sp := NewSpace(x, x, dist)
				near := newNearScorer(sp)
				for _, kept := range []quantized.Kind{quantized.Float32, quantized.Bits16, quantized.Bits8} {
					what := fmt.Sprintf("%s, d %d, %v, precision %d", name, d, dist, kept)
					rows, cols := sp.querySide(0, 60, kept), sp.itemSide(nil, 0, 60, kept)
					var tile quantized.Tile
					tile.Begin(rows.rows, 0, 60, cols.cols, 0, 60)
					scores, mask := make([]float32, 64), make([]uint32, 4)
					all := dot16.Columns{Scale: cols.scale[:64], Half: cols.half[:64], Lo: make([]float32, 64)}
					for p := 0; p < 60; p += kept.Panel() {
						tile.Multiply(p)
						for i := p; i < min(p+kept.Panel(), 60); i++ {
							band := rows.band(i, cols.blocks[0], sp)
							tile.Filter(i, scores, mask, dot16.Row{Scale: rows.scale[i]}, &all)
							for j := range 60 {
								v := float64(scores[j]) - float64(rows.half[i])
								if e := math.Abs(v - sp.exact(i, j)); !(e <= band) {
									t.Fatalf("%s: %d, %d off by %g, band %g", what, i, j, e, band)
								}
								s := near.score(i, j)
								if e := math.Abs(s - sp.exact(i, j)); !(e <= near.band(s)) {
									t.Fatalf("%s: %d, %d in float32 off by %g, band %g", what, i, j, e, near.band(s))
								}
							}
						}
					}
				}
			}
		}
	}
}
