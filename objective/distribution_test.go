package objective

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/kindred-ml/kindred/internal/base/option"
	"github.com/kindred-ml/kindred/internal/compute/pair"
	"github.com/kindred-ml/kindred/matrix"
)

// newTable compares random unit embeddings with labels in turn.
func newTable(t *testing.T, n, d, classes int, seed uint64) (*pair.Table, []int64) {
	t.Helper()
	rng := rand.New(rand.NewPCG(seed, 9))
	e, labels := matrix.New(n, d), make([]int64, n)
	for k := range e.Data {
		e.Data[k] = float32(rng.NormFloat64())
	}
	for i := range labels {
		labels[i] = int64(i % classes)
	}
	var rows pair.Rows
	if err := rows.Set(e, true); err != nil {
		t.Fatal(err)
	}
	table := &pair.Table{A: &rows, R: &rows}
	table.Groups.Build(labels, labels, true)
	table.Load(0, n)
	return table, labels
}

func exactDistance(t *pair.Table, i, j int) float64 {
	return math.Sqrt(pair.SquaredDistance(t.A.E.Row(i), t.R.E.Row(j)))
}

// quantile bounds the chi-square statistic of the given degrees of freedom at a
// probability of about 1e-5 (Wilson and Hilferty 1931).
func quantile(degrees int) float64 {
	k := float64(degrees)
	x := 1 - 2/(9*k) + 4.265*math.Sqrt(2/(9*k))
	return k * x * x * x
}

// checkFrequencies draws for all anchors in many steps and compares how often each
// reference is chosen with its probability.
func checkFrequencies(t *testing.T, table *pair.Table, cfg MiningConfig, chosen func(*Selection) []int32,
	probability func(i, j int) float64) {
	t.Helper()
	n := table.Groups.Anchors()
	m := newMiner(cfg)
	var s minerScratch
	const steps = 4000
	counts := make([][]int, n)
	for i := range counts {
		counts[i] = make([]int, table.NumRefs())
	}
	for step := range steps {
		m.Begin(table, uint64(step))
		for i := range n {
			for _, j := range chosen(m.Mine(i, &s)) {
				counts[i][j]++
			}
		}
	}
	for i := range n {
		var chi float64
		cells, rest, restP := 0, 0, 0.0
		total := 0.0
		for j, c := range counts[i] {
			p := probability(i, j)
			total += p
			if p == 0 && c > 0 {
				t.Fatalf("anchor %d: %d was drawn, whose probability is 0", i, j)
			}
			if p*steps < 5 { // rare ones are tested together
				rest, restP = rest+c, restP+p
				continue
			}
			cells++
			chi += math.Pow(float64(c)-p*steps, 2) / (p * steps)
		}
		if math.Abs(total-1) > 1e-9 {
			t.Fatalf("anchor %d: probabilities add up to %v", i, total)
		}
		if restP*steps >= 5 {
			cells++
			chi += math.Pow(float64(rest)-restP*steps, 2) / (restP * steps)
		}
		if cells > 1 && chi > quantile(cells-1) {
			t.Errorf("anchor %d: chi-square %.1f with %d degrees of freedom", i, chi, cells-1)
		}
	}
}

func positives(s *Selection) []int32 { return s.Pos }
func negatives(s *Selection) []int32 { return s.Neg }

// uniform is the probability under a uniform draw among those that pass.
func uniform(n int, pass func(j int) bool) func(j int) float64 {
	count := 0
	for j := range n {
		if pass(j) {
			count++
		}
	}
	return func(j int) float64 {
		if !pass(j) {
			return 0
		}
		return 1 / float64(count)
	}
}

func TestRandomPositiveIsUniform(t *testing.T) {
	table, labels := newTable(t, 24, 5, 4, 1)
	checkFrequencies(t, table, MiningConfig{Positives: RandomPositive, Negatives: HardNegative, Seed: 3}, positives,
		func(i, j int) float64 {
			return uniform(len(labels), func(j int) bool { return j != i && labels[j] == labels[i] })(j)
		})
}

func TestRandomNegativeIsUniform(t *testing.T) {
	table, labels := newTable(t, 24, 5, 4, 2)
	checkFrequencies(t, table, MiningConfig{Negatives: RandomNegative, Seed: 4}, negatives, func(i, j int) float64 {
		return uniform(len(labels), func(j int) bool { return labels[j] != labels[i] })(j)
	})
}

func TestFaceNetNegativeIsUniformInsideTheMargin(t *testing.T) {
	table, labels := newTable(t, 30, 4, 3, 3)
	for _, euclidean := range []bool{false, true} {
		d := func(i, j int) float64 {
			if euclidean {
				return exactDistance(table, i, j)
			}
			return math.Pow(exactDistance(table, i, j), 2)
		}
		checkFrequencies(t, table, MiningConfig{Positives: HardPositive, Negatives: FaceNetNegative, Margin: new(0.4),
			Euclidean: euclidean, Seed: 5}, negatives, func(i, j int) float64 {
			farthest := 0.0
			for p := range labels {
				if p != i && labels[p] == labels[i] {
					farthest = math.Max(farthest, d(i, p))
				}
			}
			inside := func(j int) bool {
				return labels[j] != labels[i] && d(i, j) > farthest && d(i, j) < farthest+0.4
			}
			for k := range labels {
				if inside(k) {
					return uniform(len(labels), inside)(j)
				}
			}
			return uniform(len(labels), func(j int) bool { return labels[j] != labels[i] })(j)
		})
	}
}

// TestDistanceWeights holds the draw to the formula, term by term.
func TestDistanceWeights(t *testing.T) {
	for _, tc := range []struct {
		name string
		dim  int
		cfg  MiningConfig
	}{
		{"defaults", 6, MiningConfig{}},
		{"low dimension", 2, MiningConfig{}},
		{"capped", 16, MiningConfig{MaxWeight: new(3.0)}},
		{"up to the pole", 5, MiningConfig{Cutoff: new(2.0), Nearest: new(0.1)}},
		{"narrow", 8, MiningConfig{Cutoff: new(1.1), Nearest: new(0.9)}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			table, labels := newTable(t, 26, tc.dim, 3, 6)
			tc.cfg.Negatives, tc.cfg.Seed = DistanceNegative, 7
			nearest, cutoff, most := option.OrDefault(tc.cfg.Nearest, 0.5), option.OrDefault(tc.cfg.Cutoff, 1.4),
				option.OrDefault(tc.cfg.MaxWeight, math.Inf(1))
			weight := func(i, j int) float64 {
				d := exactDistance(table, i, j)
				if labels[i] == labels[j] || d > cutoff || d >= 2 {
					return 0
				}
				d = math.Max(d, nearest)
				q := math.Pow(d, float64(tc.dim-2)) * math.Pow(1-d*d/4, float64(tc.dim-3)/2)
				return math.Min(most, 1/q)
			}
			checkFrequencies(t, table, tc.cfg, negatives, func(i, j int) float64 {
				var total float64
				for k := range labels {
					total += weight(i, k)
				}
				if total == 0 {
					return uniform(len(labels), func(j int) bool { return labels[j] != labels[i] })(j)
				}
				return weight(i, j) / total
			})
		})
	}
}

// TestTrapDistanceWeightsPerRow: with one maximum over the whole batch nearly
// all anchors lose their weights at high dimension; with each anchor's own,
// every anchor with a negative inside the cutoff has a draw.
func TestTrapDistanceWeightsPerRow(t *testing.T) {
	for _, dim := range []int{256, 512} {
		table, labels := newTable(t, 128, dim, 8, 8)
		// One pair far nearer than all others, and of one class at that.
		copy(table.A.E.Row(8), table.A.E.Row(0))
		table.Load(0, 128)
		m := newMiner(MiningConfig{Negatives: DistanceNegative})
		m.Begin(table, 0)
		var s minerScratch
		for i := range labels {
			inside := false
			for j := range labels {
				inside = inside || labels[i] != labels[j] && exactDistance(table, i, j) <= 1.4
			}
			sel := m.Mine(i, &s)
			if inside && sel.Fallback > 0 {
				t.Fatalf("dimension %d: anchor %d fell back although it has weights", dim, i)
			}
			if got := exactDistance(table, i, int(sel.Neg[0])); inside && got > 1.4+1e-6 {
				t.Fatalf("dimension %d: anchor %d drew a negative at %v", dim, i, got)
			}
		}
	}
}

// TestTrapAllWeightsVanish: an anchor whose negatives all lie beyond the cutoff
// draws uniformly among negatives, never a positive.
func TestTrapAllWeightsVanish(t *testing.T) {
	table, labels := newTable(t, 24, 3, 2, 10)
	for i := range labels { // two opposite clusters
		r := table.A.E.Row(i)
		clear(r)
		r[0] = float32(1 - 2*labels[i])
	}
	table.Load(0, len(labels))
	checkFrequencies(t, table, MiningConfig{Negatives: DistanceNegative}, negatives, func(i, j int) float64 {
		return uniform(len(labels), func(j int) bool { return labels[j] != labels[i] })(j)
	})
}
