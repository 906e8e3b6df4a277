package decide

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/kindred-ml/kindred/eval/rank"
	"github.com/kindred-ml/kindred/mat"
)

// scaled draws a gallery and strangers like drawnGroups without groups, at a scale.
func scaled(seed uint64, classes int, scale float32) (gallery *mat.Dense, labels []string, strangers *mat.Dense) {
	s := drawnGroups(seed, classes+50, 1, 0, 0)
	for k := range s.x.Data {
		s.x.Data[k] *= scale
	}
	for q := range s.first[classes] {
		labels = append(labels, fmt.Sprint(s.of[q]))
	}
	return s.x.RowRange(0, s.first[classes]), labels, s.x.RowRange(s.first[classes], s.x.Rows)
}

// TestGalleryDrift: in a gallery at a fifth of the calibration's scale nearly all strangers are near enough
// by the calibration, and few by the gallery's own classes; in galleries like the calibration nothing
// changes.
func TestGalleryDrift(t *testing.T) {
	cal := drawnGroups(1, 150, 1, 0, 0)
	var of []int64
	for _, i := range cal.of {
		of = append(of, int64(i))
	}
	c, err := Calibrate(t.Context(), cal.x, of, Options{})
	if err != nil {
		t.Fatal(err)
	}
	in := func(x, gallery *mat.Dense, labels []string, apart *Apart) (share float64, drift bool) {
		g := NewGallery(labels)
		g.Apart = apart
		d, err := c.Decider(g, IdentifyOptions{})
		if err != nil {
			t.Fatal(err)
		}
		near, err := rank.Nearest(t.Context(), x, gallery, 1, rank.Options{})
		if err != nil {
			t.Fatal(err)
		}
		for _, v := range near.Value {
			if rank.Euclidean.From(v) <= d.unknown[0].Distance {
				share += 1 / float64(x.Rows)
			}
		}
		return share, d.unknown[0].Drift > 0
	}
	for _, classes := range []int{10, 40} {
		wrong := 0
		for seed := range uint64(20) {
			gallery, labels, x := scaled(seed+2, classes, 1)
			apart, err := NewApart(t.Context(), gallery, labels, rank.Euclidean)
			if err != nil {
				t.Fatal(err)
			}
			if _, drift := in(x, gallery, labels, apart); drift {
				wrong++
			}
			gallery, labels, x = scaled(seed+2, classes, 0.2)
			if apart, err = NewApart(t.Context(), gallery, labels, rank.Euclidean); err != nil {
				t.Fatal(err)
			}
			if all, _ := in(x, gallery, labels, nil); all < 0.99 {
				t.Fatalf("%d classes: %.3f of the strangers without the gallery's own classes", classes, all)
			}
			if few, drift := in(x, gallery, labels, apart); !drift || few > 0.3 {
				t.Errorf("%d classes: %.3f of the strangers, drift %v", classes, few, drift)
			}
		}
		if wrong > 3 {
			t.Errorf("%d classes: drift in %d of 20 galleries like the calibration", classes, wrong)
		}
	}
}

// TestNewApart: distances are those of loops, classes of one item and of many weigh alike, items
// without a label and galleries of one class say nothing.
func TestNewApart(t *testing.T) {
	rng := rand.New(rand.NewPCG(4, 4))
	x, labels := mat.New(4000, 3), make([]string, 4000)
	for i := range labels {
		for k := range 3 {
			x.Row(i)[k] = float32(rng.NormFloat64())
		}
		labels[i] = "large"
		if i%40 == 0 {
			labels[i] = fmt.Sprint("small ", i)
		}
		if i%40 == 1 {
			labels[i] = ""
		}
	}
	for _, by := range []rank.Distance{rank.Euclidean, rank.Cosine, rank.Dot} {
		a, err := NewApart(t.Context(), x, labels, by)
		if err != nil || a.Classes != 101 || len(a.Near) != 100+9 {
			t.Fatalf("%+v %v", a, err)
		}
		least := distance(by, x.Row(0), x.Row(2))
		for i := range labels {
			for j := range labels {
				if labels[i] != labels[j] && labels[i] != "" && labels[j] != "" && labels[i] != "large" {
					least = min(least, distance(by, x.Row(i), x.Row(j)))
				}
			}
		}
		if d := a.Near[0] - least; d > 1e-5 || d < -1e-5 {
			t.Errorf("%v: the nearest is at %v, loops say %v", by, a.Near[0], least)
		}
	}
	a, err := NewApart(t.Context(), x, make([]string, 4000), rank.Euclidean)
	if err != nil || a.Classes != 0 || len(a.Near) != 0 {
		t.Errorf("%+v %v", a, err)
	}
	if _, err := NewApart(t.Context(), x, labels[1:], rank.Euclidean); err == nil {
		t.Error("too few labels")
	}
	equal := &Apart{Classes: 2, Near: []float64{1, 1, 1, 1}}
	got := equal.drifted(Threshold{Rate: 0.05, Distance: 2})
	if got.Distance >= 1 || got.Drift != 1 || got.Measured != 0 {
		t.Errorf("%+v", got)
	}
}
