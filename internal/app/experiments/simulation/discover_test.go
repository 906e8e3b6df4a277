package main

import (
	"regexp"
	"testing"
)

// Neither size nor heavy tails beside a class with several sub-classes divide a class. Sub-classes
// are found as often as before, and nearly all that are far apart. The test tries a few of the
// worlds, with few sets each.
func TestDiscover(t *testing.T) {
	ask := &options{scale: 0.08, seed: 1} // of 25 sets two
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
	// 23 of 50 pairs six deviations apart are whole, and 12 eight apart. Without the gap along the class it was at
	// most 18 and 4.
	ask.scale = 0.2
	for _, s := range severalKinds() {
		most, asked := map[string]int{
			"40 classes of 20, ten of two kinds 6 apart":    27,
			"40 classes of 20, ten of two kinds 8 apart":    15,
			"40 classes of 20, ten of two kinds 14 apart":   1,
			"40 classes of 30, ten of three kinds 14 apart": 1,
			"40 classes of 60, ten of six kinds 14 apart":   1,
		}[s.name]
		if !asked {
			continue
		}
		w := at["equal"]
		if _, l, err := w.judge(t.Context(), ask, &s, 2); err != nil || l.trials != 50 || l.broken > most {
			t.Errorf("%s: %d of %d are whole, %v", l.world, l.broken, l.trials, err)
		}
	}
	// A line is the shape that is nearest to a gap.
	for _, s := range oneKind() {
		if s.name != "40 classes of 20" {
			continue
		}
		w := at["line"]
		if l, _, err := w.judge(t.Context(), ask, &s, 3); err != nil || l.trials != 200 || l.broken > 17 {
			t.Errorf("%s: %d of %d are divided, %v", l.world, l.broken, l.trials, err)
		} // of Binomial(200, 0.05) more has probability 0.01
	}
}

// A line of the table has as many trials as there are classes without sub-classes, or with several.
func TestTryDiscover(t *testing.T) {
	lines := map[string]int{}
	err := tryDiscover(t.Context(), options{scale: 0.01, seed: 1, world: regexp.MustCompile("^peak$")},
		func(l promiseLine) {
			lines[l.promise]++
			if l.trials+l.refused == 0 || !l.agrees() {
				t.Errorf("%+v", l)
			}
		})
	if err != nil || len(lines) != 1 || lines["discover: a class without sub-classes is divided"] != len(oneKind()) {
		t.Errorf("%v, %v", lines, err)
	}
	few := &options{scale: 0.01, seed: 7}
	w, s := kindsWorlds()[0], severalKinds()[0]
	if one, several, err := w.judge(t.Context(), few, &s, 3); err != nil ||
		one.trials != s.classes-s.several || several.trials != s.several {
		t.Errorf("%+v, %+v, %v", one, several, err)
	}
}
