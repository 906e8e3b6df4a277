package soak

import (
	"slices"
	"strings"
	"testing"
)

// TestSeeds checks that there are two seeds without a time, only the given seed with one, and
// different seeds until the time is over with a time.
func TestSeeds(t *testing.T) {
	all := func() (out []uint64) {
		next, err := newSeeds()
		if err != nil {
			t.Fatal(err)
		}
		for s, ok := next(); ok && len(out) < 5; s, ok = next() {
			out = append(out, s)
		}
		return out
	}
	t.Setenv(EnvSeed, "")
	t.Setenv(EnvTime, "")
	if got := all(); !slices.Equal(got, []uint64{1, 2}) {
		t.Errorf("%v", got)
	}
	t.Setenv(EnvTime, "10h")
	if got := all(); len(got) != 5 || len(slices.Compact(got)) != 5 {
		t.Errorf("%v", got)
	}
	t.Setenv(EnvSeed, "77")
	if got := all(); !slices.Equal(got, []uint64{77}) {
		t.Errorf("%v", got)
	}
	for name, value := range map[string]string{EnvSeed: "x", EnvTime: "0s"} {
		t.Setenv(EnvSeed, "")
		t.Setenv(name, value)
		if _, err := newSeeds(); err == nil || !strings.Contains(err.Error(), name) {
			t.Errorf("%s=%s: %v", name, value, err)
		}
	}
}

// TestRun checks that f is called with each seed.
func TestRun(t *testing.T) {
	t.Setenv(EnvSeed, "")
	t.Setenv(EnvTime, "")
	var got []uint64
	Run(t, func(_ *testing.T, seed uint64) { got = append(got, seed) })
	if !slices.Equal(got, []uint64{1, 2}) {
		t.Errorf("%v", got)
	}
}

// TestFolder checks that a failure names the package in the form for make soak.
func TestFolder(t *testing.T) {
	if got := packageFolder(); got != "./internal/test/soak" {
		t.Error(got)
	}
}
