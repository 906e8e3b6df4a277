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

// LeftOut describes the files or samples that were left out for one reason.
type LeftOut struct {
	Reason string `json:"reason"`
	Count  int    `json:"count"`
	// First names the first few, in the order found.
	First []string `json:"first"`
	// Used is set if the samples were used nevertheless, but changed as Reason says.
	Used bool `json:"used,omitempty"`
}

// maxFirst is the length of LeftOut.First.
const maxFirst = 5

// String returns the count, the reason and the first names on one line.
func (l LeftOut) String() string {
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

// AllLeftOut returns d.LeftOut, the samples that loaders of d skipped, and the remarks on others. Each
// sample is counted once for a reason.
func (d *Dataset) AllLeftOut(loaders ...Stats) []LeftOut {
	list := make([]LeftOut, len(d.LeftOut))
	for i, l := range d.LeftOut {
		list[i] = l
		list[i].First = slices.Clone(l.First)
	}
	seen := make(map[int]bool)
	for _, s := range loaders {
		for _, k := range s.Skipped {
			if !seen[k.Sample] {
				seen[k.Sample] = true
				list = countLeftOut(list, "could not be read", k.Err.Error())
			}
		}
	}
	remarked := make(map[Remark]bool)
	for _, s := range loaders {
		for _, k := range s.Remarks {
			if !remarked[k] {
				remarked[k] = true
				list = countLeftOut(list, k.Text, d.Names[k.Sample])
				list[slices.IndexFunc(list, func(l LeftOut) bool { return l.Reason == k.Text })].Used = true
			}
		}
	}
	return list
}

// AddLeftOut adds to sum the items of more, which a part of a data set left out, except the items of
// before, which the whole set left out. It names the first few items of each reason.
func AddLeftOut(sum, before, more []LeftOut) []LeftOut {
	find := func(list []LeftOut, reason string) int {
		return slices.IndexFunc(list, func(l LeftOut) bool { return l.Reason == reason })
	}
	for _, l := range more {
		if i := find(before, l.Reason); i >= 0 {
			l.Count -= before[i].Count
			l.First = l.First[min(len(l.First), len(before[i].First)):]
		}
		if l.Count <= 0 {
			continue
		}
		i := find(sum, l.Reason)
		if i < 0 {
			i = len(sum)
			sum = append(sum, LeftOut{Reason: l.Reason, Used: l.Used})
		}
		sum[i].Count += l.Count
		sum[i].First = append(sum[i].First, l.First[:min(len(l.First), max(0, maxFirst-len(sum[i].First)))]...)
	}
	return sum
}

// countLeftOut adds one item to the list.
func countLeftOut(list []LeftOut, reason, name string) []LeftOut {
	i := slices.IndexFunc(list, func(l LeftOut) bool { return l.Reason == reason })
	if i < 0 {
		i = len(list)
		list = append(list, LeftOut{Reason: reason})
	}
	l := &list[i]
	if l.Count++; l.Count <= maxFirst {
		l.First = append(l.First, name)
	}
	return list
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
