package split

import (
	"context"
	"errors"
	"fmt"
	"path"
	"strings"
	"time"

	"github.com/kindred-ml/kindred/data"
	"github.com/kindred-ml/kindred/data/imaging"
	"github.com/kindred-ml/kindred/internal/base/enum"
	"github.com/kindred-ml/kindred/internal/base/lists"
)

// Rules of Selection.Group that are not columns.
const (
	GroupNone   = "none"
	GroupFound  = "found"
	GroupFolder = "folder"
	// These rules use the EXIF data of files, unless the set has a column with that name.
	GroupTaken  = "taken"
	GroupCamera = "camera"
	GroupPlace  = "place"
)

// ErrInseparable is wrapped by the error of a division that fails because every class is a single
// group.
var ErrInseparable = errors.New("photos that were taken together cannot be divided")

// GroupCounts counts the groups that divisions by images kept on one side. It is zero if there was no
// such division or no group.
type GroupCounts struct {
	// Groups is the number of groups of two or more samples, Samples the number of samples in
	// them, and Largest the size of the largest group.
	Groups, Samples, Largest int
	// Classes is the number of classes with enough samples to divide. Whole is the number of
	// these classes that were not divided because they are a single group.
	Whole, Classes int
}

// grouper finds which samples belong together when a division first needs it.
type grouper struct {
	rule     string
	d        *data.Dataset
	fine     *data.Column
	groupOf  []int  // the group of each sample, named by one of its samples; nil before it is needed
	why      string // why pictures were not compared
	counts   GroupCounts
	reported bool
}

// checkGroup returns an error for an unknown rule.
func checkGroup(d *data.Dataset, rule string) error {
	switch rule {
	case "", GroupNone, GroupFound, GroupFolder:
		return nil
	}
	if usesEXIF(d, rule) {
		return nil
	}
	_, err := groupColumn(d, rule)
	return err
}

// usesEXIF reports whether a rule uses the EXIF data of photographs.
func usesEXIF(d *data.Dataset, rule string) bool {
	switch rule {
	case GroupTaken, GroupCamera, GroupPlace:
		_, err := groupColumn(d, rule)
		return err != nil && d.HasLocalFiles()
	}
	return false
}

// groupColumn returns the column by which to group.
func groupColumn(d *data.Dataset, name string) (*data.Column, error) {
	if d.Group != nil && d.Group.Name == name {
		return d.Group, nil
	}
	c, err := d.Column(name)
	if err != nil {
		return nil, fmt.Errorf("group %q: %w; it may also be another column of a manifest, %s (by folder), "+
			"%s (bursts) or %s (no groups)", name, err, GroupFolder, GroupFound, GroupNone)
	}
	return c, nil
}

// groups returns the group of every sample, or nil if every sample is a separate group. among are
// the samples to be divided.
func (k *grouper) groups(ctx context.Context, among []int) ([]int, error) {
	if k.rule == "" || k.rule == GroupNone || k.groupOf != nil {
		return k.groupOf, nil
	}
	k.groupOf = lists.Indices(k.d.Len())
	values := make([]string, len(among)) // "" if unknown
	switch k.rule {
	case GroupFound:
		p := &data.Part{Data: k.d, Index: among, Fine: lists.At(k.fine.IDs, among)}
		found, why, err := FindGroups(ctx, p)
		if err != nil {
			return nil, err
		}
		for pos, first := range found {
			k.groupOf[among[pos]] = among[first]
		}
		k.why = why
		k.count(among)
		return k.groupOf, nil
	case GroupFolder:
		for pos, i := range among {
			values[pos] = path.Dir(k.d.Names[i])
		}
	default:
		if err := k.read(ctx, among, values); err != nil {
			return nil, err
		}
	}
	first := map[string]int{}
	for pos, i := range among {
		if v := values[pos]; v != "" {
			if _, ok := first[v]; !ok {
				first[v] = i
			}
			k.groupOf[i] = first[v]
		}
	}
	k.count(among)
	return k.groupOf, nil
}

// read sets the values from a column or from the files' EXIF data. It is an error if all are
// empty.
func (k *grouper) read(ctx context.Context, among []int, values []string) error {
	var of func(pos int) string
	source := "the column is empty"
	if usesEXIF(k.d, k.rule) {
		p := &data.Part{Data: k.d, Index: among}
		photos, err := p.EXIF(ctx)
		if err != nil {
			return err
		}
		of = func(pos int) string { return groupValue(k.rule, &photos[pos]) }
		source = "no file has it"
	} else {
		c, err := groupColumn(k.d, k.rule)
		if err != nil {
			return err
		}
		of = func(pos int) string { return c.Classes[c.IDs[among[pos]]] }
	}
	empty := true
	for pos := range among {
		if v := of(pos); !isMissing(v) {
			values[pos], empty = v, false
		}
	}
	if empty {
		return fmt.Errorf("group %q: %s for all %s to divide; %s divides without groups", k.rule, source,
			formatImages(len(among)), GroupNone)
	}
	return nil
}

// isMissing reports whether v is one of the words that programs write for a missing value.
func isMissing(v string) bool {
	switch strings.ToLower(strings.TrimSpace(v)) {
	case "", "nan", "na", "n/a", "null", "none":
		return true
	}
	return false
}

// count counts the groups.
func (k *grouper) count(among []int) {
	for _, n := range lists.Count(lists.At(k.groupOf, among)) {
		if n > 1 {
			k.counts.Groups++
			k.counts.Samples += n
			k.counts.Largest = max(k.counts.Largest, n)
		}
	}
}

// partGroups returns the group of each position of a part, named by one of the positions.
func (k *grouper) partGroups(ctx context.Context, p *data.Part) ([]int, error) {
	of, err := k.groups(ctx, p.Index)
	if of == nil || err != nil {
		return nil, err
	}
	out := make([]int, p.Len())
	_, members := lists.Group(lists.At(of, p.Index))
	for _, m := range members {
		for _, pos := range m {
			out[pos] = m[0]
		}
	}
	return out, nil
}

// noteDivision notes how many of the classes with enough samples a division left whole.
func (k *grouper) noteDivision(whole, classes int) {
	if k.groupOf != nil {
		k.counts.Whole, k.counts.Classes = max(k.counts.Whole, whole), max(k.counts.Classes, classes)
	}
}

// keptMessage returns what a division kept together, after a semicolon, or "". It says so only once.
func (k *grouper) keptMessage(whole int) string {
	if k.groupOf == nil || k.reported {
		return ""
	}
	k.reported = true
	text := ""
	if k.counts.Groups > 0 {
		what := "groups of data.group=" + k.rule
		switch k.rule {
		case GroupFound:
			what = "bursts or copies"
		case GroupFolder:
			what = "folders"
		}
		text = fmt.Sprintf("; %s in %d %s stay on one side", formatImages(k.counts.Samples), k.counts.Groups, what)
	}
	if whole > 0 {
		text += fmt.Sprintf("; %s not divided (a single group)", enum.Number(whole, "class is", "classes are"))
	}
	if k.why != "" {
		text += "; " + k.why
	}
	return text
}

// inseparableError returns the error of a division that held nothing out.
func (k *grouper) inseparableError(classes int) error {
	return fmt.Errorf("%w: with data.group=%s each of the %s is a single group; data.group=%s divides without "+
		"groups, and data.split=classes divides by classes", ErrInseparable, k.rule, formatClasses(classes), GroupNone)
}

// groupValue returns the value by which a rule of Selection.Group divides, or "" if the photograph
// lacks it.
func groupValue(rule string, p *imaging.EXIF) string {
	switch {
	case rule == GroupTaken && !p.Taken.IsZero():
		return p.Taken.Format(time.DateOnly)
	case rule == GroupCamera:
		return p.Camera
	case rule == GroupPlace && p.Located:
		return fmt.Sprintf("%.3f,%.3f", p.Latitude, p.Longitude)
	}
	return ""
}
