package main

import (
	"testing"
)

func findWorld(t *testing.T, name string) *world {
	for _, w := range newWorlds() {
		if w.name == name {
			return &w
		}
	}
	t.Fatal("no world " + name)
	return nil
}

// TestPromisesOfDecide tries the cases that were broken in at least a fifth of the trials by bounds
// that ignore the single gallery, or that classes lie in groups.
func TestPromisesOfDecide(t *testing.T) {
	var lines []promiseLine
	for _, e := range []struct {
		world    string
		classes  int
		gallery  int
		fraction float64
	}{{"equal", 100, 20, 0.1}, {"super", 50, 10, 0.05}, {"tiers", 20, 100, 0.03}} {
		l, err := findWorld(t, e.world).tryGalleries(t.Context(), options{scale: e.fraction, seed: 1}, e.classes,
			e.gallery)
		if err != nil {
			t.Fatal(err)
		}
		lines = append(lines, l)
	}
	more, err := findWorld(t, "tiers").tryRates(t.Context(), options{scale: 0.12, seed: 1}, 20, []float64{1e-2})
	if err != nil {
		t.Fatal(err)
	}
	again, err := findWorld(t, "tiers").tryRates(t.Context(), options{scale: 0.2, seed: 1}, 50, []float64{1e-2})
	if err != nil {
		t.Fatal(err)
	}
	for _, l := range append(append(lines, more...), again...) {
		t.Logf("%+v", l)
		if float64(l.broken) > 0.05*float64(l.trials+l.refused)+1 || l.trials < 10 {
			t.Errorf("%+v", l)
		}
	}
}

// TestLabelsOfGroups: the probability of a label is near the right share if strangers belong to other
// groups than the gallery's classes. In the calibration they do not.
func TestLabelsOfGroups(t *testing.T) {
	l, err := findWorld(t, "super").tryLabelSize(t.Context(), options{scale: 0.2, seed: 1}, 50, 50, false)
	if err != nil {
		t.Fatal(err)
	}
	if l.mean > 0.07 {
		t.Errorf("%+v", l)
	}
}
