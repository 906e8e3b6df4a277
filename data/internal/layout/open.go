package layout

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/kindred-ml/kindred/data/internal/tree"
	"github.com/kindred-ml/kindred/internal/base/rootfs"
)

// Open finds and reads the set that what means: shards, features, a file of one set, a folder or an archive.
// homes are the folders of sets by name.
func Open(ctx context.Context, what string, homes []string, opt Options) (*Set, error) {
	features := isFeatures(what)
	if opt.Labels != "" && !features {
		return nil, fmt.Errorf("the file of labels %s needs a file of features (%s), but %s is not one", opt.Labels,
			strings.Join(featureFiles(), ", "), what)
	}
	pictures := opt.Labels == "" && picturesFormat(opt) != nil && strings.EqualFold(filepath.Ext(what), ".parquet")
	if !features || pictures {
		found, err := findShards(ctx, what, opt.Outside)
		if err != nil {
			return nil, err
		}
		if found != nil {
			s, err := found.open(ctx, opt)
			if !pictures || found.Count() > 1 || !errors.Is(err, errNoPictures) {
				return s, err
			}
		}
	}
	if features {
		return openFeatures(ctx, what, opt)
	}
	path, name, err := locate(what, homes)
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
		dir, file := tree.NewFolder(filepath.Dir(path), in), filepath.Base(path)
		if strings.EqualFold(filepath.Ext(path), ".csv") {
			manifest := layout{name: "manifest", read: readManifest}
			return manifest.open(ctx, &listing{Tree: dir}, []string{file}, name, opt)
		}
		if opt.Unlabelled && tree.IsImage(dir, file) {
			return OpenFiles(rootfs.WithRoots(ctx, in), []string{path})
		}
	}
	t, err := tree.Open(in, path)
	if err != nil {
		return nil, err
	}
	s, err := OpenTree(ctx, t, name, opt)
	if err != nil {
		tree.Close(t)
	}
	return s, err
}

// featureFiles returns the extensions of files of ready features. For Open, CSV files are
// manifests.
func featureFiles() []string { return []string{".npy", ".npz", ".safetensors", ".parquet"} }

// isFeatures reports whether path names a file of ready features.
func isFeatures(path string) bool {
	return slices.Contains(featureFiles(), strings.ToLower(filepath.Ext(path)))
}

// notFoundError is the error of a data set that does not exist. It is fs.ErrNotExist.
type notFoundError struct{ text string }

func notFoundf(format string, args ...any) error { return &notFoundError{fmt.Sprintf(format, args...)} }

func (e *notFoundError) Error() string { return e.text }
func (e *notFoundError) Unwrap() error { return fs.ErrNotExist }

// IsName reports whether what is the name of a set in one of homes, instead of a path.
func IsName(what string, homes []string) bool {
	if isFeatures(what) || strings.ContainsAny(what, `/\`) {
		return false
	}
	path, _, err := locate(what, homes)
	return err != nil || path != what
}

// locate returns the path and the name of the set that what means.
func locate(what string, homes []string) (path, name string, err error) {
	_, missing := os.Stat(what)
	if !strings.ContainsAny(what, `/\`) && what != "." && what != ".." {
		tried := []string{}
		for _, base := range homes {
			if base == "" {
				continue
			}
			path := filepath.Join(base, what)
			if _, err := os.Stat(path); err == nil {
				return path, what, nil
			}
			tried = append(tried, path)
		}
		if missing != nil {
			return "", "", notFoundf("no data set %q: there is no %s, and no such path; 'kindred data get %s' "+
				"fetches the sets that 'kindred data list' shows", what, strings.Join(tried, " or "), what)
		}
	}
	if errors.Is(missing, fs.ErrNotExist) {
		return "", "", notFoundf("no data set at %s: no such file or folder", what)
	} else if missing != nil {
		return "", "", missing
	}
	abs, err := filepath.Abs(what)
	if err != nil {
		return "", "", err
	}
	name = strings.ToLower(filepath.Base(abs))
	return what, strings.TrimSuffix(name, filepath.Ext(name)), nil
}
