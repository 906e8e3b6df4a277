package clean

import (
	"math"
	"math/rand/v2"
	"os"
	"slices"
	"testing"

	"github.com/kindred-ml/kindred/matrix"
)

// drawPairs draws n rows of each of 2k classes: k places far from each other, at each of
// which two classes lie so far apart, in standard deviations of their clouds, that
// these overlap little and are each other's nearest.
func drawPairs(rng *rand.Rand, k, n, d int, within float64) (*matrix.Dense, []int64) {
	x, y := matrix.New(2*k*n, d), make([]int64, 2*k*n)
	for p := range k {
		centre, way := make([]float64, d), make([]float64, d)
		var length float64
		for j := range d {
			centre[j], way[j] = 6*rng.NormFloat64(), rng.NormFloat64()
			length += way[j] * way[j]
		}
		for side := range 2 {
			for i := range n {
				at := (2*p+side)*n + i
				y[at] = int64(10 * (2*p + side))
				for j := range d {
					off := float64(side) * within * way[j] / math.Sqrt(length)
					x.Row(at)[j] = float32(centre[j] + off + rng.NormFloat64())
				}
			}
		}
	}
	return x, y
}

// mislabel gives items of some classes the label of their look-alike.
func mislabel(y []int64, rate float64, of func(class int64) bool, rng *rand.Rand) (noisy []int64, wrong []bool) {
	noisy, wrong = slices.Clone(y), make([]bool, len(y))
	for i, c := range y {
		if of(c) && rng.Float64() < rate {
			wrong[i] = true
			if noisy[i] = c + 10; c/10%2 == 1 {
				noisy[i] = c - 10
			}
		}
	}
	return noisy, wrong
}

// outcomes is what came of suspects from 0.5 on, over several draws.
type outcomes struct {
	wrong, suspects, hits, right int
	claimed, share, there, ece   float64
	draws                        int
}

func (a *outcomes) add(j *LabelErrors, y []int64, wrong []bool) {
	a.draws++
	var mean, came [10]float64
	n := float64(len(y))
	for i, p := range j.Score {
		b := min(int(10*p), 9)
		mean[b] += p / n
		if wrong[i] {
			came[b] += 1 / n
			a.wrong++
			a.there += 1 / n
		}
		if p >= 0.5 {
			a.suspects++
			a.claimed += p
			if wrong[i] {
				a.hits++
				if j.Suggested[i] == y[i] {
					a.right++
				}
			}
		}
	}
	for b := range mean {
		a.ece += math.Abs(mean[b] - came[b])
	}
	a.share += j.WrongShare
}

func (a *outcomes) recall() float64    { return float64(a.hits) / float64(max(a.wrong, 1)) }
func (a *outcomes) precision() float64 { return float64(a.hits) / float64(max(a.suspects, 1)) }

func (a *outcomes) log(t *testing.T, name string) {
	t.Helper()
	n := float64(a.draws)
	t.Logf("%-42s %5.1f wrong, %5.1f suspects: found %.2f, precision %.2f, claimed %.2f, suggested right %.2f; "+
		"share %.3f of %.3f, ECE %.3f",
		name, float64(a.wrong)/n,
		float64(a.suspects)/n, a.recall(), a.precision(), a.claimed/float64(max(a.suspects, 1)),
		float64(a.right)/float64(max(a.hits, 1)), a.share/n, a.there/n, a.ece/n)
}

// noisySet draws a set with some wrong labels.
type noisySet func(rng *rand.Rand) (x *matrix.Dense, y, noisy []int64, wrong []bool)

// benchmark judges as many draws of a set as $KINDRED_LONG says, or two.
func benchmark(t *testing.T, name string, set noisySet) *outcomes {
	t.Helper()
	draws := uint64(2)
	if os.Getenv("KINDRED_LONG") != "" {
		draws = 10
	}
	a := &outcomes{}
	for k := range draws {
		// Not those by which the conditions of pairs were chosen.
		x, y, noisy, wrong := set(rand.New(rand.NewPCG(k, 130)))
		a.add(findErrors(t, noisy, Fold{X: x}), y, wrong)
	}
	a.log(t, name)
	return a
}

// Labels that are those of a look-alike, whose cloud overlaps little with that of the
// right class and is the nearest to it: at least half are found with a precision of at
// least 0.8, and where none is wrong, or clouds cannot be told apart, hardly any is
// suspected. None of the wrong ones was found when labels given at random alone said
// how wrong labels score.
func TestLookalikes(t *testing.T) {
	all := func(int64) bool { return true }
	first := func(c int64) bool { return c/10%2 == 0 }
	one := func(c int64) bool { return c == 0 }
	for _, c := range []struct {
		name         string
		k, n         int
		rate, within float64
		of           func(int64) bool
		least        float64 // to be found
	}{
		{"5 pairs of 120, both ways, 9 %", 5, 120, 0.09, 5, all, 0.5},
		{"5 pairs of 120, both ways, 28 %", 5, 120, 0.28, 5, all, 0.5},
		{"5 pairs of 120, one way, 9 % of a class", 5, 120, 0.09, 5, first, 0.5},
		{"5 pairs of 120, one way, 28 % of a class", 5, 120, 0.28, 5, first, 0.5},
		{"one of 5 pairs of 120, one way, 9 %", 5, 120, 0.09, 5, one, 0},
		{"one of 5 pairs of 120, one way, 28 %", 5, 120, 0.28, 5, one, 0.5},
		{"one pair of 600, both ways, 9 %", 1, 600, 0.09, 5, all, 0.5},
		{"one pair of 600, both ways, 28 %", 1, 600, 0.28, 5, all, 0.4},
		{"30 pairs of 20, both ways, 9 %", 30, 20, 0.09, 5, all, 0.2},
		{"30 pairs of 20, both ways, 28 %", 30, 20, 0.28, 5, all, 0.2},
		{"4 deviations apart, both ways, 9 %", 5, 120, 0.09, 4, all, 0.5},
		{"4 deviations apart, both ways, 28 %", 5, 120, 0.28, 4, all, 0.3},
		{"5 deviations apart, none", 5, 120, 0, 5, all, 0},
		{"3 deviations apart, none", 5, 120, 0, 3, all, 0},
		{"2 deviations apart, none", 5, 120, 0, 2, all, 0},
		{"1 deviation apart, none", 5, 120, 0, 1, all, 0},
		{"one cloud, none", 5, 120, 0, 0, all, 0},
	} {
		a := benchmark(t, c.name, func(rng *rand.Rand) (*matrix.Dense, []int64, []int64, []bool) {
			x, y := drawPairs(rng, c.k, c.n, 16, c.within)
			noisy, wrong := mislabel(y, c.rate, c.of, rng)
			return x, y, noisy, wrong
		})
		if c.rate == 0 {
			if a.suspects > 5*a.draws {
				t.Errorf("%s: %d suspects in %d draws", c.name, a.suspects, a.draws)
			}
			continue
		}
		if a.recall() < c.least || a.suspects > 0 && a.precision() < 0.8 || a.right*10 < a.hits*9 {
			t.Errorf("%s: found %.2f, precision %.2f, %d of %d suggestions right", c.name, a.recall(), a.precision(),
				a.right, a.hits)
		}
	}
}

// Labels given at random are found as before pairs were looked at, and in classes of 6
// items what is claimed is nearer to what is true: of those whose classes lie close
// together 0.51 were wrong where 0.85 was claimed.
func TestUniform(t *testing.T) {
	type few struct{ claimed, suspects, hits float64 }
	var small few
	for _, c := range []struct {
		name             string
		k, n, d          int
		apart            float64
		every            int
		least, precision float64
	}{
		{"8 classes of 60, 1 of 8", 8, 60, 12, 1.2, 8, 0.85, 0.95},
		{"10 classes of 120 far apart, 1 of 10", 10, 120, 16, 3, 10, 0.85, 0.95},
		{"10 classes of 100 that overlap, 1 of 10", 10, 100, 4, 0.5, 10, 0, 0.5},
		{"10 classes of 120, 1 of 5", 10, 120, 8, 1, 5, 0.4, 0.65},
		{"60 classes of 6 far apart, 1 of 10", 60, 6, 16, 2, 10, 0.85, 0.9},
		{"60 classes of 6 far apart, 1 of 5", 60, 6, 16, 2, 5, 0.85, 0.9},
		{"60 classes of 6, 1 of 10", 60, 6, 16, 1, 10, 0, 0},
		{"60 classes of 6, 1 of 5", 60, 6, 16, 1, 5, 0, 0},
		{"200 classes of 6, 1 of 10", 200, 6, 16, 1, 10, 0, 0},
		{"60 classes of 6 close together, 1 of 10", 60, 6, 16, 0.7, 10, 0, 0},
		{"60 classes of 6 close together, 1 of 5", 60, 6, 16, 0.7, 5, 0, 0},
		{"60 classes of 6 close together, none", 60, 6, 16, 0.7, 1 << 40, 0, 0},
	} {
		a := benchmark(t, c.name, func(rng *rand.Rand) (*matrix.Dense, []int64, []int64, []bool) {
			x, y := drawClasses(rng, c.k, c.n, c.d, c.apart)
			noisy, wrong := corruptLabels(y, c.every, c.k, rng)
			return x, y, noisy, wrong
		})
		if a.recall() < c.least || a.precision() < c.precision {
			t.Errorf("%s: found %.2f, precision %.2f", c.name, a.recall(), a.precision())
		}
		if c.n == 6 && c.precision == 0 {
			small.claimed += a.claimed
			small.suspects += float64(a.suspects)
			small.hits += float64(a.hits)
		}
	}
	claimed, came := small.claimed/small.suspects, small.hits/small.suspects
	t.Logf("classes of 6 that are not far apart: %.2f claimed, %.2f came true", claimed, came)
	if claimed-came > 0.1 {
		t.Errorf("classes of 6: %.2f claimed, %.2f came true", claimed, came)
	}
}

// TestConfused: the pairs say which labels are confused with which classes, and how many
// items with them are wrong.
func TestConfused(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 33))
	x, y := drawPairs(rng, 4, 100, 16, 5)
	noisy, wrong := mislabel(y, 0.2, func(c int64) bool { return c == 20 || c == 50 }, rng)
	there := map[[2]int64]float64{}
	size := map[int64]int{}
	for i, w := range wrong {
		size[noisy[i]]++
		if w {
			there[[2]int64{noisy[i], y[i]}]++
		}
	}
	j := findErrors(t, noisy, Fold{X: x})
	if len(j.Confusions) != 2 {
		t.Fatalf("%+v", j.Confusions)
	}
	for _, c := range j.Confusions {
		n := there[[2]int64{c.Label, c.Class}]
		if n == 0 || c.Wrong < 0.5*n || c.Wrong > 1.5*n || c.Items != size[c.Label] {
			t.Errorf("%+v, but %.0f labels are wrong", c, n)
		}
	}
	if j.Confusions[0].Wrong < j.Confusions[1].Wrong {
		t.Errorf("not the most first: %+v", j.Confusions)
	}
	if j := findErrors(t, y, Fold{X: x}); len(j.Confusions) > 0 {
		t.Errorf("nothing is wrong: %+v", j.Confusions)
	}
}
