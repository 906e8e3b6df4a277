package report

import (
	"path"
	"regexp"
	"strings"
)

// namedText is a name in two parts. Where there is no room for both, the page
// leaves out the end of the first, so names that differ at the end stay
// different. The whole name is shown on hover.
type namedText struct{ Head, Tail, Whole string }

const (
	longName = 14 // runes; shorter names are not divided
	nameTail = 8
)

// shortName divides a name.
func shortName(s string) namedText {
	n := namedText{Head: s, Whole: s}
	if r := []rune(s); len(r) > longName {
		n.Head, n.Tail = string(r[:len(r)-nameTail]), string(r[len(r)-nameTail:])
	}
	return n
}

// shortPath divides the last element of a path; the whole is the path.
func shortPath(s string) namedText {
	n := shortName(s)
	if base := path.Base(s); s != "" && base != "." && base != "/" {
		n = shortName(base)
	}
	n.Whole = s
	return n
}

// numberPattern matches a number with its unit or its spread, which belong on one line.
var numberPattern = regexp.MustCompile(`(\d) ((?:ms|s|min|h|nats|MB|MiB|GB|GiB|seeds|x)\b|[%×±]) ?(\d)?`)

// relationPattern matches a relation sign with the number after it.
var relationPattern = regexp.MustCompile(` ([=<>≤≥]|<=|>=) ([-−+]?\d)`)

// keepTogether keeps a number on one line with its unit, spread or sign.
func keepTogether(s string) string {
	s = strings.ReplaceAll(relationPattern.ReplaceAllString(s, nbsp+"$1"+nbsp+"$2"), ", %", ","+nbsp+"%")
	return numberPattern.ReplaceAllStringFunc(s, func(m string) string {
		part := numberPattern.FindStringSubmatch(m)
		out := part[1] + nbsp + part[2]
		switch {
		case part[3] != "":
			out += nbsp + part[3]
		case m[len(m)-1] == ' ':
			out += " "
		}
		return out
	})
}

const nbsp = "\u00a0"
