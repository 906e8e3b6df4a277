package rank

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/kindred-ml/kindred/internal/kernel/dot8"
	"github.com/kindred-ml/kindred/mat"
)

// crowded are rows of a few tight groups far from each other: 8 bits cannot tell the
// rows of a group apart.
func crowded(n, d, groups int) *mat.Dense {
	rng := rand.New(rand.NewPCG(11, 12))
	x := mat.New(n, d)
	for i := range n {
		for j := range d {
			x.Row(i)[j] = float32(math.Cos(float64((i%groups+1)*(j+1))) + 0.1*rng.NormFloat64())
		}
	}
	return x
}

func TestEightBitsWhereTheyAreEnough(t *testing.T) {
	if !dot8.Fast() {
		t.Skip("no fast products of 8-bit integers here")
	}
	const n, d = 8*block - 3, 48
	ctx := context.Background()
	for _, c := range []struct {
		name        string
		x           *mat.Dense
		begin, want precision
	}{
		{"crowded", crowded(n, d, 3), automatic, int16s},
		{"crowded", crowded(n, d, 3), int8s, int16s},
		{"spread", crowded(n, d, n), automatic, int8s},
	} {
		sp := newSpace(newScorer(c.x, c.x, Euclidean))
		r := newRunner(sp, true, defaultMemory, c.begin)
		const k = 3
		l := newShortlists(k, n)
		if err := r.run(ctx, l, 0, n); err != nil {
			t.Fatal(err)
		}
		if r.kept != c.want {
			t.Errorf("%s: ended with %v, want %v", c.name, r.kept, c.want)
		}
		want, err := Nearest(ctx, c.x, nil, k, Options{begin: int16s})
		if err != nil {
			t.Fatal(err)
		}
		got, err := Nearest(ctx, c.x, nil, k, Options{})
		if err != nil || !slices.Equal(got.Row, want.Row) || !slices.Equal(got.Value, want.Value) {
			t.Errorf("%s: differs from 16 bits (%v)", c.name, err)
		}
	}
}

// A score in float32 is within its band of the exact one, and so is what 8 and 16 bits
// make of it.
func TestBandsHold(t *testing.T) {
	rng := rand.New(rand.NewPCG(13, 14))
	for name, fill := range kinds {
		for _, d := range []int{1, 7, 130} {
			x := mat.New(60, d)
			fill(rng, x)
			for _, dist := range []Distance{Euclidean, Cosine, Dot} {
				sp := newSpace(newScorer(x, x, dist))
				for _, kept := range []precision{float32s, int16s, int8s} {
					what := fmt.Sprintf("%s, d %d, %v, precision %d", name, d, dist, kept)
					rows, cols := sp.pack(x, sp.qInv, 0, 60, false, kept), sp.pack(x, sp.gInv, 0, 60, true, kept)
					k := tileTask{r: newRunner(sp, true, 1, kept), rows: rows, cols: cols}
					b := newBuffer()
					if kept == float32s {
						k.product(b, 0, 60, 0, 60)
					}
					for p := 0; p < 60; p += kept.panel() {
						if kept != float32s {
							k.strip(b, p, 0, 64)
						}
						for i := p; i < min(p+kept.panel(), 60); i++ {
							band := rows.band(i, cols.blocks[0], sp)
							for j := range 60 {
								v := float64(0)
								if kept == float32s {
									v = float64(b.dense.Row(i)[j])
								} else {
									v = float64(b.products[(i-p)*64+j])
									v *= float64(rows.scale[i]) * float64(cols.scale[j])
								}
								v -= float64(rows.half[i]) + float64(cols.half[j])
								if e := math.Abs(v - sp.exact(i, j)); !(e <= band) {
									t.Fatalf("%s: %d, %d off by %g, band %g", what, i, j, e, band)
								}
								s, near := sp.near(i, j)
								if e := math.Abs(s - sp.exact(i, j)); !(e <= near) {
									t.Fatalf("%s: %d, %d in float32 off by %g, band %g", what, i, j, e, near)
								}
							}
						}
					}
				}
			}
		}
	}
}
