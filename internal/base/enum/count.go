package enum

import (
	"fmt"
	"strings"
)

// Count returns a number with its noun: 1 image, 2 images, 3 classes.
func Count(n int, thing string) string {
	if strings.HasSuffix(thing, "s") {
		return Number(n, thing, thing+"es")
	}
	return Number(n, thing, thing+"s")
}

// Number is Count with both forms given: 1 class is, 2 classes are.
func Number(n int, one, many string) string {
	if n == 1 {
		return "1 " + one
	}
	return fmt.Sprintf("%d %s", n, many)
}
