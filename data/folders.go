package data

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"path"
	"slices"
	"strings"

	"github.com/kindred-ml/kindred/internal/base/classname"
)

// imageList is the result of a walk through the files of a set.
type imageList struct {
	names []string // images in folders
	loose []string // images at the top
	left  []LeftOut
}

// findImages lists the images of t. Images at the top are in loose, and are not counted as left
// out.
func findImages(ctx context.Context, t tree) (*imageList, error) {
	f := new(imageList)
	err := t.walk(ctx, func(file, why string) error {
		switch {
		case why != "":
			f.left = countLeftOut(f.left, why, file)
		case !isImage(t, file):
			f.left = countLeftOut(f.left, notImageReason(file), file)
		case unwritableReason(file) != "":
			f.left = countLeftOut(f.left, unwritableNameReason(file), file)
		case !strings.Contains(file, "/"):
			f.loose = append(f.loose, file)
		default:
			f.names = append(f.names, file)
		}
		return nil
	})
	return f, err
}

// openFolders reads images in a folder for each class (CLASS/FILE), or for each coarse and fine
// class (COARSE/FINE/FILE). There may be folders train, test, val, query and gallery, see place,
// and a single folder that holds all others. If the depths differ, the class is the whole path of
// the folder. With two levels newLevels decides which class is the training label.
//
// A few images at the top, outside any class folder, are left out. If more images are there than
// in folders, the folders are not classes, and the set has no labels.
func openFolders(ctx context.Context, t tree, name string, opt OpenOptions) (*Dataset, error) {
	f, err := findImages(ctx, t)
	if err != nil {
		return nil, err
	}
	if len(f.names)+len(f.loose) == 0 {
		return nil, fmt.Errorf("%s: no known layout of a data set, and no images in class folders%s", t.location(),
			leftOutSentence(f.left))
	}
	p := new(folderLayout)
	if len(f.names) > 0 {
		p = findSplitFolders(f.names)
	}
	if len(f.loose)+len(p.loose) > len(p.names) {
		return f.openFlat(t, p, name, opt)
	}
	b := newBuilder("folders", name, opt)
	d := b.d
	for _, file := range slices.Concat(f.loose, p.loose) {
		f.left = countLeftOut(f.left, outsideClasses, file)
	}
	d.LeftOut = append(f.left, p.left...)
	for _, file := range p.names {
		b.add(t, file)
	}
	d.labelByFolder(p.dirs)
	d.Notes = d.remarks()
	d.setSplits(p.roles)
	return d.setDisjoint().mustBeConsistent(), nil
}

// outsideClasses is the reason for leaving out images at the top of a folder of classes.
const outsideClasses = "at the top, outside any class folder (move them into a folder, if they belong to the set)"

// openFlat makes a set of all images without labels, if most images are at the top.
func (f *imageList) openFlat(t tree, p *folderLayout, name string, opt OpenOptions) (*Dataset, error) {
	where, why := fmt.Sprintf("%d images and no folders", len(f.loose)), ""
	switch {
	case len(f.names) > 0 && len(p.names) > 0:
		where = fmt.Sprintf("%d images at the top, and %d in folders", len(f.loose)+len(p.loose), len(p.names))
		why = ": the folders are not taken for classes, and no image has a label; with fewer images at the top than " +
			"in folders, the folders are classes, and the images at the top are left out"
	case len(f.names) > 0:
		where = fmt.Sprintf("%d images in folders of a split (such as %s) without class folders", len(p.loose),
			path.Dir(p.loose[0]))
		why = ": no image has a label"
	}
	if !opt.Unlabelled {
		return nil, fmt.Errorf("%s: %s, so the set has no classes: put the images of each class into a "+
			"separate folder, or list them in a manifest (kindred search and kindred embed need no classes)",
			t.location(), where)
	}
	b := newBuilder("files", name, opt)
	for _, file := range slices.Concat(f.loose, f.names) {
		b.add(t, file)
	}
	b.d.LeftOut = f.left
	if why != "" {
		b.d.Notes = []string{where + why}
	}
	return b.d.mustBeConsistent(), nil
}

// leftOutSentence returns a list of what was left out, to be appended to a sentence.
func leftOutSentence(left []LeftOut) string {
	said := ""
	for _, l := range left {
		said += "; " + l.String()
	}
	return said
}

// trimCommonFolders returns the paths without the folders that all images have in common: archives are
// often wrapped in a folder with their own name, and a single class is of no use. A year is kept,
// because it may be part of a date, which remarks look for.
func trimCommonFolders(dirs []string) []string {
	if len(dirs) == 0 {
		return nil
	}
	parts, shortest := make([][]string, len(dirs)), math.MaxInt
	for i, dir := range dirs {
		parts[i] = strings.Split(dir, "/")
		shortest = min(shortest, len(parts[i]))
	}
	outer := min(commonFolders(parts), shortest-1) // keep the last folder of an image
	if i := slices.IndexFunc(parts[0][:outer], yearFolder.MatchString); i >= 0 {
		outer = i
	}
	inner := make([]string, len(dirs))
	for i, p := range parts {
		inner[i] = strings.Join(p[outer:], "/")
	}
	return inner
}

// cleanFolders returns the paths with the names of classes as all readers know them. If two folders would become one
// class, all keep their names, and a remark tells that they look alike.
func cleanFolders(dirs []string) []string {
	out := make([]string, len(dirs))
	from := make(map[string]string)
	for i, dir := range dirs {
		parts := strings.Split(dir, "/")
		for k, p := range parts {
			parts[k] = cmp.Or(classname.Clean(p), p)
		}
		out[i] = strings.Join(parts, "/")
		if other, ok := from[out[i]]; ok && other != dir {
			return dirs
		}
		from[out[i]] = dir
	}
	return out
}

// labelByFolder makes the label columns from the folders of the samples.
func (d *Dataset) labelByFolder(dirs []string) {
	dirs = cleanFolders(trimCommonFolders(dirs))
	fine := NewColumn("class", dirs)
	if slices.ContainsFunc(dirs, func(dir string) bool { return strings.Count(dir, "/") != 1 }) {
		d.Columns, d.Fine, d.Train = []Column{fine}, "class", "class"
		return
	}
	coarse := make([]string, len(dirs))
	for i, dir := range dirs {
		coarse[i], _, _ = strings.Cut(dir, "/")
	}
	fine.Name = fineName
	d.Columns = []Column{NewColumn(coarseName, coarse), fine}
	d.Levels = newLevels(&d.Columns[0], &d.Columns[1])
	d.Coarse, d.Fine, d.Train = coarseName, fineName, d.Levels.Label
}

// setDisjoint sets d.Disjoint from the splits, if they have both sides.
func (d *Dataset) setDisjoint() *Dataset {
	fine, err := d.Column(fineName)
	sides := allRolesIn(d.Splits)
	if err != nil || sides&Train == 0 || sides&Test == 0 {
		return d
	}
	roles := make([]Split, len(fine.Classes))
	for i, id := range fine.IDs {
		roles[id] |= d.Splits[i]
	}
	d.Disjoint = true
	for _, r := range roles {
		if r&Train != 0 && r&Test != 0 {
			d.Disjoint = false
		}
	}
	return d
}
