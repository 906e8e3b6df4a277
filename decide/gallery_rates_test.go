package decide

import (
	"math"
	"testing"
)

// TestAmong: the prior is that of a photo and an item of the gallery, whatever is known of
// the labels, and probabilities are written without pretending certainty.
func TestAmong(t *testing.T) {
	c := &Calibration{PerClass: 4, Curve: Curve{Distance: []float64{0, 1}, LogOdds: []float64{6, -6}}}
	for _, e := range []struct {
		g         Gallery
		strangers float64
		prior     float64
	}{
		{NewGallery([]string{"a", "b", "c", "d"}), 0, 0.5 / 4},
		{NewGallery([]string{"a", "a", "a", "b"}), 0.2, 0.8 * (9 + 1) / 16},
		{Gallery{Items: 400}, 0.5, 0.5 * 4 / 400},
		{Gallery{Items: 2}, 0.5, 0.5}, // all of one class at most
		{Gallery{}, 0.5, 0.5},
	} {
		a, err := c.GalleryRates(e.g, e.strangers)
		if err != nil {
			t.Fatal(err)
		}
		for _, d := range []float64{0, 0.3, 2} {
			if have, want := a.MatchProbability(d), c.MatchProbability(d, e.prior); math.Abs(have-want) > 1e-12 {
				t.Errorf("%+v at %g: %g, want %g", e.g, d, have, want)
			}
		}
	}
	for _, s := range []float64{-1, 1, math.NaN()} {
		if _, err := c.GalleryRates(Gallery{}, s); err == nil {
			t.Errorf("a share of strangers of %g is taken", s)
		}
	}
	for p, want := range map[float64]string{0: "under 0.1 %", 0.004: "0.4 %", 0.5: "50 %", 0.97: "97 %",
		0.994: "99.4 %", 1: "over 99.9 %"} {
		if have := Percent(p); have != want {
			t.Errorf("%g is written %s, want %s", p, have, want)
		}
	}
}
