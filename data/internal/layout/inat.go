package layout

import (
	"context"
	"fmt"
	"path"
	"slices"
	"strings"

	"github.com/kindred-ml/kindred/data/internal/tree"
)

// inatFiles finds the annotations at the top of t: a .json file whose name starts with "train", and
// one whose name starts with "val" or "test".
func inatFiles(ctx context.Context, t *listing) (train, test string) {
	var names []string
	if f, ok := t.Tree.(tree.Folder); ok {
		names = f.Top()
	} else if err := t.Walk(ctx, func(name, _ string) error { names = append(names, name); return nil }); err != nil {
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

func isINat(ctx context.Context, t *listing) bool {
	train, test := inatFiles(ctx, t)
	return train != "" && test != ""
}

// readINat reads iNaturalist's layout: a train and a val (or test) file of JSON with images,
// annotations and categories. The fine label is the species, which is also the training label. The
// coarse label is the supercategory, if there is one.
func readINat(ctx context.Context, s *Set) error {
	trainFile, testFile := inatFiles(ctx, s.tree)
	species := Column{Name: "species", Names: map[int64]string{}}
	groups := map[int64]string{}
	for i, file := range []string{trainFile, testFile} {
		text, err := readText(s.tree, file)
		if err != nil {
			return err
		}
		full := s.path(file)
		j, err := parseINat(full, text)
		if err != nil {
			return err
		}
		for _, c := range j.Categories {
			delete(species.Names, c.ID)
			if groups[c.ID] = c.Super; c.Name != "" {
				species.Names[c.ID] = c.Name
			}
		}
		label := make(map[int64]int64, len(j.Annotations))
		for _, a := range j.Annotations {
			if first, twice := label[a.Image]; twice && first != a.Category {
				return fmt.Errorf("%s: image %d is annotated with categories %d and %d", full, a.Image, first,
					a.Category)
			}
			label[a.Image] = a.Category
		}
		for _, im := range j.Images {
			c, ok := label[im.ID]
			if !ok {
				return fmt.Errorf("%s: image %d (%s) has no annotation", full, im.ID, im.File)
			}
			if im.File == "" {
				return fmt.Errorf("%s: image %d has no file_name", full, im.ID)
			}
			if err := s.addListed(im.File); err != nil {
				return fmt.Errorf("%s: image %d: %w", full, im.ID, err)
			}
			species.Numbers = append(species.Numbers, c)
			s.Roles = append(s.Roles, trainTest(i))
		}
	}
	if len(s.Names) == 0 {
		return fmt.Errorf("%s: %s and %s list no image", s.tree.Location(), trainFile, testFile)
	}
	super := Column{Name: "supercategory"}
	for _, n := range species.Numbers {
		super.Text = append(super.Text, groups[n])
	}
	if slices.Contains(super.Text, "") {
		super = Column{}
	}
	s.setLabels("species", species, super)
	return nil
}
