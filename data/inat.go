package data

import (
	"context"
	"fmt"
	"path"
	"slices"
	"strings"
)

// inatFiles finds the annotations at the top of t: a .json file whose name starts with "train", and
// one whose name starts with "val" or "test".
func inatFiles(ctx context.Context, t tree) (train, test string) {
	var names []string
	if f, ok := t.(folder); ok {
		names = f.top()
	} else if err := t.walk(ctx, func(name, _ string) error { names = append(names, name); return nil }); err != nil {
		return "", ""
	}
	slices.Sort(names)
	for _, name := range names {
		if strings.Contains(name, "/") || path.Ext(name) != ".json" {
			continue
		}
		switch {
		case strings.HasPrefix(name, "train") && train == "":
			train = name
		case (strings.HasPrefix(name, "val") || strings.HasPrefix(name, "test")) && test == "":
			test = name
		}
	}
	return train, test
}

func isINat(ctx context.Context, t tree) bool {
	train, test := inatFiles(ctx, t)
	return train != "" && test != ""
}

// openINat reads iNaturalist's layout: a train and a val (or test) file of JSON with images,
// annotations and categories. The fine label is the species, which is also the training label. The
// coarse label is the supercategory, if there is one.
func openINat(ctx context.Context, t tree, name string, opt OpenOptions) (*Dataset, error) {
	trainFile, testFile := inatFiles(ctx, t)
	b := newBuilder("inat", name, opt)
	d := b.d
	var species []int64
	type category struct{ name, super string }
	categories := map[int64]category{}
	for i, file := range []string{trainFile, testFile} {
		text, err := readText(t, file)
		if err != nil {
			return nil, err
		}
		full := path.Join(t.location(), file)
		j, err := parseINat(full, text)
		if err != nil {
			return nil, err
		}
		for _, c := range j.Categories {
			categories[c.ID] = category{c.Name, c.Super}
		}
		label := make(map[int64]int64, len(j.Annotations))
		for _, a := range j.Annotations {
			if first, twice := label[a.Image]; twice && first != a.Category {
				return nil, fmt.Errorf("%s: image %d is annotated with categories %d and %d", full, a.Image, first,
					a.Category)
			}
			label[a.Image] = a.Category
		}
		for _, im := range j.Images {
			c, ok := label[im.ID]
			if !ok {
				return nil, fmt.Errorf("%s: image %d (%s) has no annotation", full, im.ID, im.File)
			}
			if im.File == "" {
				return nil, fmt.Errorf("%s: image %d has no file_name", full, im.ID)
			}
			if err := b.addListed(t, im.File); err != nil {
				return nil, fmt.Errorf("%s: image %d: %w", full, im.ID, err)
			}
			species = append(species, c)
			d.Splits = append(d.Splits, []Split{Train, Test}[i])
		}
	}
	if len(species) == 0 {
		return nil, fmt.Errorf("%s: %s and %s list no image", t.location(), trainFile, testFile)
	}
	fine := newNumberColumn("species", species)
	super := make([]string, len(species))
	for i, s := range species {
		super[i] = categories[s].super
	}
	for id, n := range fine.Numbers {
		if c := categories[n]; c.name != "" {
			fine.Classes[id] = c.name
		}
	}
	d.Columns, d.Fine, d.Train = []Column{fine}, "species", "species"
	if !slices.Contains(super, "") {
		d.Columns = append(d.Columns, NewColumn("supercategory", super))
		d.Coarse = "supercategory"
	}
	return d.setDisjoint().mustBeConsistent(), nil
}
