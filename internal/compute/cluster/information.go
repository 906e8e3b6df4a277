package cluster

import (
	"context"
	"fmt"
	"math"
	"slices"

	"github.com/kindred-ml/kindred/internal/base/enum"
)

// Mean is the normaliser of NMI and AMI: the mean of the entropies of classes
// and clusters. scikit-learn changed its default from the geometric to the
// arithmetic mean in version 0.22, so a value means little without the name of
// its mean.
type Mean int

const (
	Arithmetic Mean = iota
	Geometric
)

var meanNames = enum.New[Mean]("Mean", "mean", "arithmetic", "geometric")

func (m Mean) String() string { return meanNames.Name(m) }

// MarshalText returns the name of the mean: arithmetic or geometric.
func (m Mean) MarshalText() ([]byte, error) { return meanNames.Marshal(m) }

// UnmarshalText reads a name.
func (m *Mean) UnmarshalText(text []byte) error { return meanNames.Unmarshal(m, text) }

func (m Mean) meanOf(a, b float64) float64 {
	if m == Geometric {
		return math.Sqrt(a * b)
	}
	return (a + b) / 2
}

// entropy is -sum p log p in nats.
func entropy(counts []int, n int) float64 {
	var h float64
	for _, c := range counts {
		p := float64(c) / float64(n)
		h -= p * math.Log(p)
	}
	return max(h, 0)
}

// Entropies returns the entropies of classes and clusters in nats.
func (t *Table) Entropies() (classes, clusters float64) {
	return entropy(t.classes, t.n), entropy(t.clusters, t.n)
}

// MutualInformation returns sum p(a,b) log(p(a,b) / (p(a) p(b))) in nats.
func (t *Table) MutualInformation() float64 {
	n := float64(t.n)
	var s float64
	for _, c := range t.cells {
		p := float64(c.count) / n
		s += p * (math.Log(p) - math.Log(float64(t.classes[c.class])/n) - math.Log(float64(t.clusters[c.cluster])/n))
	}
	return max(s, 0)
}

// epsilon is the spacing of float64 at 1: mutual information below it is rounding.
const epsilon = 0x1p-52

// NMI is mutual information over the mean of the entropies, in [0, 1]. It is 1
// if both labelings have a single group, and 0 if only one has.
func (t *Table) NMI(m Mean) float64 {
	if len(t.classes) == 1 && len(t.clusters) == 1 {
		return 1
	}
	mi := t.MutualInformation()
	if mi <= epsilon {
		return 0
	}
	a, b := t.Entropies()
	return mi / m.meanOf(a, b)
}

// AMI is (MI - E[MI]) / (mean of entropies - E[MI]). The expectation is over random labelings with the
// same group sizes (Vinh, Epps and Bailey 2010). AMI is 1 for equal partitions and about 0 for
// independent ones, and it may be negative. The partition into a single group, or into singletons,
// scores 1 with itself.
//
// The time for the expectation grows with the number of different group sizes:
// minutes for millions of items. AMI checks ctx for every pair of sizes and
// returns ctx.Err(), wrapped, once ctx is done.
func (t *Table) AMI(ctx context.Context, m Mean) (float64, error) {
	if len(t.classes) == len(t.clusters) && len(t.cells) == len(t.classes) {
		return 1, nil // the partitions are equal, whatever the denominator
	}
	a, b := t.Entropies()
	expected, err := t.expectedInformation(ctx)
	if err != nil {
		return 0, fmt.Errorf("the expected mutual information of %d classes and %d clusters: %w", len(t.classes),
			len(t.clusters), err)
	}
	den := m.meanOf(a, b) - expected
	if den < 0 {
		den = min(den, -epsilon)
	} else {
		den = max(den, epsilon)
	}
	return (t.MutualInformation() - expected) / den, nil
}

// expectedInformation returns E[MI] under the hypergeometric model of randomness. Groups of equal size
// contribute equally and are computed together.
func (t *Table) expectedInformation(ctx context.Context) (float64, error) {
	rows, cols := groupSizes(t.classes), groupSizes(t.clusters)
	n := float64(t.n)
	// lf[i] = log i!
	lf := make([]float64, t.n+1)
	for i := 2; i <= t.n; i++ {
		lf[i] = lf[i-1] + math.Log(float64(i))
	}
	var total float64
	for _, r := range rows {
		for _, c := range cols {
			if err := ctx.Err(); err != nil {
				return 0, err
			}
			a, b := r.size, c.size
			fixed := lf[a] + lf[b] + lf[t.n-a] + lf[t.n-b] - lf[t.n]
			logAB := math.Log(float64(a)) + math.Log(float64(b))
			var s float64
			for k := max(1, a+b-t.n); k <= min(a, b); k++ {
				p := math.Exp(fixed - lf[k] - lf[a-k] - lf[b-k] - lf[t.n-a-b+k])
				s += float64(k) / n * (math.Log(n) + math.Log(float64(k)) - logAB) * p
			}
			total += s * float64(r.times) * float64(c.times)
		}
	}
	return total, nil
}

// sizeCount is a size and the number of groups that have it.
type sizeCount struct{ size, times int }

func groupSizes(counts []int) []sizeCount {
	s := slices.Sorted(slices.Values(counts))
	var out []sizeCount
	for _, c := range s {
		if len(out) == 0 || out[len(out)-1].size != c {
			out = append(out, sizeCount{size: c})
		}
		out[len(out)-1].times++
	}
	return out
}

// Homogeneity is MI / H(classes): 1 if every cluster contains only one class.
// It is 1 if there is a single class.
func (t *Table) Homogeneity() float64 {
	a, _ := t.Entropies()
	return entropyShare(t.MutualInformation(), a)
}

// Completeness is MI / H(clusters): 1 if every class lies in one cluster. It is
// 1 if there is a single cluster.
func (t *Table) Completeness() float64 {
	_, b := t.Entropies()
	return entropyShare(t.MutualInformation(), b)
}

// entropyShare returns the share of mutual information in an entropy.
func entropyShare(mi, h float64) float64 {
	if h == 0 {
		return 1
	}
	return mi / h
}
