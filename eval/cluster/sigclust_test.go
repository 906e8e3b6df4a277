package cluster_test

import (
	"context"
	"errors"
	"math"
	"math/rand/v2"
	"runtime"
	"testing"

	"github.com/kindred-ml/kindred/eval/cluster"
	"github.com/kindred-ml/kindred/mat"
)

// cloud draws n rows of d numbers, around two centres that are gap apart along
// the first axis, whose spread is stretch times that of the others.
func cloud(rng *rand.Rand, n, d int, gap, stretch float64) *mat.Dense {
	x := mat.New(n, d)
	for i := range n {
		row := x.Row(i)
		for j := range row {
			row[j] = float32(rng.NormFloat64())
		}
		row[0] *= float32(stretch)
		row[0] += float32(gap * float64(i%2))
	}
	return x
}

// TestSigClust: normal clouds, however long, are one; two clouds are two. Of the
// former 1 in 20 may be mistaken at p <= 0.05.
func TestSigClust(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	for _, c := range []struct {
		name         string
		n, d         int
		gap, stretch float64
		several      bool
	}{
		{"round", 60, 20, 0, 1, false},
		{"long", 60, 20, 0, 8, false},
		{"more dimensions than rows", 40, 100, 0, 3, false},
		{"two", 60, 20, 10, 1, true},
		{"two, in more dimensions than rows", 40, 100, 25, 1, true},
		{"two, of a line", 50, 1, 8, 1, true},
	} {
		const trials = 12
		found := 0
		for k := range trials {
			s, err := cluster.SigClust(context.Background(), cloud(rng, c.n, c.d, c.gap, c.stretch),
				cluster.SigClustConfig{Draws: 39, Seed: uint64(k)})
			if err != nil {
				t.Fatal(err)
			}
			if s.P <= 0.05 {
				found++
			}
			if s.Index <= 0 || s.Index >= 1 || (s.Z > 0) != (s.Mean > s.Index) {
				t.Errorf("%s: %+v", c.name, s)
			}
		}
		if c.several && found != trials || !c.several && found > 3 { // P(4 of 12 at 0.05) is 0.002
			t.Errorf("%s: %d of %d are found to be several", c.name, found, trials)
		}
	}
}

func TestSigClustDegenerate(t *testing.T) {
	ctx := context.Background()
	same := mat.New(5, 3)
	for i := range same.Data {
		same.Data[i] = 7
	}
	s, err := cluster.SigClust(ctx, same, cluster.SigClustConfig{})
	if err != nil || s.P != 1 || s.Index != 1 {
		t.Errorf("equal rows: %+v, %v", s, err)
	}
	two := mat.New(30, 2)
	for i := range 15 {
		two.Row(i)[0] = 1
	}
	s, err = cluster.SigClust(ctx, two, cluster.SigClustConfig{})
	if err != nil || s.Index > 1e-9 || s.P != 0.01 {
		t.Errorf("two points: %+v, %v", s, err)
	}
	nan := mat.New(5, 3)
	nan.Data[4] = float32(math.NaN())
	for name, x := range map[string]*mat.Dense{"nil": nil, "two rows": mat.New(2, 3), "NaN": nan} {
		if s, err := cluster.SigClust(ctx, x, cluster.SigClustConfig{}); err == nil {
			t.Errorf("%s: %+v", name, s)
		}
	}
	if _, err := cluster.SigClust(ctx, two, cluster.SigClustConfig{Draws: -1}); err == nil {
		t.Error("-1 draws are no error")
	}
	gone, cancel := context.WithCancel(ctx)
	cancel()
	if _, err := cluster.SigClust(gone, two, cluster.SigClustConfig{}); !errors.Is(err, context.Canceled) {
		t.Errorf("cancelled: %v", err)
	}
}

// TestSigClustSeed: the seed fixes the result, on any number of cores.
func TestSigClustSeed(t *testing.T) {
	x := cloud(rand.New(rand.NewPCG(3, 4)), 50, 30, 2, 2)
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(0))
	var want *cluster.Significance
	for _, procs := range []int{1, 2, 5} {
		runtime.GOMAXPROCS(procs)
		s, err := cluster.SigClust(context.Background(), x, cluster.SigClustConfig{Draws: 9, Seed: 5})
		if err != nil {
			t.Fatal(err)
		}
		if want != nil && *s != *want {
			t.Errorf("%d cores: %+v, want %+v", procs, s, want)
		}
		want = s
	}
	other, err := cluster.SigClust(context.Background(), x, cluster.SigClustConfig{Draws: 9, Seed: 6})
	if err != nil || other.Mean == want.Mean {
		t.Errorf("another seed: %+v, %v", other, err)
	}
}
