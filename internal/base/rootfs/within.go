// Package rootfs opens files for other people below allowed folders only.
// A path is resolved when it is opened, starting at the open folder (os.Root), so
// no link leads out, whoever creates it and whenever.
//
// The allowed folders are passed in the context, because reading passes through many packages.
package rootfs

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"

	"github.com/kindred-ml/kindred/internal/base/fileinfo"
)

// Roots are the allowed folders and files. A path that is opened must be one of them or below one. Links are
// followed from one to another, and no further. A nil *Roots opens anything.
//
// A root that is itself a link is resolved when the roots are opened.
type Roots struct {
	list []root

	mu         sync.Mutex
	copyFolder string // folder of the files that Local has copied
}

// root is a folder that is open, or one file in it.
type root struct {
	path, real string // as it was given, and without links
	dir        *os.Root
	file       string // "": the folder
}

// Open opens the roots. A root that does not exist is left out.
func Open(paths []string) (*Roots, error) {
	r := &Roots{}
	for _, p := range paths {
		if err := r.add(p); err != nil && !errors.Is(err, fs.ErrNotExist) {
			r.Close()
			return nil, err
		}
	}
	return r, nil
}

func (r *Roots) add(path string) error {
	path, err := filepath.Abs(path)
	if err != nil {
		return err
	}
	at := root{path: path}
	if at.real, err = filepath.EvalSymlinks(path); err != nil {
		return err
	}
	info, err := os.Stat(at.real)
	if err != nil {
		return err
	}
	dir := at.real
	if !info.IsDir() {
		dir, at.file = filepath.Split(at.real)
	}
	if at.dir, err = os.OpenRoot(dir); err != nil {
		return err
	}
	r.list = append(r.list, at)
	return nil
}

// WithRoot returns the roots and one more, for as long as they are open.
func (r *Roots) WithRoot(path string) (*Roots, error) {
	if r == nil {
		return nil, nil
	}
	more := &Roots{list: slices.Clone(r.list)}
	return more, more.add(path)
}

// Close closes the folders, and removes what Local has copied.
func (r *Roots) Close() error {
	if r == nil {
		return nil
	}
	var errs []error
	for _, at := range r.list {
		errs = append(errs, at.dir.Close())
	}
	if r.copyFolder != "" {
		errs = append(errs, os.RemoveAll(r.copyFolder))
	}
	return errors.Join(errs...)
}

// OutsideError says that a path is not below a root.
type OutsideError struct {
	Path string
	Link bool // it is, but a link leads out
}

func (e *OutsideError) Error() string {
	if e.Link {
		return e.Path + ": a link leads out of what may be read for others: kindred worker --allow names what may"
	}
	return e.Path + ": may not be read for others: kindred worker --allow names what may"
}

// within returns what do returns for the open folder that holds path and for path's name in it. Without roots it
// returns what free returns.
func within[T any](r *Roots, path string, free func(path string) (T, error),
	do func(dir *os.Root, name string) (T, error)) (found T, err error) {
	if r == nil {
		return free(path)
	}
	full, err := cleanPath(path)
	if err != nil {
		return found, err
	}
	inside := false
	for _, at := range r.list {
		for _, begin := range []string{at.path, at.real} {
			name, ok := at.name(full, begin)
			if !ok {
				continue
			}
			inside = true
			if found, err = do(at.dir, name); err == nil || !isEscape(err) {
				return found, withPath(path, err)
			}
		}
	}
	if !inside {
		return found, &OutsideError{Path: path}
	}
	// A link by an absolute path, or from one root to another. Its target is
	// opened from a root, too, so a link that is changed meanwhile still cannot lead out.
	if real, err := filepath.EvalSymlinks(full); err == nil {
		for _, at := range r.list {
			if name, ok := at.name(real, at.real); ok {
				if found, err := do(at.dir, name); err == nil {
					return found, nil
				}
			}
		}
	}
	return found, &OutsideError{path, true}
}

// name returns the name of a path within the root, where begin is the root's own path.
func (r *root) name(path, begin string) (string, bool) {
	rest, ok := strings.CutPrefix(path, begin)
	separator := string(filepath.Separator)
	switch {
	case !ok, rest != "" && !strings.HasPrefix(rest, separator) && !strings.HasSuffix(begin, separator):
		return "", false
	case r.file != "":
		return r.file, rest == ""
	}
	if rest = strings.TrimLeft(rest, separator); rest == "" {
		rest = "."
	}
	return rest, true
}

// cleanPath returns an absolute path without . and doubled separators. It keeps .., because behind a link
// .. leads elsewhere than in a cleaned path.
func cleanPath(path string) (string, error) {
	if !filepath.IsAbs(path) {
		here, err := os.Getwd()
		if err != nil {
			return "", err
		}
		path = here + string(filepath.Separator) + path
	}
	volume := filepath.VolumeName(path)
	var kept []string
	for part := range strings.SplitSeq(filepath.FromSlash(path[len(volume):]), string(filepath.Separator)) {
		if part != "" && part != "." {
			kept = append(kept, part)
		}
	}
	return volume + string(filepath.Separator) + strings.Join(kept, string(filepath.Separator)), nil
}

// isEscape reports whether err is os.Root's error for a path that leads out. os exports no value for that error, so
// this is any error that is neither the system's nor about a file that is not regular.
func isEscape(err error) bool {
	var number syscall.Errno
	var kind *fileinfo.NotRegularError
	return !errors.As(err, &number) && !errors.As(err, &kind) && !errors.Is(err, fs.ErrNotExist)
}

// Open opens a regular file.
func (r *Roots) Open(path string) (*os.File, error) {
	return within(r, path, fileinfo.Open, fileinfo.OpenIn)
}

// OpenSized is Open, with the size of the file.
func (r *Roots) OpenSized(path string) (*os.File, int64, error) {
	return fileinfo.WithSize(r.Open(path))
}

// Stat is os.Stat.
func (r *Roots) Stat(path string) (fs.FileInfo, error) {
	return within(r, path, os.Stat, (*os.Root).Stat)
}

// ReadDir is os.ReadDir.
func (r *Roots) ReadDir(path string) ([]fs.DirEntry, error) {
	return within(r, path, os.ReadDir, func(dir *os.Root, name string) ([]fs.DirEntry, error) {
		sub, err := dir.OpenRoot(name)
		if err != nil {
			return nil, err
		}
		defer sub.Close()
		return fs.ReadDir(sub.FS(), ".")
	})
}

// withPath replaces the name in an error of os.Root by the whole path.
func withPath(path string, err error) error {
	var in *fs.PathError
	var kind *fileinfo.NotRegularError
	switch {
	case errors.As(err, &kind):
		return &fileinfo.NotRegularError{Path: path, Mode: kind.Mode}
	case errors.Is(err, fs.ErrNotExist):
		return &fileinfo.NotFoundError{Path: path}
	case errors.As(err, &in):
		return &fs.PathError{Op: in.Op, Path: path, Err: in.Err}
	}
	return err
}

// key is the key of the roots in a context.
type key struct{}

// WithRoots returns a context in which only files below the roots may be read.
func WithRoots(ctx context.Context, r *Roots) context.Context {
	return context.WithValue(ctx, key{}, r)
}

// FromContext returns the roots of a context, or nil if any file may be read.
func FromContext(ctx context.Context) *Roots {
	r, _ := ctx.Value(key{}).(*Roots)
	return r
}

// LocalCopy returns a path for readers that take paths, to the file at the given path:
// the path itself if ctx has no roots, else the path of a copy, which exists until the roots are closed. Of
// a folder the files directly in it are copied.
func LocalCopy(ctx context.Context, path string) (string, error) {
	r := FromContext(ctx)
	if r == nil || path == "" {
		return path, nil
	}
	info, err := r.Stat(path)
	if err != nil {
		return "", err
	}
	into, err := r.makeCopyFolder()
	if err != nil {
		return "", err
	}
	to := filepath.Join(into, filepath.Base(path))
	if !info.IsDir() {
		return to, r.copy(path, to)
	}
	list, err := r.ReadDir(path)
	if err != nil {
		return "", err
	}
	if err := os.Mkdir(to, 0o700); err != nil {
		return "", err
	}
	for _, e := range list {
		if e.IsDir() {
			continue
		}
		if err := r.copy(filepath.Join(path, e.Name()), filepath.Join(to, e.Name())); err != nil {
			return "", err
		}
	}
	return to, nil
}

// makeCopyFolder makes a folder for copies.
func (r *Roots) makeCopyFolder() (string, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.copyFolder == "" {
		dir, err := os.MkdirTemp("", "kindred-copies-*")
		if err != nil {
			return "", err
		}
		r.copyFolder = dir
	}
	return os.MkdirTemp(r.copyFolder, "")
}

func (r *Roots) copy(from, to string) error {
	f, err := r.Open(from)
	if err != nil {
		return err
	}
	defer f.Close()
	w, err := os.OpenFile(to, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	_, err = io.Copy(w, f)
	if err = errors.Join(err, w.Close()); err != nil {
		return fmt.Errorf("a copy of %s: %w", from, err)
	}
	return nil
}
