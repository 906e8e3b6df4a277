// Package soak helps tests that repeat a random comparison with one seed after another,
// for any length of time: make soak. The seed of a failure repeats it.
//
// The package's own tests give damaged files to every reader.
package soak

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"testing"
	"time"
)

// Environment variables that make soak sets.
const (
	// EnvTime is the total time, in the form of time.ParseDuration.
	EnvTime = "KINDRED_SOAK"
	// EnvSeed repeats a failure: only this seed is run, once.
	EnvSeed = "KINDRED_SEED"
)

// Share is the part of the time for each comparison: networks, indexes, losses and
// files.
const Share = 0.25

// maxFailures is the number of failures that ends a comparison.
const maxFailures = 5

// defaultSeeds is the number of seeds that are run without a time, so that the comparison itself
// keeps working.
const defaultSeeds = 2

// Run calls f with one seed after another until Share of the time in EnvTime is over, and
// prints the seed of each failure. Without a time it calls f with the seeds 1 and 2.
func Run(t *testing.T, f func(t *testing.T, seed uint64)) {
	t.Helper()
	left, err := newSeeds()
	if err != nil {
		t.Fatal(err)
	}
	failures, n := 0, 0
	for seed, ok := left(); ok && failures < maxFailures; seed, ok = left() {
		n++
		if os.Getenv(EnvTime) != "" { // keep the last line if the process ends here
			fmt.Printf("\rseed %d ", seed)
		}
		if !t.Run(fmt.Sprintf("seed %d", seed), func(t *testing.T) { f(t, seed) }) {
			failures++
			fmt.Printf("\nto repeat it: make soak SOAKS=%s SEED=%d\n", packageFolder(), seed)
		}
	}
	t.Logf("%d seeds, %d failures", n, failures)
	if os.Getenv(EnvTime) != "" {
		fmt.Printf("\r%d seeds, %d failures\n", n, failures)
	}
}

// packageFolder returns the folder of the package under test, relative to the module's.
func packageFolder() string {
	dir, err := os.Getwd() // go test runs in the package's folder
	if err != nil {
		return "."
	}
	for root := dir; root != filepath.Dir(root); root = filepath.Dir(root) {
		if _, err := os.Stat(filepath.Join(root, "go.mod")); err != nil {
			continue
		}
		if rel, err := filepath.Rel(root, dir); err == nil {
			return "./" + filepath.ToSlash(rel)
		}
	}
	return dir
}

// newSeeds returns a function that returns the next seed, and false at the end.
func newSeeds() (next func() (seed uint64, ok bool), err error) {
	if text := os.Getenv(EnvSeed); text != "" {
		seed, err := strconv.ParseUint(text, 10, 64)
		if err != nil {
			return nil, fmt.Errorf("$%s is %.40q: must be a seed, as a failure prints it", EnvSeed, text)
		}
		return seedRange(seed, 1), nil
	}
	text := os.Getenv(EnvTime)
	if text == "" {
		return seedRange(1, defaultSeeds), nil
	}
	all, err := time.ParseDuration(text)
	if err != nil || all <= 0 {
		return nil, fmt.Errorf("$%s is %.40q: must be a time such as 30m or 1h", EnvTime, text)
	}
	begun := time.Now()
	end := begun.Add(time.Duration(Share * float64(all)))
	seed := uint64(begun.UnixNano())
	return func() (uint64, bool) { seed++; return seed, time.Now().Before(end) }, nil
}

// seedRange returns the seeds from first on, n in all.
func seedRange(first, n uint64) func() (uint64, bool) {
	k := uint64(0)
	return func() (uint64, bool) { k++; return first + k - 1, k <= n }
}
