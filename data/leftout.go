package data

import (
	"cmp"
	"fmt"
	"path"
	"slices"
	"strings"
)

// LeftOut tells of files that are no samples, or samples that could not be read,
// for one reason.
type LeftOut struct {
	Reason string `json:"reason"`
	Count  int    `json:"count"`
	// First names the first few, in the order met.
	First []string `json:"first"`
}

// firstFew is the length of LeftOut.First.
const firstFew = 5

// String gives the count, the reason and the first names on one line.
func (l LeftOut) String() string {
	more := ""
	if l.Count > len(l.First) {
		more = ", ..."
	}
	return fmt.Sprintf("left out %d: %s: %s%s", l.Count, l.Reason, strings.Join(l.First, ", "), more)
}

// countLeftOut adds one more to the list.
func countLeftOut(list []LeftOut, reason, name string) []LeftOut {
	i := slices.IndexFunc(list, func(l LeftOut) bool { return l.Reason == reason })
	if i < 0 {
		i = len(list)
		list = append(list, LeftOut{Reason: reason})
	}
	l := &list[i]
	if l.Count++; l.Count <= firstFew {
		l.First = append(l.First, name)
	}
	return list
}

// notAnImage says why a file of that name is taken for no image.
func notAnImage(name string) string {
	switch ext := strings.ToLower(path.Ext(name)); ext {
	case ".heic", ".heif", ".avif", ".jxl", ".jp2", ".psd", ".raw", ".dng", ".cr2", ".nef", ".arw", ".svg":
		return ext + " images cannot be read: convert them to JPEG or PNG"
	default:
		return fmt.Sprintf("not an image by its name (%s)", cmp.Or(ext, "no extension"))
	}
}
