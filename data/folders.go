package data

import (
	"context"
	"fmt"
	"path"
	"strings"
)

// splitFolder maps the usual names of split folders to roles. Validation images
// take no side.
func splitFolder(name string) (Split, bool) {
	switch strings.ToLower(name) {
	case "train", "training":
		return Train, true
	case "test", "testing":
		return Test, true
	case "query":
		return Query, true
	case "gallery":
		return Gallery, true
	case "val", "valid", "validation":
		return 0, true
	}
	return 0, false
}

// openFolders reads images in one folder per class (CLASS/FILE) or per coarse
// and fine class (COARSE/FINE/FILE), below folders train, test, val, query,
// gallery or not. Where the depths differ the class is the whole path of the
// folder. With both levels the coarse class is the one to train with.
func openFolders(ctx context.Context, t tree, name string, opt OpenOptions) (*Dataset, error) {
	var names []string
	loose := 0
	var left []LeftOut
	err := t.walk(ctx, func(file, why string) error {
		switch {
		case why != "":
			left = countLeftOut(left, why, file)
			return nil
		case !isImageName(file):
			left = countLeftOut(left, notAnImage(file), file)
			return nil
		case !strings.Contains(file, "/"):
			left = countLeftOut(left, "outside any class folder", file)
			loose++
			return nil
		}
		names = append(names, file)
		return nil
	})
	if err != nil {
		return nil, err
	}
	if len(names) == 0 {
		if loose > 0 {
			return nil, fmt.Errorf("%s: %d images and no folders: put the images of each class into a folder of its "+
				"own, or list them in a manifest", t.where(), loose)
		}
		said := ""
		for _, l := range left {
			said += "; " + l.String()
		}
		return nil, fmt.Errorf("%s: not a data set of a known layout, and no images in class folders%s", t.where(),
			said)
	}
	b := newBuilder("folders", name, opt)
	d := b.d
	d.LeftOut = left
	split := true
	sides := Split(0)
	for _, file := range names {
		top, rest, _ := strings.Cut(file, "/")
		role, ok := splitFolder(top)
		split = split && ok && strings.Contains(rest, "/")
		sides |= role
	}
	split = split && sides&Train != 0 && sides&Test != 0
	dirs := make([]string, len(names))
	shallow, deep := false, false
	for i, file := range names {
		b.add(t, file)
		dir := path.Dir(file)
		if split {
			top, rest, _ := strings.Cut(dir, "/")
			role, _ := splitFolder(top)
			d.Splits = append(d.Splits, role)
			dir = rest
		}
		dirs[i] = dir
		switch strings.Count(dir, "/") {
		case 0:
			shallow = true
		case 1:
		default:
			deep = true
		}
	}
	fine := columnOfNames("class", dirs)
	if shallow || deep {
		d.Columns, d.Fine, d.Train = []Column{fine}, "class", "class"
		return d.disjoint().check(), nil
	}
	coarse := make([]string, len(dirs))
	for i, dir := range dirs {
		coarse[i], _, _ = strings.Cut(dir, "/")
	}
	fine.Name = "fine"
	d.Columns = []Column{columnOfNames("coarse", coarse), fine}
	d.Coarse, d.Fine, d.Train = "coarse", "fine", "coarse"
	return d.disjoint().check(), nil
}

// disjoint sets d.Disjoint from the splits.
func (d *Dataset) disjoint() *Dataset {
	fine, err := d.Column("fine")
	if d.Splits == nil || err != nil {
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
