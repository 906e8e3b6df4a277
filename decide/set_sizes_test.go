package decide

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/kindred-ml/kindred/matrix"
)

// sizedSet draws classes with the given numbers of photos. The first photos of a class do not depend on their number.
func sizedSet(sizes []int) (*matrix.Dense, []int64) {
	const dim = 12
	var rows []float32
	var labels []int64
	for c, n := range sizes {
		rng := rand.New(rand.NewPCG(uint64(c), 31))
		var centre [dim]float64
		for k := range centre {
			centre[k] = rng.NormFloat64()
		}
		for range n {
			for _, v := range centre {
				rows = append(rows, float32(v+0.35*rng.NormFloat64()))
			}
			labels = append(labels, int64(c))
		}
	}
	return matrix.FromSlice(len(labels), dim, rows), labels
}

// TestSizes: a class of many photos costs nothing. Thresholds are about those of classes that are capped at the median.
func TestSizes(t *testing.T) {
	const classes, most = 100, 6
	sizes, capped := make([]int, classes), make([]int, classes)
	for c := range sizes {
		sizes[c] = min(300, 3*classes/(c+1))
		capped[c] = min(most, sizes[c])
	}
	calibrated := func(sizes []int) *Calibration {
		x, labels := sizedSet(sizes)
		c, err := Calibrate(t.Context(), x, labels, Options{})
		if err != nil {
			t.Fatal(err)
		}
		return c
	}
	all, few := calibrated(sizes), calibrated(capped)
	if all.PerClass != few.PerClass || all.Pairs != few.Pairs {
		t.Errorf("%v photos of a class and %v pairs, capped %v and %v", all.PerClass, all.Pairs, few.PerClass,
			few.Pairs)
	}
	for _, rate := range []float64{1e-2, 1e-3} {
		a, err := all.Threshold(rate)
		if err != nil {
			t.Fatal(err)
		}
		b, err := few.Threshold(rate)
		if err != nil {
			t.Fatal(err)
		}
		t.Logf("%v: %v, capped %v", rate, a, b)
		if f := a.Distance / b.Distance; f < 0.9 || f > 1.1 {
			t.Errorf("the threshold for %v is %v, capped %v", rate, a.Distance, b.Distance)
		}
	}
	var text bytes.Buffer
	if err := all.Write(&text); err != nil {
		t.Fatal(err)
	}
	if _, err := Read(&text); err != nil {
		t.Error(err)
	}
}

// TestPhotoWeights: a class is a member of a gallery with photos that are spread evenly over its rows. In classes of
// equal sizes every photo counts.
func TestPhotoWeights(t *testing.T) {
	for _, c := range []struct {
		sizes []int
		items string // those of the last class
		want  float64
	}{
		{[]int{2, 3, 3, 7}, "[false false true false true false true]", 3. / 7},
		{[]int{1, 1, 1, 4}, "[false true false true]", 0.5},
		{[]int{7, 7, 7, 7}, "[true true true true true true true]", 1},
		{[]int{7, 7, 7, 2}, "[true true]", 1},
	} {
		x, labels := sizedSet(c.sizes)
		s, _, err := newSet(x, labels, &Options{})
		if err != nil {
			t.Fatal(err)
		}
		if got := fmt.Sprint(s.isItem[s.first[3]:]); got != c.items || s.weight[3] != c.want {
			t.Errorf("%v: items %s, weight %v", c.sizes, got, s.weight[3])
		}
		if s.weight[0] != 1 || !s.isItem[0] {
			t.Errorf("%v: the first class has the weight %v", c.sizes, s.weight[0])
		}
	}
}
