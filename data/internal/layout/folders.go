package layout

import (
	"cmp"
	"context"
	"fmt"
	"path"
	"slices"
	"strings"

	"github.com/kindred-ml/kindred/data/internal/tree"
)

// imageList is the result of a walk through the files of a set.
type imageList struct {
	names []string // images in folders
	loose []string // images at the top
}

// findImages lists the images of a set. Images at the top are in loose, and are not counted as left
// out.
func findImages(ctx context.Context, s *Set) (*imageList, error) {
	f := new(imageList)
	return f, s.walk(ctx, func(file, why string) error {
		switch why = cmp.Or(why, tree.NotSampleReason(s.tree.Tree, file)); {
		case why != "":
			s.leave(why, file)
		case !strings.Contains(file, "/"):
			f.loose = append(f.loose, file)
		default:
			f.names = append(f.names, file)
		}
		return nil
	})
}

// readFolders reads images in a folder for each class (CLASS/FILE), or for each coarse and fine
// class (COARSE/FINE/FILE). There may be folders train, test, val, query and gallery, see place,
// and a single folder that holds all others. If the depths differ, the class is the whole path of
// the folder. With two levels newLevels decides which class is the training label.
//
// A few images at the top, outside any class folder, are left out. If more images are there than
// in folders, the folders are not classes, and the set has no labels.
func readFolders(ctx context.Context, s *Set) error {
	f, err := findImages(ctx, s)
	if err != nil {
		return err
	}
	if len(f.names)+len(f.loose) == 0 {
		return fmt.Errorf("%s: no known layout of a data set, and no images in class folders%s; looked for %s",
			s.tree.Location(), tree.Sentence(s.LeftOut), describeLayouts())
	}
	p := new(folderLayout)
	if len(f.names) > 0 {
		p = findSplitFolders(f.names)
	}
	if len(f.loose)+len(p.loose) > len(p.names) {
		return f.readFlat(s, p)
	}
	for _, file := range slices.Concat(f.loose, p.loose) {
		s.leave(outsideClasses, file)
	}
	s.LeftOut = append(s.LeftOut, p.left...)
	for _, file := range p.names {
		s.add(s.tree.Tree, file)
	}
	s.Dirs = p.dirs
	s.setRoles(p.roles)
	return nil
}

// outsideClasses is the reason for leaving out images at the top of a folder of classes.
const outsideClasses = "at the top, outside any class folder (move them into a folder, if they belong to the set)"

// readFlat makes a set of all images without labels, if most images are at the top.
func (f *imageList) readFlat(s *Set, p *folderLayout) error {
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
	if !s.opt.Unlabelled {
		return fmt.Errorf("%s: %s, so the set has no classes: put the images of each class into a separate folder, or "+
			"list them in a manifest (kindred search and kindred embed need no classes)", s.tree.Location(), where)
	}
	s.Layout = "files"
	for _, file := range slices.Concat(f.loose, f.names) {
		s.add(s.tree.Tree, file)
	}
	if why != "" {
		s.Notes = []string{where + why}
	}
	return nil
}
