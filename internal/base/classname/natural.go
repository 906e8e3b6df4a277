package classname

import "cmp"

// Compare orders names of classes with runs of digits compared as numbers: class2 before class10.
func Compare(a, b string) int {
	x, y := a, b
	for x != "" && y != "" {
		dx, dy := digits(x), digits(y)
		if dx == 0 || dy == 0 {
			if x[0] != y[0] {
				return cmp.Compare(x[0], y[0])
			}
			x, y = x[1:], y[1:]
			continue
		}
		nx, ny := trimZeros(x[:dx]), trimZeros(y[:dy])
		if o := cmp.Or(cmp.Compare(len(nx), len(ny)), cmp.Compare(nx, ny)); o != 0 {
			return o
		}
		x, y = x[dx:], y[dy:]
	}
	return cmp.Or(cmp.Compare(len(x), len(y)), cmp.Compare(a, b))
}

func digits(s string) int {
	n := 0
	for n < len(s) && '0' <= s[n] && s[n] <= '9' {
		n++
	}
	return n
}

func trimZeros(s string) string {
	for len(s) > 1 && s[0] == '0' {
		s = s[1:]
	}
	return s
}
