package main

import (
	"regexp"
	"testing"
)

// Size divides no class, nor do heavy tails beside a class of several kinds; kinds far apart are
// found. A few of the worlds, of few sets each.
func TestDiscover(t *testing.T) {
	ask := &ask{scale: 0.08, seed: 1} // of 25 sets two
	at := map[string]kindsWorld{}
	for _, w := range kindsWorlds() {
		at[w.name] = w
	}
	for _, c := range []struct {
		world, setting string
		broken         int // most, of Binomial(trials, 0.05) with probability 0.01
	}{
		{"equal", "^40 classes of 20, ten 1.25 ", 9},
		{"equal", "^40 classes of 20, ten 1.5 ", 9},
		{"unequal", "^60 classes of 2 to 300$", 9},
		{"heavy", "^10 classes of 60, two of four", 3},
		{"exponential", "^10 classes of 60, two of four", 3},
	} {
		w := at[c.world]
		for _, s := range oneKind() {
			if !regexp.MustCompile(c.setting).MatchString(s.name) {
				continue
			}
			one, several, err := w.judge(t.Context(), ask, &s, 1)
			if err != nil || one.trials < 16 || one.broken > c.broken {
				t.Errorf("%s: %d of %d classes of one kind are divided, %v", one.world, one.broken, one.trials, err)
			}
			if s.several > 0 && w.shape == nil && several.broken > 0 {
				t.Errorf("%s: %d of %d of several are whole", several.world, several.broken, several.trials)
			}
		}
	}
	for _, s := range severalKinds() {
		if s.apart < 14 || s.classes != 40 {
			continue
		}
		w := at["equal"]
		if _, l, err := w.judge(t.Context(), ask, &s, 2); err != nil || l.trials != 20 || l.broken > 2 {
			t.Errorf("%s: %d of %d are whole, %v", l.world, l.broken, l.trials, err)
		}
	}
}

// A line of the table has as many trials as there are classes of one kind, or of several.
func TestTryDiscover(t *testing.T) {
	lines := map[string]int{}
	err := tryDiscover(t.Context(), ask{0.01, 1, regexp.MustCompile("^peak$")}, func(l line) {
		lines[l.promise]++
		if l.trials+l.refused == 0 || !l.holds() {
			t.Errorf("%+v", l)
		}
	})
	if err != nil || len(lines) != 1 || lines["discover: a class of one kind is divided"] != len(oneKind()) {
		t.Errorf("%v, %v", lines, err)
	}
	few := &ask{scale: 0.01, seed: 7}
	w, s := kindsWorlds()[0], severalKinds()[0]
	if one, several, err := w.judge(t.Context(), few, &s, 3); err != nil ||
		one.trials != s.classes-s.several || several.trials != s.several {
		t.Errorf("%+v, %+v, %v", one, several, err)
	}
}
