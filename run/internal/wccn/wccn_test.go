package wccn

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/kindred-ml/kindred/matrix"
)

// newClassRows are n rows of d values in classes, which differ more along the first axis than
// along the others, in and between classes as given.
func newClassRows(n, d, classes int, within, between []float64) (*matrix.Dense, []int64) {
	rng := rand.New(rand.NewPCG(7, 7))
	x, labels := matrix.New(n, d), make([]int64, n)
	centres := matrix.New(classes, d)
	for c := range classes {
		for j := range d {
			centres.Row(c)[j] = float32(between[j] * rng.NormFloat64())
		}
	}
	for i := range n {
		labels[i] = int64(i % classes)
		for j := range d {
			x.Row(i)[j] = centres.Row(i % classes)[j] + float32(within[j]*rng.NormFloat64())
		}
	}
	return x, labels
}

// TestWCCN: the layer's square is the inverse of the shrunk covariance within classes, computed here
// from its definition, and the mean of the samples is mapped to zero.
func TestWCCN(t *testing.T) {
	const n, d, classes = 60, 5, 4
	x, labels := newClassRows(n, d, classes, []float64{3, 1, 1, 0.5, 0}, []float64{1, 2, 1, 1, 1})
	w := New(x, labels)
	if w == nil || w.Samples != n {
		t.Fatalf("%+v", w)
	}
	var mean [d]float64
	var of [classes][d]float64
	for i := range n {
		for j, v := range x.Row(i) {
			mean[j] += float64(v) / n
			of[labels[i]][j] += float64(v) / (n / classes)
		}
	}
	var s [d][d]float64
	trace := 0.0
	for a := range d {
		for b := range d {
			for i := range n {
				m := of[labels[i]]
				s[a][b] += (float64(x.Row(i)[a]) - m[a]) * (float64(x.Row(i)[b]) - m[b]) / (n - classes)
			}
		}
		trace += s[a][a] / d
	}
	for a := range d { // T'T (S + k v I) = (1 + k) v I
		for b := range d {
			got := 0.0
			for j := range d {
				square := 0.0
				for k := range d {
					square += float64(w.Weight.Row(k)[a]) * float64(w.Weight.Row(k)[j])
				}
				shrunk := s[j][b]
				if j == b {
					shrunk += shrinkage * trace
				}
				got += square * shrunk
			}
			want := 0.0
			if a == b {
				want = (1 + shrinkage) * trace
			}
			if math.Abs(got-want) > 1e-4*trace {
				t.Errorf("T'T (S + k v I) at %d, %d is %v, want %v", a, b, got, want)
			}
		}
	}
	row := matrix.New(1, d)
	for j := range d {
		row.Data[j] = float32(mean[j])
	}
	for j, v := range w.Apply(row).Data {
		if math.Abs(float64(v)) > 1e-5 {
			t.Errorf("value %d of the mean is %v, want 0", j, v)
		}
	}
}

// Features that do not tell how samples of a class differ give no layer.
func TestNoWCCN(t *testing.T) {
	one := []float64{1, 1, 1}
	x, labels := newClassRows(13, 3, 4, one, one)
	if New(x, labels) != nil {
		t.Error("a layer of 13 samples of 4 classes")
	}
	x, labels = newClassRows(14, 3, 4, one, one)
	if New(x, labels) == nil {
		t.Error("no layer of 14 samples of 4 classes")
	}
	x, labels = newClassRows(40, 3, 4, []float64{0, 0, 0}, one)
	if New(x, labels) != nil {
		t.Error("a layer of classes whose samples are the same")
	}
	x.Row(3)[1] = float32(math.NaN())
	if New(x, labels) != nil {
		t.Error("a layer of what is no number")
	}
}
