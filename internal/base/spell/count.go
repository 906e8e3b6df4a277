package spell

import (
	"fmt"
	"strings"
)

// Count is a number of things: 1 image, 2 images, 3 classes.
func Count(n int, thing string) string {
	switch {
	case n == 1:
	case strings.HasSuffix(thing, "s"):
		thing += "es"
	default:
		thing += "s"
	}
	return fmt.Sprintf("%d %s", n, thing)
}
