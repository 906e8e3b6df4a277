package report

import "path"

// namedText is a name in two parts: where there is no room for both, the page
// leaves out the end of the first, so that names that differ at the end stay
// different. The whole is shown on hover.
type namedText struct{ Head, Tail, Whole string }

const (
	longName = 18 // runes; shorter names are not divided
	nameTail = 10
)

// shortName divides a name; of a path the last element is shown.
func shortName(s string) namedText {
	n := namedText{Head: s, Whole: s}
	if base := path.Base(s); s != "" && base != "." && base != "/" {
		n.Head = base
	}
	if r := []rune(n.Head); len(r) > longName {
		n.Head, n.Tail = string(r[:len(r)-nameTail]), string(r[len(r)-nameTail:])
	}
	return n
}
