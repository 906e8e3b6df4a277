package clean

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/kindred-ml/kindred/matrix"
)

// drawHeavyTailed draws classes of items whose deviations are those of Student's t with three degrees.
func drawHeavyTailed(rng *rand.Rand, k, n, d int, apart float64) (*matrix.Dense, []int64) {
	x, y := matrix.New(k*n, d), make([]int64, k*n)
	for c := range k {
		centre := make([]float64, d)
		for j := range centre {
			centre[j] = apart * rng.NormFloat64()
		}
		for i := range n {
			y[c*n+i] = int64(10 * c)
			var chi float64
			for range 3 {
				v := rng.NormFloat64()
				chi += v * v / 3
			}
			for j := range centre {
				x.Row(c*n + i)[j] = float32(centre[j] + rng.NormFloat64()/math.Sqrt(chi))
			}
		}
	}
	return x, y
}

// A score of 0.9 or more is right nine times in ten, in tails and overlaps as well: right labels of
// items that lie among others were suspected with 1.00, all 53 of such a set.
func TestSureScoresAreRight(t *testing.T) {
	for _, c := range []struct {
		name  string
		every int // one of so many labels is wrong
		draw  func(rng *rand.Rand) (*matrix.Dense, []int64)
		least float64 // of the wrong ones, to be found
	}{
		{"tails", 1 << 40, func(rng *rand.Rand) (*matrix.Dense,
			[]int64) {
			return drawHeavyTailed(rng, 10, 60, 12, 1.5)
		}, 0},
		{"tails, 1 of 20", 20, func(rng *rand.Rand) (*matrix.Dense,
			[]int64) {
			return drawHeavyTailed(rng, 10, 60, 12, 1.5)
		}, 0.3},
		{"tails in four dimensions, 1 of 20", 20,
			func(rng *rand.Rand) (*matrix.Dense, []int64) { return drawHeavyTailed(rng, 10, 60, 4, 2) }, 0},
		{"look-alikes", 1 << 40, func(rng *rand.Rand) (*matrix.Dense,
			[]int64) {
			return drawPairs(rng, 5, 60, 4, 1.2)
		}, 0},
		{"look-alikes, 1 of 20", 20,
			func(rng *rand.Rand) (*matrix.Dense, []int64) { return drawPairs(rng, 5, 60, 4, 1.2) }, 0.5},
	} {
		var sure, right, alarmed, there int
		const draws = 3
		for k := range uint64(draws) {
			rng := rand.New(rand.NewPCG(k, 261))
			x, y := c.draw(rng)
			noisy, wrong := corruptLabels(y, c.every, 10, rng)
			before := sure - right
			j := findErrors(t, noisy, Fold{X: x})
			for i, s := range j.Score {
				if wrong[i] {
					there++
				}
				if s >= 0.9 {
					if sure++; wrong[i] {
						right++
					}
				}
			}
			if sure-right > before {
				alarmed++
			}
		}
		t.Logf("%s: of %d wrong labels %d among %d suspects; %d of %d draws with a right one", c.name, there, right,
			sure, alarmed, draws)
		switch {
		case there == 0 && alarmed > 1:
			t.Errorf("%s: suspects in %d of %d draws", c.name, alarmed, draws)
		case there > 0 && (float64(right) < 0.85*float64(sure) || float64(right) < c.least*float64(there)):
			t.Errorf("%s: %d right of %d, and %d wrong", c.name, right, sure, there)
		}
	}
}

// Of a fifth of wrong labels among classes with tails, most have a score of 0.9 or more. With shares
// that lay farther apart, 0.15 was the nearest likely one, and 0.70 of them had.
func TestManyWrongLabels(t *testing.T) {
	const k, n = 60, 50
	var there, sure, right int
	var share float64
	for s := range uint64(2) {
		rng := rand.New(rand.NewPCG(s, 263))
		x, y := drawHeavyTailed(rng, k, n, 12, 2)
		noisy, wrong := corruptLabels(y, 5, k, rng)
		j := findErrors(t, noisy, Fold{X: x})
		share += j.WrongShare * k * n
		for i, p := range j.Score {
			if wrong[i] {
				there++
			}
			if p >= 0.9 {
				if sure++; wrong[i] {
					right++
				}
			}
		}
	}
	t.Logf("of %d wrong labels %d among %d suspects, %.0f said to be wrong", there, right, sure, share)
	if float64(right) < 0.8*float64(there) || float64(right) < 0.9*float64(sure) ||
		math.Abs(share-float64(there)) > 0.1*float64(there) {
		t.Errorf("%d found of %d, among %d suspects; %.0f are said to be wrong", right, there, sure, share)
	}
}

// Of a label that no other item has nothing is known: it is not suspected. Nor does it hide
// wrong labels of others.
func TestClassesOfOne(t *testing.T) {
	rng := rand.New(rand.NewPCG(6, 261))
	x, y := drawClasses(rng, 20, 1, 8, 1)
	j := findErrors(t, y, Fold{X: x})
	if slices.Max(j.Score) != 0 || j.WrongShare != 0 || len(j.Confusions) > 0 {
		t.Errorf("of classes of one %g are wrong, at most %g", j.WrongShare, slices.Max(j.Score))
	}
	x, y = drawClasses(rng, 6, 30, 8, 4)
	for i := range 4 {
		y[i*30] = int64(1000 + i)
	}
	for i := range 6 {
		y[i*30+7] = int64(10 * ((i + 1) % 6))
	}
	j = findErrors(t, y, Fold{X: x})
	for i, s := range j.Score {
		if alone, wrong := i%30 == 0 && i < 120, i%30 == 7; alone && s != 0 || wrong != (s >= 0.5) {
			t.Errorf("item %d with the label %d: %g", i, y[i], s)
		}
	}
}

// Copies, zero vectors and classes without spread are judged as others are.
func TestProbabilitiesOfCopies(t *testing.T) {
	x, y := matrix.New(60, 3), make([]int64, 60)
	for i := range 60 {
		x.Row(i)[i/20], y[i] = 1, int64(i/20)
	}
	for name, scale := range map[string]float32{"copies": 1, "zero": 0} {
		all := matrix.FromSlice(60, 3, slices.Clone(x.Data))
		for i := range all.Data {
			all.Data[i] *= scale
		}
		noisy := slices.Clone(y)
		noisy[5], noisy[45] = 2, 1
		j := findErrors(t, noisy, Fold{X: all})
		for i, s := range j.Score {
			if !(s >= 0 && s <= 1) || (scale == 0 || y[i] == noisy[i]) && s >= 0.5 {
				t.Errorf("%s: item %d with the label %d of %d: %g", name, i, noisy[i], y[i], s)
			}
		}
	}
}

// What an item sees: its own class without itself, the nearest classes singly, the others in
// groups. Of other classes distances are the mean over all ways to leave a member out.
func TestSights(t *testing.T) {
	x := rowsOnLine(0, 1, 3, 10, 12, 15, 40)
	p := &foldPart{x: x}
	for i := range 7 {
		p.heldOut = append(p.heldOut, i)
	}
	p.judges = p.heldOut
	seen := make([][]classView, 7)
	if err := p.viewClasses(t.Context(), []int{0, 0, 0, 1, 1, 1, 2}, 3, []float64{1, 1, 1, 1, 1, 1, 1},
		seen); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		item int
		want []classView
	}{
		// Of two other members the nearest; of three the nearest, or in one of three cases the next.
		{0, []classView{{0, 1, 2, 0}, {1, (2*100 + 144) / 3., 3, 1}, {2, 1600, 1, 1}}},
		{3, []classView{{1, 4, 2, 0}, {0, (2*49 + 81) / 3., 3, 1}, {2, 900, 1, 1}}},
		{6, nil},
	} {
		if len(seen[c.item]) != len(c.want) {
			t.Fatalf("item %d: %+v", c.item, seen[c.item])
		}
		for k, want := range c.want {
			got := seen[c.item][k]
			requireNear(t, "distance", got.distance, want.distance, 1e-3)
			if got.distance = want.distance; got != want {
				t.Errorf("item %d: %+v, want %+v", c.item, got, want)
			}
		}
	}
	// Many classes are seen in groups, all items once.
	y := make([]int, 100)
	many := matrix.New(100, 1)
	p = &foldPart{x: many}
	for i := range y {
		many.Row(i)[0], y[i] = float32(i), i/2
		p.heldOut = append(p.heldOut, i)
	}
	p.judges = p.heldOut
	seen = make([][]classView, 100)
	if err := p.viewClasses(t.Context(), y, 50, slices.Repeat([]float64{1}, 100), seen); err != nil {
		t.Fatal(err)
	}
	items, sets := 0.0, 0
	for _, s := range seen[0] {
		items, sets = items+s.items, sets+s.numClasses
	}
	if len(seen[0]) != 1+maxSingleViews+maxGroupViews || items != 99 || sets != 49 {
		t.Errorf("%d sights of %g items in %d classes", len(seen[0]), items, sets)
	}
}
