package torchfile

import (
	"slices"
	"testing"
)

// TestScanBorders: instructions whose operands reach exactly to the next one
// pass, and those that reach beyond the end do not.
func TestScanBorders(t *testing.T) {
	bytes := func(parts ...any) (b []byte) {
		for _, p := range parts {
			switch p := p.(type) {
			case int:
				b = append(b, byte(p))
			case string:
				b = append(b, p...)
			}
		}
		return b
	}
	zero7 := "\x00\x00\x00\x00\x00\x00\x00"
	for name, tc := range map[string]struct {
		p  []byte
		ok bool
	}{
		"a frame to the end":      {bytes(0x80, 4, 0x95, 2, zero7, "N."), true},
		"a frame beyond":          {bytes(0x80, 4, 0x95, 3, zero7, "N."), false},
		"a frame of nothing":      {bytes(0x95, 0, zero7, "N."), true},
		"a frame cut":             {bytes(0x95, 2, zero7[:6]), false},
		"text of a byte's length": {bytes(0x8c, 3, "abc", "."), true},
		"beyond":                  {bytes(0x8c, 4, "abc"), false},
		"without an end":          {bytes(0x8c, 3, "abc"), false},
		"text of four":            {bytes("X", 3, 0, 0, 0, "abc", "."), true},
		"text of eight":           {bytes(0x8d, 3, zero7, "abc", "."), true},
		"eight beyond":            {bytes(0x8d, 5, zero7, "abc", "."), false},
		"eight cut":               {bytes(0x8d, 3, zero7[:6]), false},
		"a number":                {bytes("J", 1, 2, 3, 4, "."), true},
		"a number cut":            {bytes("J", 1, 2, 3), false},
		"a class":                 {bytes("ca\nb\n."), true},
		"a class cut":             {bytes("ca\nb"), false},
		"what follows the end":    {bytes("N.", 0xff, 0xff), true},
		"an unknown instruction":  {bytes("N", 0xff, "."), false},
		"nothing":                 {nil, false},
	} {
		before := slices.Clone(tc.p)
		if _, err := checkProgram(tc.p); (err == nil) != tc.ok {
			t.Errorf("%s: %v", name, err)
		}
		if !slices.Equal(before, tc.p) {
			t.Errorf("%s: changed", name)
		}
	}
}
