package flags

import (
	"math"

	"github.com/kindred-ml/kindred/internal/app/cli"
)

// CheckAtLeast refuses a flag's number below lowest.
func CheckAtLeast(flag string, v, lowest int) error {
	if v < lowest {
		return cli.Usagef("--%s %d: want at least %d", flag, v, lowest)
	}
	return nil
}

// CheckMebibytes refuses sizes in MiB that are below 1 or that an int64 of bytes cannot hold.
func CheckMebibytes(flag string, v int) error {
	if v < 1 || v > math.MaxInt64>>20 {
		return cli.Usagef("--%s %d: want at least 1 MiB and at most %d", flag, v, int64(math.MaxInt64)>>20)
	}
	return nil
}

// CheckBetween refuses a flag's number outside [low, high], and NaN.
func CheckBetween(flag string, v, low, high float64) error {
	if !(v >= low && v <= high) {
		return cli.Usagef("--%s %g: want a number from %g to %g", flag, v, low, high)
	}
	return nil
}

// CheckPositive refuses every value but a finite number above 0.
func CheckPositive(flag string, v float64) error {
	if !(v > 0) || math.IsInf(v, 1) {
		return cli.Usagef("--%s %g: want a number above 0", flag, v)
	}
	return nil
}
