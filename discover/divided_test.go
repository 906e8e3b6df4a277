package discover

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/kindred-ml/kindred/mat"
)

// A group of four counts, one of three does not: what it falls into says nothing of gaps.
func TestDividedLeast(t *testing.T) {
	for small, want := range map[int]bool{3: false, 4: true, 5: true} {
		known := mat.New(12, 1)
		for i := range known.Data {
			known.Data[i] = float32(i) / 10
			if i < small {
				known.Data[i] += 100
			}
		}
		merges, err := ward(t.Context(), squared(known))
		if err != nil {
			t.Fatal(err)
		}
		asked := mat.Of(3, 1, []float32{0.5, 100.2, 50})
		out := divided(known, merges, 2, asked)
		if got := len(out.places[0])+len(out.places[1]) > 0; got != want || out.first {
			t.Errorf("%d of 12 apart: %+v, want places %v and the smaller part at the second end", small, out, want)
		}
	}
}

// The mean of the silhouettes is that of the draws, without the rows' own, and P is the
// share of all of them that are as surprising as the rows.
func TestCloudOfItsDraws(t *testing.T) {
	y, _ := clouds(rand.New(rand.NewPCG(4, 21)), 2, 8, 2, 3)
	const draws = 4
	opt := Options{Draws: draws, Most: 5}
	most := opt.most(y.Rows)
	got, err := newCloud(t.Context(), y, opt, rand.New(rand.NewPCG(9, 9)))
	if err != nil {
		t.Fatal(err)
	}
	rng := rand.New(rand.NewPCG(9, 9))
	all := make([][]float64, draws+1)
	for i := range all {
		of := y
		if i > 0 {
			of = normalLike(centred(y), rng)
		}
		if all[i], err = curve(t.Context(), of, most); err != nil {
			t.Fatal(err)
		}
	}
	top := make([]float64, len(all))
	for k := 2; k <= most; k++ {
		var mean, all0, square float64
		for i, s := range all {
			mean += s[k] / (draws + 1)
			if i > 0 {
				all0 += s[k] / draws
			}
		}
		for _, s := range all {
			square += (s[k] - mean) * (s[k] - mean) / (draws + 1)
		}
		about(t, "mean of the draws", got.mean[k], all0, 1e-9)
		for i, s := range all {
			by := (s[k] - mean) / (math.Sqrt(square) + slack)
			if k == 2 || by > top[i] {
				top[i] = by
			}
		}
	}
	p := 0.0
	for _, v := range top {
		if v >= top[0] {
			p += 1. / (draws + 1)
		}
	}
	about(t, "p", got.p, p, 1e-9)
}

// A class that has gaps but too few rows left for a cloud is of one kind: its P is 1.
func TestNoCloud(t *testing.T) {
	x := mat.New(8, 1)
	for i := range x.Data {
		x.Data[i] = float32(i / 4 * 100)
	}
	c := &judged{label: 3, sample: seq(7), dim: flat}
	c.gaps[0].side = 500 // none in the middle
	opt := Options{Level: 0.01, Draws: 3, Most: 2, Rows: 100}
	if err := (&set{}).compare(t.Context(), x, []*judged{c}, &opt); err != nil || c.p != 1 || c.cloud != nil {
		t.Errorf("P %g, %+v, %v", c.p, c.cloud, err)
	}
}

// Normal clouds are drawn 48 times for all classes together, but at least 4 times for each,
// and only where no class is so flat that slices of one cloud look like several.
func TestDrawsOfAllTogether(t *testing.T) {
	rng := rand.New(rand.NewPCG(6, 6))
	opt := Options{Level: 0.01, Seed: 5}
	for _, c := range [][2]int{{1, 48}, {8, 6}, {12, 4}, {16, 4}} {
		n, draws := c[0], c[1]
		x := mat.New(20*n, 5)
		for i := range x.Data {
			x.Data[i] = float32(rng.NormFloat64())
		}
		for _, dim := range []float64{flat, math.Nextafter(flat, 0)} {
			var classes []*judged
			for k := range n {
				c := &judged{label: int64(k), dim: flat + 1}
				for i := range 20 {
					c.sample = append(c.sample, 20*k+i)
				}
				classes = append(classes, c)
			}
			classes[n-1].dim = dim
			if err := (&set{}).compare(t.Context(), x, classes, &opt); err != nil {
				t.Fatal(err)
			}
			for _, c := range classes {
				var want gaps
				if dim >= flat {
					var err error
					own := rand.New(rand.NewPCG(opt.Seed, uint64(c.label)))
					if want, err = countNormal(t.Context(), gather(x, c.sample), draws, own); err != nil {
						t.Fatal(err)
					}
				}
				if c.normal != want || c.p != 1 {
					t.Fatalf("class %d of %d, dimension %g: %v, want %v; P %g", c.label, n, dim, c.normal, want, c.p)
				}
			}
		}
	}
}
