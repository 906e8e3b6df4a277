package data

import (
	"cmp"
	"fmt"
	"math"
	"path"
	"regexp"
	"slices"
	"strings"

	"github.com/kindred-ml/kindred/data/internal/layout"
	"github.com/kindred-ml/kindred/internal/base/classname"
	"github.com/kindred-ml/kindred/internal/base/enum"
)

// Levels describes a set whose class folders have two levels (TOP/FOLDER/IMAGE), and which of them are the labels. The
// column coarse has the top folders, the column fine the folders in them.
type Levels struct {
	Coarse int    `json:"coarse"` // number of top folders
	Fine   int    `json:"fine"`   // number of folders in them
	Median int    `json:"median"` // images in the median one of the folders in them
	Label  string `json:"label"`  // column that trains: fine or coarse
	Scored string `json:"scored"` // column that scores: fine, or coarse if the folders in them are no classes
	Why    string `json:"why"`    // reason for Label, a clause
}

// Names of the label columns of a set with two levels of folders.
const (
	fineName   = "fine"
	coarseName = "coarse"
)

// Sizes from which the folders in the top ones are the labels.
const (
	minPhotos       = 3  // images in the median folder: two train and one tests
	minFoldersInTop = 2  // folders for each top folder
	maxFoldersInTop = 10 // folders for each top folder, more than a photographer has cameras or views
)

// occasionFolder matches the name of a folder of one time or camera: a camera's own (100CANON), burst 3,
// session-2, cam1.
var occasionFolder = regexp.MustCompile(`^[1-9]\d\d(_\d{4}|_?[A-Z][A-Z0-9_]{3,4})$` +
	`|(?i)^(burst|session|shoot|visit|day|roll|camera|cam|take)([ _-]*\d+|[ _-]+[a-z])$`)

// newLevels decides which of two levels of folders are the labels. These are the folders in the top ones if they are
// many and hold several images each, and are not times, cameras or views that a top folder is divided by. Otherwise the
// top folders are the labels.
func newLevels(coarse, fine *Column) *Levels {
	l := &Levels{Coarse: len(coarse.Classes), Fine: len(fine.Classes), Label: coarseName, Scored: fineName}
	sizes := fine.Counts()
	slices.Sort(sizes)
	l.Median = sizes[(len(sizes)-1)/2]
	times, firstTime := countOccasions(fine.Classes)
	shared, firstShared := countShared(fine.Classes)
	switch {
	case 2*times >= l.Fine:
		l.Scored = coarseName
		l.Why = fmt.Sprintf("most folders in them are dates, cameras or bursts, such as %s", firstTime)
	case l.Median < 2:
		l.Scored = coarseName
		l.Why = "most folders in them have one image"
	case l.Median < minPhotos:
		l.Why = fmt.Sprintf("half of the folders in them have %s or fewer", enum.Count(l.Median, "image"))
	case l.Fine < minFoldersInTop*l.Coarse:
		l.Why = fmt.Sprintf("they have only %s", enum.Count(l.Fine, "folder"))
	case 2*shared >= l.Fine && l.Fine < maxFoldersInTop*l.Coarse:
		l.Why = fmt.Sprintf("most names of the folders in them, such as %s, are in several", firstShared)
	default:
		l.Label = fineName
		l.Why = fmt.Sprintf("half of them have %s or more", enum.Count(l.Median, "image"))
	}
	return l
}

// LabelColumns returns the columns to train and to score with, if label and fine name them, or are "" for the set's own
// choice. Only the choice between two levels of folders gets a name; other sets keep "".
func (d *Dataset) LabelColumns(label, fine string) (train, scored string) {
	if d.Levels == nil {
		return label, fine
	}
	label = cmp.Or(label, d.Levels.Label)
	if fine == "" && label == d.Levels.Label {
		fine = d.Levels.Scored
	}
	return label, cmp.Or(fine, fineName)
}

// countOccasions counts the folders TOP/FOLDER that are a time or a camera, and returns the first. A date below a year
// is not counted, because the year is not a class.
func countOccasions(folders []string) (n int, first string) {
	for _, f := range folders {
		top, name := path.Split(f)
		if yearFolder.MatchString(path.Clean(top)) || !occasionFolder.MatchString(name) &&
			!datedFolder.MatchString(name) {
			continue
		}
		if n++; n == 1 {
			first = f
		}
	}
	return n, first
}

// countShared counts the folders TOP/FOLDER whose name is in several top folders, and returns the first name. Names of
// one numbering (1, 2, 3 or character01, character02) are not counted: each top folder numbers its own.
func countShared(folders []string) (n int, first string) {
	tops, stems := map[string]int{}, map[string]bool{}
	for _, f := range folders {
		tops[path.Base(f)]++
	}
	for _, f := range folders {
		name := path.Base(f)
		if tops[name] < 2 {
			continue
		}
		stem := strings.TrimRight(name, "0123456789")
		if stem == name {
			stems[name+"/"] = true // not a number: a stem of its own
		}
		stems[stem] = true
		if n++; n == 1 {
			first = name
		}
	}
	if len(stems) == 1 {
		return 0, ""
	}
	return n, first
}

// String says what the levels are, in a sentence without a period.
func (l *Levels) String() string {
	return fmt.Sprintf("%s with %s in them, %s in the median one", enum.Count(l.Coarse, "top folder"),
		enum.Count(l.Fine, "folder"), enum.Count(l.Median, "image"))
}

// Explain says which level the column label is, why if the set chose it, and how to choose the other: choice
// is the setting that a column is appended to, such as "data.label=". It returns "" if label is neither fine
// nor coarse.
func (l *Levels) Explain(label, choice string) string {
	which, other, others := "the folders in the top ones", coarseName, "the top folders"
	switch label {
	case fineName:
	case coarseName:
		which, other, others = others, fineName, which
	default:
		return ""
	}
	why := ""
	if label == l.Label {
		why = ", as " + l.Why
	}
	return fmt.Sprintf("%s, %s%s (%v); %s%s takes %s", label, which, why, l, choice, other, others)
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
	outer := min(layout.CommonFolders(parts), shortest-1) // keep the last folder of an image
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
func (d *Dataset) setDisjoint() {
	fine, err := d.Column(fineName)
	sides := Split(0)
	for _, s := range d.Splits {
		sides |= s
	}
	if err != nil || sides&Train == 0 || sides&Test == 0 {
		return
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
}

// datedFolder matches the path of a folder that ends in a date, as cameras and photo programs name folders:
// 2024/03/17, 2024/2024-03-17, 2024-03-17 Beach, 20240317, 2024/03. A year alone is not a date,
// because it may be the class of a coin.
var datedFolder = regexp.MustCompile(`(^|/)(19|20)\d\d(` +
	`[-_./](0?[1-9]|1[0-2])([-_./](0?[1-9]|[12]\d|3[01])([ _-][^/]*)?)?` +
	`|(0[1-9]|1[0-2])(0[1-9]|[12]\d|3[01]))$`)

// yearFolder matches a folder of photographs of one year.
var yearFolder = regexp.MustCompile(`^(19|20)\d\d$`)

// remarks returns remarks on suspicious class folders: folders that are dates, and nested folders
// whose classes mostly have one image. Dates below other classes are not classes; see newLevels.
func (d *Dataset) remarks() []string {
	c, err := d.Column(d.Fine)
	if err != nil {
		return nil
	}
	const most = 0.5 // share of the classes
	days, single, deep, day, inner := 0, 0, 0, "", ""
	for id, n := range c.Counts() {
		name := c.Classes[id]
		if n == 1 {
			single++
		}
		top, _, _ := strings.Cut(name, "/")
		if datedFolder.MatchString(name) && (d.Levels == nil || yearFolder.MatchString(top)) {
			if days++; day == "" {
				day = name
			}
		}
		if strings.Count(name, "/") > 1 {
			if deep++; inner == "" {
				inner = name
			}
		}
	}
	all := float64(len(c.Classes))
	classes := fmt.Sprintf("%d classes, %d of them with one image", len(c.Classes), single)
	const wayOut = "put the images of each class into a separate folder, or list them with their labels in " +
		"a manifest (embedding, search and indexing need no classes)"
	switch {
	case float64(days) >= most*all:
		return []string{fmt.Sprintf("the folders are dates, such as %s, and each is taken for a class: %s. Training "+
			"and scores then concern the day of a picture: %s", day, classes, wayOut)}
	case float64(deep) >= most*all && float64(single) >= most*all:
		return []string{fmt.Sprintf("folders are nested, such as %s, and each whole path is taken for a "+
			"class: %s: %s", inner, classes, wayOut)}
	}
	return nil
}
