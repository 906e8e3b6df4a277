package data

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/kindred-ml/kindred/embedding"
	"github.com/kindred-ml/kindred/internal/base/rootfs"
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
	if d, ok, err := openTable(ctx, what, opt); ok {
		return d.finishOpening(opt, err)
	}
	if isFeatures(what) {
		d, err := openFeatures(ctx, what, opt)
		return d.finishOpening(opt, err)
	}
	if opt.Labels != "" {
		return nil, fmt.Errorf("the file of labels %s needs a file of features (%s), but %s is not one", opt.Labels,
			strings.Join(featureFiles(), ", "), what)
	}
	d, err := openPath(ctx, what, opt)
	if err != nil {
		return nil, err
	}
	if err := d.checkNames(); err != nil {
		d.Close()
		return nil, err
	}
	return d.finishOpening(opt, nil)
}

// finishOpening completes the opening of d, or returns its error.
func (d *Dataset) finishOpening(opt OpenOptions, err error) (*Dataset, error) {
	if err != nil {
		return d, err
	}
	d.splitSharedFineClasses()
	d.noteConfusableNames()
	if !opt.Strict {
		return d, nil
	}
	if err := d.CheckLabels(); err != nil {
		d.Close()
		return nil, err
	}
	return d, nil
}

func openPath(ctx context.Context, what string, opt OpenOptions) (*Dataset, error) {
	if t, name, ok, err := openShards(ctx, what, opt.Outside); ok {
		if err != nil {
			return nil, err
		}
		return openLayout(ctx, t, name, opt)
	}
	path, name, err := locate(what, opt.Home)
	if err != nil {
		return nil, err
	}
	in := rootfs.FromContext(ctx)
	if path != what { // the owner of the data folder may have put a link there
		if in, err = in.WithRoot(path); err != nil {
			return nil, err
		}
	}
	if info, err := in.Stat(path); err == nil && info.Mode().IsRegular() {
		if strings.EqualFold(filepath.Ext(path), ".csv") {
			return openManifest(folder{filepath.Dir(path), in}, filepath.Base(path), name, opt)
		}
		if opt.Unlabelled && isImage(folder{filepath.Dir(path), in}, filepath.Base(path)) {
			return OpenFiles(rootfs.WithRoots(ctx, in), []string{path})
		}
	}
	t, err := openTree(in, path)
	if err != nil {
		return nil, err
	}
	d, err := openLayout(ctx, t, name, opt)
	if err != nil {
		closeTree(t)
	}
	return d, err
}

// notFoundError is the error of a data set that does not exist. It is fs.ErrNotExist.
type notFoundError struct{ text string }

func notFoundf(format string, args ...any) error { return &notFoundError{fmt.Sprintf(format, args...)} }

func (e *notFoundError) Error() string { return e.text }
func (e *notFoundError) Unwrap() error { return fs.ErrNotExist }

// IsName reports whether Open takes what for the name of a set in home or of the system, instead of
// the path of a file or folder.
func IsName(what, home string) bool {
	if isFeatures(what) || strings.ContainsAny(what, `/\`) {
		return false
	}
	path, _, err := locate(what, home)
	return err != nil || path != what
}

// locate returns the path and the name of the set that what means.
func locate(what, home string) (path, name string, err error) {
	if !strings.ContainsAny(what, `/\`) && what != "." && what != ".." {
		tried := []string{}
		for _, base := range []string{home, DebianHome} {
			if base == "" {
				continue
			}
			path := filepath.Join(base, what)
			if _, err := os.Stat(path); err == nil {
				return path, what, nil
			}
			tried = append(tried, path)
		}
		if _, err := os.Stat(what); err != nil {
			return "", "", notFoundf("no data set %q: there is no %s, and no such path; 'kindred data get %s' "+
				"fetches the sets that 'kindred data list' shows", what, strings.Join(tried, " or "), what)
		}
	}
	if _, err := os.Stat(what); errors.Is(err, fs.ErrNotExist) {
		return "", "", notFoundf("no data set at %s: no such file or folder", what)
	} else if err != nil {
		return "", "", err
	}
	abs, err := filepath.Abs(what)
	if err != nil {
		return "", "", err
	}
	name = strings.ToLower(filepath.Base(abs))
	return what, strings.TrimSuffix(name, filepath.Ext(name)), nil
}

// layout recognises and reads one way of storing a set.
type layout struct {
	name    string
	matches func(ctx context.Context, t tree) bool
	open    func(ctx context.Context, t tree, name string, opt OpenOptions) (*Dataset, error)
}

// layouts returns the layouts that can be recognised. Anything else is read as folders of images.
func layouts() []layout {
	return []layout{
		{"idx", isIdx, openIdx},
		{"manifest", func(_ context.Context, t tree) bool { return t.has(manifestName) },
			func(_ context.Context, t tree, name string, opt OpenOptions) (*Dataset, error) {
				return openManifest(t, manifestName, name, opt)
			}},
		{"omniglot", isOmniglot, openOmniglot},
		{"cub", isCUB, openCUB},
		{"cars", isCars, openCars},
		{"sop", isSOP, openSOP},
		{"inshop", isInShop, openInShop},
		{"cifar100", isCIFAR100, openCIFAR100},
		{"grocery", isGrocery, openGrocery},
		{"inat", isINat, openINat},
		{"webdataset", isWebDataset, openWebDataset},
		{"parquet", isPictures, openPictures},
	}
}

// openLayout tries t itself, then the only folder in t, and the only archive in a folder.
func openLayout(ctx context.Context, t tree, name string, opt OpenOptions) (*Dataset, error) {
	for _, l := range layouts() {
		if l.matches(ctx, t) {
			return l.open(ctx, t, name, opt)
		}
	}
	if inner, ok := soleFolder(ctx, t); ok {
		s := subtree{t, inner}
		for _, l := range layouts() {
			if l.matches(ctx, s) {
				return l.open(ctx, s, name, opt)
			}
		}
	}
	if zip, ok := soleZip(ctx, t); ok {
		inner, err := openZip(zip.in, zip.dir)
		if err != nil {
			return nil, err
		}
		d, err := openLayout(ctx, inner, name, opt)
		if err != nil {
			inner.Close()
		}
		return d, err
	}
	return openFolders(ctx, t, name, opt)
}

// soleZip finds the only zip archive at the top of a folder without images.
func soleZip(ctx context.Context, t tree) (zip folder, ok bool) {
	f, ok := t.(folder)
	if !ok {
		return f, false
	}
	found := slices.DeleteFunc(f.top(), func(name string) bool { return filepath.Ext(name) != ".zip" })
	if len(found) != 1 {
		return f, false
	}
	images := false
	err := t.walk(ctx, func(name, why string) error {
		if why == "" && isImageName(name) {
			images = true
			return errStop
		}
		return nil
	})
	return folder{f.path(found[0]), f.in}, !images && (err == nil || errors.Is(err, errStop))
}
