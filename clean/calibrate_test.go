package clean

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"
)

func requireNear(t *testing.T, what string, have, want, within float64) {
	t.Helper()
	if !(math.Abs(have-want) <= within) {
		t.Errorf("%s: %.9g, want %.9g", what, have, want)
	}
}

// plainWeights take margins as they are: means of 0, deviations of 1.
func plainWeights(w ...float64) *weights {
	out := &weights{}
	copy(out.w[:], w)
	for j := range out.sd {
		out.sd[j] = 1
	}
	return out
}

// The weights are the least of the penalised logistic loss among those that are not
// negative, on margins less their means and over their deviations.
func TestLearn(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 21))
	var asIs, wrong []margins
	for i := range 80 {
		var a margins
		for j := range a {
			a[j] = rng.NormFloat64()
		}
		if i%4 == 0 {
			a[0]++
			a[1] += 0.5
			a[3]-- // speaks for a label by speaking against it
			wrong = append(wrong, a)
		} else {
			asIs = append(asIs, a)
		}
	}
	got := fitWeights(asIs, wrong)
	all := slices.Concat(asIs, wrong)
	for j := range got.w {
		var mean, square float64
		for _, a := range all {
			mean += a[j] / 80
		}
		for _, a := range all {
			square += (a[j] - mean) * (a[j] - mean) / 80
		}
		requireNear(t, "mean", got.mean[j], mean, 1e-12)
		requireNear(t, "deviation", got.sd[j], math.Sqrt(square), 1e-8)
	}
	slope := func(j int) (g float64) { // of the loss, by central differences
		loss := func(by float64) (sum float64) {
			w := *got
			if j < len(w.w) {
				w.w[j] += by
			} else {
				w.bias += by
			}
			for _, a := range asIs {
				sum += math.Log1p(math.Exp(w.score(a))) / 80
			}
			for _, a := range wrong {
				sum += math.Log1p(math.Exp(-w.score(a))) / 80
			}
			for _, v := range w.w {
				sum += 1e-3 * v * v / 2
			}
			return sum
		}
		return (loss(1e-5) - loss(-1e-5)) / 2e-5
	}
	for j := range len(got.w) + 1 {
		switch g := slope(j); {
		case j < len(got.w) && got.w[j] == 0:
			if g < -1e-4 {
				t.Errorf("margin %d: weight 0 where the loss falls by %g", j, -g)
			}
		case math.Abs(g) > 1e-4:
			t.Errorf("weight %d is %g where the loss has the slope %g", j, got.w[min(j, 3)], g)
		}
	}
	if got.w[3] != 0 || got.w[0] < 0.5 || got.bias > 0 {
		t.Errorf("weights %v, bias %g", got.w, got.bias)
	}
	// One step of the descent says what weight a constant margin has: none.
	same := fitWeights([]margins{{1}, {1}}, []margins{{1}, {1}})
	if same.w != [4]float64{} || math.Abs(same.bias) > 1e-12 || same.mean[0] != 1 || same.sd[0] != 1e-9 {
		t.Errorf("of equal margins %+v", same)
	}
}

// A score sums the margins less their means, over their deviations.
func TestScores(t *testing.T) {
	w := &weights{w: [4]float64{1, 2, 3, 4}, bias: 0.25, mean: [4]float64{1, -1, 2, 0}, sd: [4]float64{2, 4, 1, 8}}
	requireNear(t, "score", w.score(margins{3, 1, 1, 4}), 0.25+1+1-3+2, 1e-12)
	requireNear(t, "candidate", w.candidateScore(candidate{7, 2, 4}), (0.5+0.5)*2+(3+0.5)*4, 1e-12)
}

func TestBestCandidate(t *testing.T) {
	w := plainWeights(1) // what the neighbours say
	of := []candidate{{4, 0.5, 0}, {2, 0.7, 0}, {9, 0.7, 0}, {1, 0.9, 0}}
	for own, want := range map[int]int{1: 2, 2: 1, 0: 1} { // of equals the first
		if got := w.bestCandidate(of, own); got.class != want {
			t.Errorf("other than %d: %+v, want class %d", own, got, want)
		}
	}
	if got := w.bestCandidate(of[:1], 4); got.class != -1 {
		t.Errorf("of none: %+v", got)
	}
	for _, c := range []struct {
		of   []candidate
		want float64
	}{
		{of, 0.9 - 0.7},
		{[]candidate{{4, 0.9, 0}, {4, 0.9, 0}, {2, 0.4, 0}, {3, 0.6, 0}}, 0.3}, // suggested by both classifiers
		{[]candidate{{4, 0.1, 0}, {2, 0.4, 0}, {2, 0.4, 0}}, 0.3},
		{[]candidate{{4, 0.9, 0}}, 0},
		{nil, 0},
	} {
		requireNear(t, "certainty", w.certainty(c.of), c.want, 1e-12)
	}
}

// Pools are ranges of scores over which the share of wrong labels, over that of those
// there, rises.
func TestPools(t *testing.T) {
	all, got := poolScores([]float64{4, 2, 1, 3}, []float64{6, 2, 5, 4})
	want := []pool{{0, 0.25, 1}, {0.25, 0.5, 4}, {0.25, 0.25, 6}, {0.5, 0, 8}}
	if !slices.Equal(got, want) {
		t.Errorf("%v, want %v", got, want)
	}
	if !slices.IsSortedFunc(all, func(a, b scorePoint) int { return int(a.score - b.score) }) || len(all) != 8 ||
		all[0] != (scorePoint{1, false, 2}) || all[7] != (scorePoint{6, true, 0}) {
		t.Errorf("%v", all)
	}
}

// The bound is the least ratio of those there to wrong ones among the scores from any
// on that are not rare.
func TestBound(t *testing.T) {
	for _, c := range []struct {
		of         []pool
		n          int
		deviations float64
		want       float64
	}{
		{[]pool{{0, 0.5, 0}, {0.3, 0.3, 0}, {0.65, 0.16, 0}, {0.05, 0.04, 0}}, 100, 0, 0.2 / 0.7},
		{[]pool{{0, 0.5, 0}, {0.3, 0.3, 0}, {0.65, 0.16, 0}, {0.05, 0.04, 0}}, 100, 2,
			(0.2 + 2*math.Sqrt(0.21/100)) / 0.7},
		{[]pool{{0.95, 0.99, 0}, {0.05, 0.01, 0}}, 100, 0, 0.2},        // just not rare
		{[]pool{{0.96, 0.99, 0}, {0.04, 0.01, 0}}, 100, 0, 1},          // rare
		{[]pool{{0.5, 1, 0}, {0.5, 0, 0}}, 50, 2, 2 * (1. / 50) / 0.5}, // none there
		{[]pool{{0.2, 0.1, 0}, {0.8, 0.9, 0}}, 1000, 0, 1},             // never more than all
		{[]pool{{0.2, 0.1, 0}, {0.8, 0.9, 0}}, 100, 2, 1},              // whatever is added
	} {
		requireNear(t, "bound", boundWrongShare(c.of, c.n, c.deviations), c.want, 1e-12)
	}
}

// Each pool has the probability that follows from its ratio, one item that is right
// being added, and no less than a lower pool.
func TestPosterior(t *testing.T) {
	all, ratios := poolScores([]float64{4, 2, 1, 3}, []float64{6, 2, 5, 4})
	for i, p := range wrongPosterior(all, ratios, 4, 0.5) {
		requireNear(t, "probability", p, []float64{0.25, 1. / 6, 0, 1. / 6}[i], 1e-12)
	}
	all = []scorePoint{{1, false, 1}, {2, true, 0}, {3, false, 0}}
	for i, p := range wrongPosterior(all, []pool{{0.9, 0.5, 2}, {0.1, 0, 3}}, 10, 0.5)[:2] {
		requireNear(t, "of a small pool", p, []float64{0.75, 0.75}[i], 1e-12)
	}
	all = []scorePoint{{1, false, 0}, {2, false, 1}}
	for i, p := range wrongPosterior(all, []pool{{0, 0.5, 1}, {1, 0, 2}}, 10, 0.5)[:2] {
		requireNear(t, "more than are there", p, []float64{0, 5. / 6}[i], 1e-12)
	}
}

// Parts are of one size and of at least 250 items, the most certain last.
func TestByCertainty(t *testing.T) {
	for n, parts := range map[int]int{0: 0, 250: 0, 499: 0, 500: 2, 749: 2, 1250: 5, 1600: 5} {
		sure := make([]float64, n)
		for i := range sure {
			sure[i] = float64((i * 7) % max(n, 1))
		}
		got := splitByCertainty(sure)
		if len(got) != parts {
			t.Errorf("%d items in %d parts, want %d", n, len(got), parts)
			continue
		}
		seen, last := 0, math.Inf(-1)
		for _, part := range got {
			if len(part) < n/parts || len(part) > n/parts+1 {
				t.Errorf("a part of %d of %d items in %d", len(part), n, parts)
			}
			for _, i := range part {
				seen++
				if sure[i] < last {
					t.Errorf("item %d of certainty %g after one of %g", i, sure[i], last)
				}
				last = sure[i]
			}
		}
		if parts > 0 && seen != n {
			t.Errorf("%d of %d items", seen, n)
		}
	}
}

// Items whose class is certain and whose labels none denies say how few are wrong, where
// half of the others' are denied.
func TestCertainPart(t *testing.T) {
	asIs, wrong, sure := make([]float64, 500), slices.Repeat([]float64{1}, 500), make([]float64, 500)
	for i := range asIs {
		sure[i] = float64(i)
		if i < 250 {
			asIs[i] = 1
		}
	}
	p, share := calibrateScores(asIs, wrong, sure, 3)
	requireNear(t, "share", share, 2./250, 1e-12)
	requireNear(t, "denied", p[0], 0.008*500/(250+1), 1e-12)
	requireNear(t, "not denied", p[499], 0, 0)
	p, share = calibrateScores(asIs[:400], wrong[:400], sure[:400], 0) // too few for parts
	requireNear(t, "share of all", share, 250./400, 1e-12)
	requireNear(t, "denied, of all", p[0], 250./251, 1e-12)
}

// Sets of small classes are bounded the more closely, the less sharply scores tell.
func TestCaution(t *testing.T) {
	// scores has n labels that are there, of which some score lower than all wrong ones,
	// some as the least of these, and some as the highest.
	scores := func(n, tied, high int) []float64 {
		out := make([]float64, n)
		for i := range tied {
			out[i] = 1
		}
		for i := range high {
			out[tied+i] = 2
		}
		return out
	}
	twos := func(n, ones int) []float64 {
		out := slices.Repeat([]float64{2}, n)
		for i := range ones {
			out[i] = 1
		}
		return out
	}
	for _, c := range []struct {
		name        string
		asIs, wrong []float64
		classes     int
		want        float64
	}{
		{"blurred, small classes", scores(120, 120, 0), twos(120, 120), 11, 0.5},
		{"blurred, a class of 12", scores(120, 120, 0), twos(120, 120), 10, 3},
		{"blurred, a small set", scores(119, 119, 0), twos(119, 119), 11, 3},
		{"sharp", scores(120, 0, 0), twos(120, 0), 11, 3},
		// An area of 1 - 0.9 * 0.15 / 2.
		{"between", scores(120, 18, 0), twos(120, 108), 11, 0.5 + 2.5*(0.9325-0.9)/0.07},
		// A tenth are wrong: the area of 0.95 is 1 for the others.
		{"sharp but for what is wrong", scores(120, 0, 12), twos(120, 0), 11, 3},
		// All scores but 0 are one pool, of which 0.15 there are as many as all wrong ones.
		{"between, some wrong", scores(120, 6, 12), twos(120, 120-12), 11,
			0.5 + 2.5*((expectedAUC(6, 12)-0.15/2)/0.85-0.9)/0.07},
	} {
		requireNear(t, c.name, boundDeviations(c.asIs, c.wrong, c.classes), c.want, 1e-9)
	}
}

// expectedAUC is the share of pairs in order of 120 labels there, of which some score 1, some 2
// and the others 0, and as many wrong ones, of which 108 score 1 and the others 2.
func expectedAUC(ones, twos float64) float64 {
	const n, low, high = 120, 108, 12
	zeros := n - ones - twos
	return (low*(zeros+ones/2) + high*(zeros+ones+twos/2)) / (n * n)
}
