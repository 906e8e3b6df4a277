package option

import "testing"

// TestOr: 0 is a setting of its own.
func TestOr(t *testing.T) {
	for _, c := range []struct {
		given     *float64
		def, want float64
	}{{nil, 0.2, 0.2}, {new(0.0), 0.2, 0}, {new(0.5), 0.2, 0.5}} {
		if got := OrDefault(c.given, c.def); got != c.want {
			t.Errorf("%v, by default %v: %v, want %v", c.given, c.def, got, c.want)
		}
	}
}
