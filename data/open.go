package data

import (
	"bytes"
	"context"
	"errors"
	"image"
	"io"
	"io/fs"
	"path"
	"path/filepath"
	"strings"

	"github.com/kindred-ml/kindred/data/internal/layout"
	"github.com/kindred-ml/kindred/data/internal/tree"
	"github.com/kindred-ml/kindred/embedding"
	"github.com/kindred-ml/kindred/internal/base/budget"
	"github.com/kindred-ml/kindred/internal/base/home"
	"github.com/kindred-ml/kindred/internal/base/option"
	"github.com/kindred-ml/kindred/internal/format/plaintext"
)

// DebianHome is where Debian's dataset-* packages install.
const DebianHome = "/usr/share/datasets"

// OpenOptions are the options of Open. The zero value is the usual choice.
type OpenOptions struct {
	// Home is the folder that holds data sets by name; see Home.
	Home string
	// Labels is the file with the labels of ready features. "" means in the file of features or
	// beside it.
	Labels string
	// Formats are formats of files of features and labels in addition to those of package
	// embedding, such as parquet.Format{} of internal/parquet. A format that implements
	// embedding.PictureFormat opens sets of images too.
	Formats []embedding.Format
	// Unlabelled allows sets without labels, which can be embedded and searched but not trained
	// on: a folder with most images outside class folders, a manifest without a column of labels,
	// or a single image file. Without Unlabelled these are errors. It has no effect on sets with
	// labels. See also OpenFiles.
	Unlabelled bool
	// Crop cuts images to the bounding boxes of sets that have them (CUB, Cars). The boxes of a
	// manifest are always used.
	Crop bool
	// Group names a column of a manifest for split.Selection.Group. Without it only label
	// columns are read.
	Group string
	// Columns names further columns to read: keys of the JSON in WebDataset's shards (a.b is the
	// key b of the object a), or columns of tables of images. It is no error if the samples lack
	// one of them.
	Columns []string
	// OtherColumns keeps the other columns of a manifest in Dataset.OtherColumns.
	OtherColumns bool
	// Distinct makes one sample of all rows of a manifest that list the same item. It has the labels of all; see
	// Dataset.MultiLabel. Without Distinct each row is a sample, as training wants.
	Distinct bool
	// Outside lets manifests and other lists in folders name images outside the folder, by
	// absolute paths or by "..". This is never allowed in archives. Symbolic links may lead
	// anywhere.
	Outside bool
	// Strict makes it an error if a sample lacks the label that others have. Otherwise the sample
	// is left out.
	Strict bool
}

// Open finds a data set and reads its list of samples. what is the name of a set in the data folder
// (or installed by a Debian package), or the path of one of these:
//
//   - a folder, a .zip archive or a CSV manifest;
//   - a file of ready features (.npy, .npz or .safetensors);
//   - shards: a .tar or .parquet file, a pattern such as set-{000..063}.tar, or a .txt list of them.
//
// If nothing is found, the error lists the places that were searched, and wraps fs.ErrNotExist. Other
// errors name the file and line. If ctx ends first, the error wraps ctx.Err().
//
// A sample that lacks the label that others have (an empty field or a null) is left out and counted;
// see OpenOptions.Strict.
//
// Archives stay open until Dataset.Close.
func Open(ctx context.Context, what string, opt OpenOptions) (*Dataset, error) {
	if what == "" {
		return nil, errors.New("no data set given: name one (see 'kindred data list') or give a path")
	}
	s, err := layout.Open(ctx, what, []string{opt.Home, DebianHome}, opt.layout())
	return newOpened(s, opt, err)
}

// layout returns the options for readers of layouts.
func (o *OpenOptions) layout() layout.Options {
	return layout.Options{Labels: o.Labels, Formats: o.Formats, Unlabelled: o.Unlabelled, Crop: o.Crop, Group: o.Group,
		Columns: o.Columns, OtherColumns: o.OtherColumns, Distinct: o.Distinct, Outside: o.Outside}
}

// newOpened makes a data set of s, or returns its error.
func newOpened(s *layout.Set, opt OpenOptions, err error) (*Dataset, error) {
	if err != nil {
		return nil, err
	}
	d := newDataset(s)
	if err = d.checkNames(); err == nil {
		d.splitSharedFineClasses()
		d.noteConfusableNames()
		if opt.Strict {
			err = d.CheckLabels()
		}
	}
	if err != nil {
		d.Close()
		return nil, err
	}
	return d, nil
}

// newDataset makes a data set of what its files say.
func newDataset(s *layout.Set) *Dataset {
	d := &Dataset{Name: s.Name, Layout: s.Layout, Names: s.Names, Features: s.Features, Boxes: s.Boxes, Fine: s.Fine,
		Coarse: s.Coarse, Train: s.Train, OtherColumns: s.OtherColumns, Splits: publicSplits(s.Roles),
		ImageSplits: publicSplits(s.ImageRoles), LeftOut: publicLeftOut(s.LeftOut), Notes: s.Notes}
	switch {
	case s.Pixels != nil:
		d.Source = s.Pixels
	case s.Features == nil:
		d.Source = s.Files
	}
	for _, c := range s.Columns {
		d.Columns = append(d.Columns, columnOf(c))
	}
	if s.Dirs != nil {
		d.labelByFolder(s.Dirs)
	}
	if s.Layout == "folders" {
		d.Notes = append(d.remarks(), d.Notes...)
	}
	if s.MultiLabels != nil {
		d.MultiLabel = newMultiLabel(s.MultiLabels)
	}
	if s.Group != nil {
		c := columnOf(*s.Group)
		d.Group = &c
	}
	if s.Halves {
		d.Splits = splitClassesInHalf(&d.Columns[0])
	}
	d.setDisjoint()
	d.Disjoint = d.Disjoint || s.Disjoint || s.Halves
	return d.mustBeConsistent()
}

// publicSplits returns the roles of samples.
func publicSplits(roles []layout.Role) []Split {
	if roles == nil {
		return nil
	}
	out := make([]Split, len(roles))
	for i, r := range roles {
		out[i] = Split(r)
	}
	return out
}

// IsName reports whether Open takes what for the name of a set in home or of the system, instead of
// the path of a file or folder.
func IsName(what, home string) bool { return layout.IsName(what, []string{home, DebianHome}) }

// OpenFS is Open for the data set in a file system, whose files are built into the program, in
// memory, or from any other source. name is the name of the set.
func OpenFS(ctx context.Context, files fs.FS, name string, opt OpenOptions) (*Dataset, error) {
	if files == nil {
		return nil, errors.New("no file system given")
	}
	s, err := layout.OpenTree(ctx, tree.NewFS(files, name), name, opt.layout())
	return newOpened(s, opt, err)
}

// OpenFiles makes a set without labels from the paths of images, for embedding and search. A path is
// an image file, a folder, or a .zip archive. All images in a folder and below are taken. The name of
// a sample is its path as given.
//
// Files that are not images, do not exist or are listed twice are counted and named
// in LeftOut. It is an error if no image remains. If ctx ends first, the error
// wraps ctx.Err().
func OpenFiles(ctx context.Context, paths []string) (*Dataset, error) {
	s, err := layout.OpenFiles(ctx, paths)
	if err != nil {
		return nil, err
	}
	return newDataset(s), nil
}

// ReadPaths reads a list of paths for OpenFiles. There is one on each line, as ls and find write them,
// or they are separated by zero bytes, as find -print0 writes them, which allows every name. Blank
// lines are ignored.
func ReadPaths(r io.Reader) ([]string, error) {
	text, err := budget.ReadAll("the list of files", r)
	if err != nil {
		return nil, err
	}
	var out []string
	marked := bytes.HasPrefix(text, []byte("\xff\xfe")) || bytes.HasPrefix(text, []byte("\xfe\xff"))
	if bytes.IndexByte(text, 0) >= 0 && !marked {
		for p := range bytes.SplitSeq(text, []byte{0}) {
			if len(p) > 0 {
				out = append(out, string(p))
			}
		}
		return out, nil
	}
	if text, err = plaintext.Bytes(text); err != nil {
		return nil, err
	}
	for line := range strings.Lines(string(text)) {
		if line = strings.TrimSpace(line); line != "" {
			out = append(out, line)
		}
	}
	return out, nil
}

// ListFiles makes a set without labels of the image files at paths, in their order. Unlike OpenFiles it leaves none
// out: a file need not exist yet nor have the ending of an image, and a path may occur several times, with different
// boxes. boxes is nil for whole images. The name of a sample is its path.
func ListFiles(name string, paths []string, boxes []image.Rectangle) *Dataset {
	d := &Dataset{Name: name, Layout: "files", Boxes: boxes}
	f := new(tree.Files)
	for _, p := range paths {
		d.Names = append(d.Names, filepath.ToSlash(p))
		f.Add(tree.Folder{}, path.Clean(filepath.ToSlash(p)))
	}
	d.Source = f
	return d.mustBeConsistent()
}

// Options that errors name.
const (
	optHome   option.Option = "data.OpenOptions.Home"
	optStrict option.Option = "data.OpenOptions.Strict"
)

// EnvHome is the environment variable that names the data folder.
const EnvHome = "KINDRED_DATA"

// Home returns the data folder: dir if not empty, else $KINDRED_DATA, else
// kindred/data in the user's cache folder. It holds one folder per data set.
func Home(dir string) (string, error) {
	dir, err := home.Folder("data", dir, EnvHome)
	if err != nil {
		return "", option.Errorf("no folder for data: %w; set %s or $%s", err, optHome, EnvHome)
	}
	return dir, nil
}
