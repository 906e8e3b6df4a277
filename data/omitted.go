package data

import (
	"cmp"
	"fmt"
	"path"
	"slices"
	"strconv"
	"strings"

	"github.com/kindred-ml/kindred/data/imaging"
)

// leftOut are files or samples that were left out for one reason.
type leftOut struct {
	Reason string
	Count  int
	First  []string // names of the first few
	Used   bool     // they were used nevertheless, but changed as Reason says
}

// leftOutNames is the most names in leftOut.First.
const leftOutNames = 5

// String returns the count, the reason and the first names on one line.
func (l leftOut) String() string {
	more := ""
	if l.Count > len(l.First) {
		more = ", ..."
	}
	first := slices.Clone(l.First)
	for i, name := range first {
		if unwritableReason(name) != "" {
			first[i] = strconv.Quote(name)
		}
	}
	if l.Used {
		return fmt.Sprintf("%d %s: %s%s", l.Count, l.Reason, strings.Join(first, ", "), more)
	}
	return fmt.Sprintf("left out %d: %s: %s%s", l.Count, l.Reason, strings.Join(first, ", "), more)
}

// countLeftOut adds a number of items to the list, and names the first few of a reason.
func countLeftOut(list []leftOut, reason string, count int, names ...string) []leftOut {
	i := slices.IndexFunc(list, func(l leftOut) bool { return l.Reason == reason })
	if i < 0 {
		i = len(list)
		list = append(list, leftOut{Reason: reason})
	}
	l := &list[i]
	l.Count += count
	l.First = append(l.First, names[:min(len(names), max(0, leftOutNames-len(l.First)))]...)
	return list
}

// notSampleReason returns the reason why a file of t is not taken for an image, or "".
func notSampleReason(t tree, name string) string {
	switch {
	case !isImage(t, name):
		return notImageReason(name)
	case unwritableReason(name) != "":
		return unwritableNameReason(name)
	}
	return ""
}

// notImageReason returns the reason why a file with this name is not taken for an image.
func notImageReason(name string) string {
	if imaging.NeedsDecoder(name) {
		return "no decoder for HEIC ('kindred formats get heic' fetches one; or convert them to JPEG)"
	}
	switch ext := strings.ToLower(path.Ext(name)); ext {
	case ".jp2", ".psd", ".raw", ".dng", ".cr2", ".cr3", ".nef", ".arw", ".svg":
		return fmt.Sprintf("no decoder for %s (convert them to JPEG, as by magick mogrify -format jpg *%s)",
			strings.ToUpper(ext[1:]), ext)
	default:
		if unwritableReason(ext) != "" {
			ext = strconv.Quote(ext)
		}
		return fmt.Sprintf("not an image by its name (%s)", cmp.Or(ext, "no extension"))
	}
}

// leftOutSentence returns a list of what was left out, to be appended to a sentence.
func leftOutSentence(left []leftOut) string {
	said := ""
	for _, l := range left {
		said += "; " + l.String()
	}
	return said
}

// reasonUnlabelled is the start of the reason for leaving out samples without a label: an empty field, a null
// or a missing key.
const reasonUnlabelled = "without the label that others have"

// noLabelReason returns the reason for leaving out samples without a label in a column.
func noLabelReason(column string) string { return reasonUnlabelled + " (" + column + ")" }
