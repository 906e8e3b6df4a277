package layout

import (
	"context"
	"fmt"
	"image"
	"io/fs"
	"path"
	"path/filepath"
	"strconv"

	"github.com/kindred-ml/kindred/data/internal/tree"
	"github.com/kindred-ml/kindred/embedding"
	"github.com/kindred-ml/kindred/internal/base/option"
	"github.com/kindred-ml/kindred/matrix"
)

// Set is a data set as its files list it, in plain values. Fields that are not explained are as in data.Dataset.
type Set struct {
	Name, Layout string
	Names        []string
	// Files, Pixels or Features are the content of the samples.
	Files    *tree.Files
	Pixels   *pixels
	Features *matrix.Dense
	Boxes    []image.Rectangle

	Columns             []Column
	Fine, Coarse, Train string
	// Dirs has the folder of each sample if the folders are the classes.
	Dirs []string
	// MultiLabels has all labels of each sample, if the set lists several.
	MultiLabels  [][]string
	Group        *Column
	OtherColumns []embedding.Column

	// Roles are the roles in the official split, and ImageRoles those in a second one, of the images of every class.
	Roles, ImageRoles []Role
	// Halves says that the first half of the classes (rounded down) trains, and the rest tests, as in papers.
	Halves bool
	// Disjoint says that Roles separate classes, whatever the labels are.
	Disjoint bool

	LeftOut []tree.LeftOut
	Notes   []string

	opt   Options
	tree  *listing
	marks []string // the files that the layout was recognised by
}

// Options are the fields of data.OpenOptions with the same names.
type Options struct {
	Labels                                            string
	Formats                                           []embedding.Format
	Unlabelled, Crop, OtherColumns, Distinct, Outside bool
	Group                                             string
	Columns                                           []string
}

// Column has the label of every sample: its class in Text, or its number.
type Column struct {
	Name    string
	Text    []string
	Numbers []int64
	// Names names the classes of some numbers.
	Names map[int64]string
}

// newValueColumn makes a column of numbers if all values are whole numbers in the usual form, and of texts
// otherwise.
func newValueColumn(name string, values []string) Column {
	numbers := make([]int64, len(values))
	for i, s := range values {
		n, err := strconv.ParseInt(s, 10, 64)
		if err != nil || strconv.FormatInt(n, 10) != s {
			return Column{Name: name, Text: values}
		}
		numbers[i] = n
	}
	return Column{Name: name, Numbers: numbers}
}

// numberNames returns names by their places in a list. The first has the number from.
func numberNames(from int64, names []string) map[int64]string {
	out := make(map[int64]string, len(names))
	for i, name := range names {
		out[from+int64(i)] = name
	}
	return out
}

// setLabels sets the columns: the fine labels, and coarser ones unless their name is "". train names the column to
// train with.
func (s *Set) setLabels(train string, fine Column, coarse Column) {
	s.Columns, s.Fine, s.Train = []Column{fine}, fine.Name, train
	if coarse.Name != "" {
		s.Columns, s.Coarse = append(s.Columns, coarse), coarse.Name
	}
}

// setRoles sets the roles in the official split.
func (s *Set) setRoles(roles []Role) {
	settled, note := resolveRoles(roles)
	s.Roles = settled
	if note != "" {
		s.Notes = append(s.Notes, note)
	}
}

// leave counts a file that is left out.
func (s *Set) leave(why, name string) { s.LeftOut = tree.Count(s.LeftOut, why, 1, name) }

// walk visits the files of the set; see tree.
func (s *Set) walk(ctx context.Context, fn func(name, why string) error) error {
	return s.tree.Walk(ctx, fn)
}

// path returns the place of a file of the set, for messages.
func (s *Set) path(name string) string { return path.Join(s.tree.Location(), name) }

// addListed appends the sample that a file of the set lists by name. A name that leads outside is refused:
// in an archive always, in a folder unless the options allow it.
func (s *Set) addListed(name string) error {
	t := s.tree.Tree
	name = filepath.ToSlash(name)
	if filepath.IsLocal(filepath.FromSlash(name)) && !path.IsAbs(name) {
		s.add(t, tree.FindName(t, name))
		return nil
	}
	if why := tree.UnwritableReason(name); why != "" {
		return fmt.Errorf("the name %q %s", name, why)
	}
	switch f, ok := tree.AsFolder(t); {
	case !ok:
		return fmt.Errorf("%s leads outside the archive %s", name, t.Location())
	case !s.opt.Outside:
		if in, err := relativePath(t.Location(), name); err == nil {
			s.add(t, tree.FindName(t, in))
			return nil
		}
		return option.Errorf("%s leads outside the data set's folder %s: %s permits that", name, t.Location(),
			optOutside)
	case path.IsAbs(name) || filepath.IsAbs(name):
		s.add(tree.Folder{}, tree.FindName(tree.Folder{}, name))
	default:
		f = f.WithoutRoots() // name is a whole path
		s.add(f, tree.FindName(f, name))
	}
	return nil
}

// optOutside is the option that errors name.
const optOutside option.Option = "data.OpenOptions.Outside"

// relativePath returns the path in a folder of a file with the given whole path.
func relativePath(dir, name string) (string, error) {
	root, err := filepath.Abs(dir)
	if err != nil {
		return "", err
	}
	if name = filepath.FromSlash(name); !filepath.IsAbs(name) {
		return "", fs.ErrNotExist
	}
	in, err := filepath.Rel(root, name)
	if err == nil && !filepath.IsLocal(in) {
		err = fs.ErrNotExist
	}
	return filepath.ToSlash(in), err
}

// add appends the sample at name in t. The name is from a walk through t.
func (s *Set) add(t tree.Tree, name string) {
	s.Files.Add(t, path.Clean(name))
	s.Names = append(s.Names, name)
}

// listing is a tree whose files are listed once, when they are first needed.
type listing struct {
	tree.Tree
	listed bool
	files  [][2]string // name and why of each file
	err    error
}

func (l *listing) Walk(ctx context.Context, fn func(name, why string) error) error {
	if !l.listed {
		l.listed = true
		l.err = l.Tree.Walk(ctx, func(name, why string) error {
			l.files = append(l.files, [2]string{name, why})
			return nil
		})
	}
	for _, f := range l.files {
		if err := fn(f[0], f[1]); err != nil {
			return err
		}
	}
	return l.err
}
