package main

import (
	"math"
	"math/rand/v2"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// A set of each shape and noise for which the promises held least: look-alikes 1.2 deviations
// apart, where 103 of 205 suspects from 0.9 on had right labels. And classes of one item.
func TestTryClean(t *testing.T) {
	for _, world := range []string{"^alone$", "^pairs 1.2$"} {
		var lines, trials int
		err := tryClean(t.Context(), options{scale: 0.001, seed: 3, world: regexp.MustCompile(world)},
			func(l promiseLine) {
				lines++
				trials += l.trials
				if !l.agrees() {
					t.Errorf("%+v", l)
				}
			})
		if want := map[string]int{"^alone$": 1, "^pairs 1.2$": 15}[world]; err != nil || lines != want || trials == 0 {
			t.Errorf("%s: %d lines of %d trials, %v", world, lines, trials, err)
		}
	}
}

// Labels are made wrong at the rate, to the classes of the target.
func TestNoise(t *testing.T) {
	w := newWorlds()[0]
	x, labels := w.draw(rand.New(rand.NewPCG(1, 1)), equalSizes(6, 200))
	near := nearestClasses(x, labels)
	for _, c := range []struct {
		labelNoise
		labels int // number of labels that wrong items have
		least  int64
	}{{labelNoise{}, 0, 0}, {labelNoise{0.1, anyClass}, 6, 0},
		{labelNoise{0.1, nearestClass}, len(uniqueLabels(near)), 0},
		{labelNoise{0.1, oneDefault}, 1, 0}, {labelNoise{0.1, twoDefaults}, 2, 0}, {labelNoise{0.1, newDefault}, 1, 6},
		{labelNoise{0.1, halfDefault}, 6, 0}} {
		noisy, wrong := c.apply(rand.New(rand.NewPCG(2, 1)), x, labels, false)
		var to []int64
		for i, y := range noisy {
			if wrong[i] != (y != labels[i]) || wrong[i] && c.to == nearestClass && y != near[labels[i]] {
				t.Errorf("%s: item %d of class %d has %d", c, i, labels[i], y)
			}
			if wrong[i] {
				to = append(to, y)
			}
		}
		if n := float64(len(to)); n < 900*c.share || n > 1400*c.share || len(uniqueLabels(to)) != c.labels ||
			len(to) > 0 && slices.Min(to) < c.least {
			t.Errorf("%s: %g changed, to %v", c, n, uniqueLabels(to))
		}
		noisy, wrong = c.apply(rand.New(rand.NewPCG(2, 1)), x, labels, true)
		for i := 1; i < len(noisy); i += 2 {
			if wrong[i-1] && wrong[i] {
				t.Errorf("%s: both copies %d and %d", c, i-1, i)
			}
		}
	}
	if s := (labelNoise{0.05, nearestClass}).String(); !strings.Contains(s, "5 % to the nearest") {
		t.Error(s)
	}
}

func uniqueLabels(labels []int64) []int64 {
	return slices.Compact(slices.Sorted(slices.Values(labels)))
}

// The precision counts down to each wrong label.
func TestAveragePrecision(t *testing.T) {
	got := averagePrecision([]float64{0.1, 0.9, 0.5, 0.7}, []bool{false, true, true, false})
	if want := (1 + 2./3) / 2; math.Abs(got-want) > 1e-12 {
		t.Errorf("%g, want %g", got, want)
	}
	if got := averagePrecision([]float64{1}, []bool{false}); got != 0 {
		t.Errorf("of none: %g", got)
	}
}
