package budget

import (
	"fmt"
	"math"
	"strconv"
	"strings"
)

// units in rising order; each is 1024 of the one before.
var units = []string{"B", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB"}

// Format writes a number of bytes with the largest unit that leaves at least 1,
// rounded to three digits: 7.3 GiB.
func Format(bytes int64) string {
	v, u := float64(bytes), 0
	// 1023.5 of a unit would be written as 1024 of it.
	for u+1 < len(units) && v >= 1023.5 {
		v /= 1024
		u++
	}
	digits := 0
	switch {
	case u > 0 && v < 9.995:
		digits = 2
	case u > 0 && v < 99.95:
		digits = 1
	}
	text := strconv.FormatFloat(v, 'f', digits, 64)
	if digits > 0 {
		text = strings.TrimRight(strings.TrimRight(text, "0"), ".")
	}
	return text + " " + units[u]
}

// Parse reads a size as people write it: a positive number, whole or decimal,
// and a unit, B, K, M, G or T with or without "iB" or "B" behind it, in either
// case. All units are powers of 1024; no unit means bytes.
func Parse(text string) (int64, error) {
	bad := func() (int64, error) {
		return 0, fmt.Errorf("%q is not a size: want a positive number and a unit, as in 4GiB or 512MiB", text)
	}
	s := strings.ToLower(strings.TrimSpace(text))
	digits := strings.TrimRight(s, "abcdefghijklmnopqrstuvwxyz ")
	unit := strings.TrimSpace(s[len(digits):])
	if strings.Trim(digits, "0123456789.") != "" { // no signs, exponents, infinities
		return bad()
	}
	v, err := strconv.ParseFloat(digits, 64)
	if err != nil {
		return bad()
	}
	found := unit == ""
	scale := 1.0
	for _, u := range units {
		u = strings.ToLower(u)
		if unit == u || unit == u[:1] || unit == u[:1]+"b" {
			found = true
			break
		}
		if unit != "" {
			scale *= 1024
		}
	}
	v *= scale
	if !found || v < 1 || v >= math.MaxInt64 {
		return bad()
	}
	return int64(v), nil
}
