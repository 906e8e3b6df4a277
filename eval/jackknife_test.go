package eval

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/kindred-ml/kindred/matrix"
)

// drawClumps draws classes of items about centres, so that whole classes are confused.
func drawClumps(rng *rand.Rand, classes, items int) Set {
	const d = 4
	s := Set{X: matrix.New(classes*items, d), Labels: [][]int64{make([]int64, classes*items)}}
	for c := range classes {
		var centre [d]float64
		for k := range centre {
			centre[k] = rng.NormFloat64()
		}
		for i := c * items; i < (c+1)*items; i++ {
			s.Labels[0][i] = int64(c)
			for k := range centre {
				s.X.Row(i)[k] = float32(centre[k] + 0.4*rng.NormFloat64())
			}
		}
	}
	return s
}

func measureRecalls(t *testing.T, s Set, gallery *Set, cfg Config) Value {
	t.Helper()
	cfg.Metrics = []Metric{{Kind: Recall, K: 1}}
	rep, err := Evaluate(context.Background(), s, gallery, cfg)
	if err != nil {
		t.Fatal(err)
	}
	return rep.Columns[0].Values[0]
}

// The interval covers what new sets have on the mean, about as often as it says: resampling
// queries of one set misses the truth much more often.
func TestIntervalsByClassCover(t *testing.T) {
	const sets, classes, items = 120, 12, 8
	draw := func(k int) Set { return drawClumps(rand.New(rand.NewPCG(51, uint64(k))), classes, items) }
	var truth float64
	for k := range 10 * sets {
		truth += measureRecalls(t, draw(sets+k), nil, Config{}).Value / (10 * sets)
	}
	missed, byQuery := 0, 0
	for k := range sets {
		v := measureRecalls(t, draw(k), nil, Config{Bootstrap: 100})
		if c := v.ByClass; truth < c.Low || truth > c.High {
			missed++
		}
		if q := v.ByQuery; truth < q.Low || truth > q.High {
			byQuery++
		}
	}
	if missed > 12 || byQuery < 2*missed { // 13 of 120 or more at 5 % has a chance of 0.01
		t.Errorf("%d of %d intervals by classes miss %.3f, and %d by queries", missed, sets, truth, byQuery)
	}
}

// The variance is that of ranking what is left without each class, by a loop.
func TestByClassLeavesClassesOutOfBothSides(t *testing.T) {
	q, g := drawClumps(rand.New(rand.NewPCG(53, 1)), 5, 4), drawClumps(rand.New(rand.NewPCG(53, 2)), 7, 3)
	for _, gallery := range []*Set{nil, &g} {
		n := 5
		if gallery != nil {
			n = 7 // two classes are of the gallery alone
		}
		v := measureRecalls(t, q, gallery, Config{Bootstrap: 3})
		var means [][]float64
		for c := range n {
			kept := func(s Set) Set {
				rest, _ := withoutPart(s, 0, map[int64]int{int64(c): 1}, 1)
				return rest
			}
			var items *Set
			if gallery != nil {
				of := kept(*gallery)
				items = &of
			}
			means = append(means, []float64{measureRecalls(t, kept(q), items, Config{}).Value})
		}
		var mean, square float64
		for _, m := range means {
			mean += m[0] / float64(n)
		}
		for _, m := range means {
			square += (m[0] - mean) * (m[0] - mean)
		}
		variance := square * float64(n-1) / float64(n)
		low, high := shareInterval(v.Value, variance, float64(q.X.Rows), degreesOfFreedom(means, 0), 0.95)
		if math.Abs(v.ByClass.Low-low) > 1e-12 || math.Abs(v.ByClass.High-high) > 1e-12 {
			t.Errorf("interval %+v, want %v to %v", v.ByClass, low, high)
		}
	}
}

// With fewer than three classes, or only one class of two items or more, nothing is known.
func TestByClassOfFewClasses(t *testing.T) {
	s := drawClumps(rand.New(rand.NewPCG(55, 1)), 2, 5)
	if v := measureRecalls(t, s, nil, Config{Bootstrap: 5}); v.ByClass.Low != 0 || v.ByClass.High != 1 {
		t.Errorf("two classes: %+v", v.ByClass)
	}
	for i := range s.X.Rows {
		s.Labels[0][i] = int64(max(i-1, 0))
	}
	if v := measureRecalls(t, s, nil, Config{Bootstrap: 5}); v.ByClass.Low != 0 || v.ByClass.High != 1 {
		t.Errorf("one pair: %+v", v.ByClass)
	}
}

func TestShareInterval(t *testing.T) {
	// Without a bound of the parts it is Clopper and Pearson's: 8 of 10 have 0.4439 to 0.9748.
	low, high := shareInterval(0.8, 0.016, 1000, 1e6, 0.95)
	if math.Abs(low-0.4439) > 1e-4 || math.Abs(high-0.9748) > 1e-4 {
		t.Errorf("8 of 10: %v to %v", low, high)
	}
	// None and all of 50 have 0 to 0.0711 and 0.9289 to 1.
	if low, high := shareInterval(0, 0, 50, 1e6, 0.95); low != 0 || math.Abs(high-0.0711) > 1e-4 {
		t.Errorf("0 of 50: %v to %v", low, high)
	}
	if low, high := shareInterval(1, 0, 50, 1e6, 0.95); high != 1 || math.Abs(low-0.9289) > 1e-4 {
		t.Errorf("50 of 50: %v to %v", low, high)
	}
	narrow, _ := shareInterval(0.8, 0.001, 1000, 20, 0.95)
	wide, _ := shareInterval(0.8, 0.001, 1000, 4, 0.95)
	if !(wide < narrow) {
		t.Errorf("fewer parts give %v, more %v", wide, narrow)
	}
}

// Parts that vary alike have all degrees of freedom, one that varies alone has a single one.
func TestDegrees(t *testing.T) {
	alike, alone := make([][]float64, 20), make([][]float64, 20)
	for i := range alike {
		alike[i], alone[i] = []float64{float64(i % 2)}, []float64{0}
	}
	if got := degreesOfFreedom(alone, 0); got != 19 {
		t.Errorf("%v degrees of no variation", got)
	}
	alone[7][0] = 1
	if got := degreesOfFreedom(alike, 0); got != 19 {
		t.Errorf("%v degrees of 20 parts that vary alike", got)
	}
	// Deviations of 0.95 and, 19 times, -0.05: 3 (0.9025 + 0.0475)^2 / (0.8145 + 0.0001) - 1.
	if got := degreesOfFreedom(alone, 0); math.Abs(got-2.3237) > 1e-3 {
		t.Errorf("%v degrees of one part that varies alone", got)
	}
}

// Classes that lie in groups are left out by groups, in whatever order their labels are and whatever
// the lengths of rows that are compared by cosines.
func TestGroupsAreLeftOutTogether(t *testing.T) {
	const groups, size, items, d = 12, 4, 3, 12
	for _, distance := range []Distance{Euclidean, Cosine} {
		rng := rand.New(rand.NewPCG(58, 1))
		s := Set{X: matrix.New(groups*size*items, d), Labels: [][]int64{nil}}
		middle, centre := make([]float64, d), make([]float64, d)
		for c := range groups * size {
			for k := range d {
				if c%size == 0 {
					middle[k] = rng.NormFloat64()
				}
				centre[k] = middle[k] + 0.3*rng.NormFloat64()
			}
			for range items {
				row := s.X.Row(len(s.Labels[0]))
				long := 1.0
				if distance == Cosine {
					long = math.Exp(2 * rng.NormFloat64())
				}
				for k := range row {
					row[k] = float32(long * (centre[k] + 0.1*rng.NormFloat64()))
				}
				s.Labels[0] = append(s.Labels[0], int64(5*c%(groups*size))) // 5 and 48 have no factor in common
			}
		}
		p, err := partitionClasses(t.Context(), s, nil, 0, distance, 4)
		if err != nil {
			t.Fatal(err)
		}
		together := 0
		for c := range groups * size {
			if p.partOf[int64(5*c%(groups*size))] == p.partOf[int64(5*(c/size*size)%(groups*size))] {
				together++
			}
		}
		if p.numGroups < groups-2 || p.numGroups > groups+4 || together < groups*size*9/10 {
			t.Errorf("%v: %d groups, %d of %d classes in the part of the first of their group", distance, p.numGroups,
				together, groups*size)
		}
		rep, err := Evaluate(t.Context(), s, nil, Config{Metrics: []Metric{{Kind: Recall, K: 1}}, Bootstrap: 2, Seed: 4,
			Distance: distance})
		if err != nil {
			t.Fatal(err)
		}
		want := fmt.Sprintf("the classes form %d groups", p.numGroups)
		if in := rep.Columns[0].Values[0].ByClass; in.Groups != p.numGroups ||
			!slices.ContainsFunc(rep.Notes, func(n string) bool { return strings.Contains(n, want) }) {
			t.Errorf("%v: interval %+v, notes %q", distance, in, rep.Notes)
		}
	}
}

// A class counts once, in whichever part it is, and the seed alone says in which.
func TestParts(t *testing.T) {
	s := drawClumps(rand.New(rand.NewPCG(57, 1)), 50, 2)
	deal := func() *classPartition {
		p, err := partitionClasses(t.Context(), s, nil, 0, Euclidean, 4)
		if err != nil {
			t.Fatal(err)
		}
		return p
	}
	of, n, again := deal().partOf, deal().numParts, deal().partOf
	var sizes [maxParts]int
	for y, p := range of {
		sizes[p]++
		if again[y] != p {
			t.Fatal("the same seed gives other parts")
		}
	}
	if n != maxParts || len(of) != 50 {
		t.Errorf("%d parts of %d classes", n, len(of))
	}
	for p, size := range sizes {
		if size != 2 && size != 3 {
			t.Errorf("part %d has %d classes", p, size)
		}
	}
}
