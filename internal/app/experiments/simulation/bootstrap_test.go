package main

import (
	"regexp"
	"testing"
)

// Sets of each shape, in the world where resampled queries missed most, and in a world of groups.
func TestTryBootstrap(t *testing.T) {
	if testing.Short() {
		t.Skip("ranks some thousand sets")
	}
	lines := 0
	ask := options{scale: 0.02, seed: 5, world: regexp.MustCompile("^(hard|super)$")}
	err := tryBootstrap(t.Context(), ask, func(l promiseLine) {
		lines++
		if l.trials != 20 || !l.agrees() {
			t.Errorf("%+v", l)
		}
	})
	if err != nil || lines != 16 {
		t.Errorf("%d lines, %v", lines, err)
	}
}
