package decide

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/kindred-ml/kindred/matrix"
)

// drawnGroups draws classes in groups of a size, their middles apart times a normal cloud from the
// group's, whose own are hub times a lognormal cloud from the origin.
func drawnGroups(seed uint64, classes, size int, apart, hub float64) *set {
	rng := rand.New(rand.NewPCG(seed, 97))
	const photos, dim = 6, 12
	x, labels := matrix.New(classes*photos, dim), make([]int64, 0, classes*photos)
	group, centre := make([]float64, dim), make([]float64, dim)
	for c := range classes {
		if c%size == 0 {
			scale := math.Exp(hub * rng.NormFloat64())
			for k := range group {
				group[k] = scale * rng.NormFloat64()
			}
		}
		for k := range centre {
			centre[k] = group[k]
			if size > 1 {
				centre[k] += apart * rng.NormFloat64()
			}
		}
		for range photos {
			row := x.Row(len(labels))
			for k := range row {
				row[k] = float32(centre[k] + 0.35*rng.NormFloat64())
			}
			labels = append(labels, int64(c))
		}
	}
	s, _, err := newSet(x, labels, &Options{})
	if err != nil {
		panic(err)
	}
	return s
}

// TestUnits: groups of classes are found, and classes near the middle of all are not taken for a group.
func TestUnits(t *testing.T) {
	for _, c := range []struct {
		size       int
		apart, hub float64
	}{{1, 0, 0}, {1, 0, 0.4}, {1, 0, 0.8}, {5, 0.5, 0}, {5, 0.5, 0.4}, {2, 0.4, 0}} {
		for _, classes := range []int{20, 50, 120} {
			t.Run(fmt.Sprint(c, classes), func(t *testing.T) {
				found, pairs := 0, 0.0
				const seeds = 6
				for seed := range uint64(seeds) {
					s := drawnGroups(seed, classes, c.size, c.apart, c.hub)
					u, err := newUnits(t.Context(), s, seed)
					if err != nil {
						t.Fatal(err)
					}
					if u.numGroups > 0 {
						found++
						all, events := s.pairWeights(u)
						pairs += events / all / seeds
					}
				}
				if c.size == 1 && found > 1 {
					t.Errorf("%d of %d sets without groups have some", found, seeds)
				}
				if c.size == 5 && (found < seeds-1 || pairs > 0.3) {
					t.Errorf("groups in %d of %d sets, %.2f of the pairs", found, seeds, pairs)
				}
				if c.size == 2 && found < seeds-2 {
					t.Errorf("pairs in %d of %d sets", found, seeds)
				}
			})
		}
	}
}

// TestUnitsDegenerate: means that are all one, on a line, or two places.
func TestUnitsDegenerate(t *testing.T) {
	for name, at := range map[string]func(c int) float64{
		"one place":  func(int) float64 { return 1 },
		"a line":     func(c int) float64 { return float64(c) },
		"two places": func(c int) float64 { return float64(c % 2) },
	} {
		x, labels := matrix.New(60, 3), make([]int64, 60)
		for i := range labels {
			labels[i] = int64(i / 3)
			x.Row(i)[0] = float32(at(i/3)) + float32(i%3)*0.25 - 0.25
		}
		s, _, err := newSet(x, labels, &Options{})
		if err != nil {
			t.Fatal(err)
		}
		u, err := newUnits(t.Context(), s, 1)
		if err != nil {
			t.Fatal(err)
		}
		var photos float64
		for _, n := range u.photos {
			photos += n
		}
		if len(u.unitOf) != 20 || u.numUnits != len(u.size) || photos != 60 {
			t.Errorf("%s: %+v", name, u)
		}
		if _, err := Calibrate(t.Context(), x, labels, Options{}); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}
