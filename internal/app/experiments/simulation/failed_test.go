package main

import (
	"regexp"
	"testing"
)

// Failed photos are found, evenly spread or not, and none where there is none.
func TestTryFailed(t *testing.T) {
	lines := 0
	err := tryFailed(t.Context(), options{scale: 0.02, seed: 2, world: regexp.MustCompile("^equal$")},
		func(l promiseLine) {
			lines++
			if !l.agrees() || l.trials == 0 || l.allowed == 0.05 && l.note != "0 failed photos missed" {
				t.Errorf("%+v", l)
			}
		})
	if err != nil || lines != 5 {
		t.Errorf("%d lines, %v", lines, err)
	}
}
