package tree

import (
	"cmp"
	"fmt"
	"path"
	"slices"
	"strconv"
	"strings"

	"github.com/kindred-ml/kindred/data/imaging"
)

// LeftOut are files or samples that were left out for one reason.
type LeftOut struct {
	Reason string
	Count  int
	First  []string // names of the first few
	Used   bool     // they were used nevertheless, but changed as Reason says
}

// MaxNames is the most names in leftOut.First.
const MaxNames = 5

// String returns the count, the reason and the first names on one line.
func (l LeftOut) String() string {
	more := ""
	if l.Count > len(l.First) {
		more = ", ..."
	}
	first := slices.Clone(l.First)
	for i, name := range first {
		if UnwritableReason(name) != "" {
			first[i] = strconv.Quote(name)
		}
	}
	if l.Used {
		return fmt.Sprintf("%d %s: %s%s", l.Count, l.Reason, strings.Join(first, ", "), more)
	}
	return fmt.Sprintf("left out %d: %s: %s%s", l.Count, l.Reason, strings.Join(first, ", "), more)
}

// Count adds a number of items to the list, and names the first few of a reason.
func Count(list []LeftOut, reason string, count int, names ...string) []LeftOut {
	i := slices.IndexFunc(list, func(l LeftOut) bool { return l.Reason == reason })
	if i < 0 {
		i = len(list)
		list = append(list, LeftOut{Reason: reason})
	}
	l := &list[i]
	l.Count += count
	l.First = append(l.First, names[:min(len(names), max(0, MaxNames-len(l.First)))]...)
	return list
}

// NotSampleReason returns the reason why a file of t is not taken for an image, or "".
func NotSampleReason(t Tree, name string) string {
	switch {
	case !IsImage(t, name):
		return NotImageReason(name)
	case UnwritableReason(name) != "":
		return UnwritableNameReason(name)
	}
	return ""
}

// NotImageReason returns the reason why a file with this name is not taken for an image.
func NotImageReason(name string) string {
	if imaging.NeedsDecoder(name) {
		return "no decoder for HEIC ('kindred formats get heic' fetches one; or convert them to JPEG)"
	}
	switch ext := strings.ToLower(path.Ext(name)); ext {
	case ".jp2", ".psd", ".raw", ".dng", ".cr2", ".cr3", ".nef", ".arw", ".svg":
		return fmt.Sprintf("no decoder for %s (convert them to JPEG, as by magick mogrify -format jpg *%s)",
			strings.ToUpper(ext[1:]), ext)
	default:
		if UnwritableReason(ext) != "" {
			ext = strconv.Quote(ext)
		}
		return fmt.Sprintf("not an image by its name (%s)", cmp.Or(ext, "no extension"))
	}
}

// Sentence returns a list of what was left out, to be appended to a sentence.
func Sentence(left []LeftOut) string {
	said := ""
	for _, l := range left {
		said += "; " + l.String()
	}
	return said
}

// ReasonUnlabelled is the start of the reason for leaving out samples without a label: an empty field, a null
// or a missing key.
const ReasonUnlabelled = "without the label that others have"

// NoLabelReason returns the reason for leaving out samples without a label in a column.
func NoLabelReason(column string) string { return ReasonUnlabelled + " (" + column + ")" }
