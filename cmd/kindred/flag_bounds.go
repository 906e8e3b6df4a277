package main

import (
	"math"

	"github.com/kindred-ml/kindred/internal/base/budget"
)

// checkAtLeast refuses a flag's number below lowest.
func checkAtLeast(flag string, v, lowest int) error {
	if v < lowest {
		return usagef("--%s %d: want at least %d", flag, v, lowest)
	}
	return nil
}

// checkMebibytes refuses sizes in MiB that are below 1 or that an int64 of bytes cannot hold.
func checkMebibytes(flag string, v int) error {
	if v < 1 || v > math.MaxInt64>>20 {
		return usagef("--%s %d: want at least 1 MiB and at most %d", flag, v, int64(math.MaxInt64)>>20)
	}
	return nil
}

// checkBetween refuses a flag's number outside [low, high], and NaN.
func checkBetween(flag string, v, low, high float64) error {
	if !(v >= low && v <= high) {
		return usagef("--%s %g: want a number from %g to %g", flag, v, low, high)
	}
	return nil
}

// checkPositive refuses every value but a finite number above 0.
func checkPositive(flag string, v float64) error {
	if !(v > 0) || math.IsInf(v, 1) {
		return usagef("--%s %g: want a number above 0", flag, v)
	}
	return nil
}

// checkMemory refuses a setting whose memory, the product of the given counts and
// sizes, exceeds the limit.
func checkMemory(what string, factors ...int64) error {
	return budget.Check(what, budget.Product(factors...))
}
