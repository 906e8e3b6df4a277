// Package budgettest helps tests of readers: it sets the limit of package budget, and
// measures how much memory a function allocates.
package budgettest

import (
	"errors"
	"runtime"
	"runtime/debug"
	"strings"
	"testing"

	"github.com/kindred-ml/kindred/internal/base/budget"
)

// Limit sets the limit of package budget for one test.
func Limit(t *testing.T, bytes int64) {
	t.Helper()
	old := debug.SetMemoryLimit(bytes)
	t.Cleanup(func() { debug.SetMemoryLimit(old) })
}

// Allocated returns how much memory f allocates in all.
func Allocated(f func()) int64 {
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	f()
	runtime.ReadMemStats(&after)
	return int64(after.TotalAlloc - before.TotalAlloc)
}

// CheckRefused checks that reading fails because of the limit, with figures in the error,
// before much memory is allocated.
func CheckRefused(t *testing.T, name string, most int64, read func() error) {
	t.Helper()
	var err error
	n := Allocated(func() { err = read() })
	var e *budget.Error
	if !errors.As(err, &e) || !strings.Contains(err.Error(), "--memory") {
		t.Errorf("%s: error %v, want one about the limit", name, err)
	}
	if n > most {
		t.Errorf("%s: took %s", name, budget.Format(n))
	}
}

// CheckBounded runs f, which reads n bytes. It fails if f allocates more than a constant plus
// the memory that a dense file of that size can need.
func CheckBounded(t *testing.T, n int, f func()) {
	t.Helper()
	if got := Allocated(f); got > 64<<20+4096*int64(n) {
		t.Fatalf("%d bytes made the reader take %d", n, got)
	}
}
