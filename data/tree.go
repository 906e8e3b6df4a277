package data

import (
	"archive/zip"
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
)

// maxFile bounds the size of one file of a data set, compressed or not.
const maxFile = 1 << 30

// tree is the files of a data set: a folder, a zip archive, or a folder within
// either. Names are slash-separated and relative. It is safe for concurrent use.
type tree interface {
	// where is the tree's place, for messages.
	where() string
	// has reports whether there is a regular file of that name.
	has(name string) bool
	// walk calls fn for every regular file, in an order that depends on the
	// names alone.
	walk(fn func(name string) error) error
	// read returns a file's content, appended to buf[:0].
	read(name string, buf []byte) ([]byte, error)
	// stamp changes when a file's content does: size and time of change, or a
	// checksum. It is empty for a file that is not there.
	stamp(name string) string
}

// openTree opens the folder or zip archive at p.
func openTree(p string) (tree, error) {
	info, err := os.Stat(p)
	if err != nil {
		return nil, err
	}
	if info.IsDir() {
		return folder(p), nil
	}
	if strings.EqualFold(filepath.Ext(p), ".zip") {
		return openZip(p)
	}
	return nil, fmt.Errorf("%s: neither a folder, nor a .zip archive, nor a .csv manifest", p)
}

// folder is a tree on disk. Symbolic links are followed, but never into a folder
// that contains the link.
type folder string

func (f folder) where() string { return string(f) }

func (f folder) has(name string) bool {
	info, err := os.Stat(filepath.Join(string(f), filepath.FromSlash(name)))
	return err == nil && info.Mode().IsRegular()
}

// top returns the names of the files directly in f.
func (f folder) top() []string {
	entries, err := os.ReadDir(string(f))
	if err != nil {
		return nil // what reads f next will say so
	}
	var names []string
	for _, e := range entries {
		if !e.IsDir() {
			names = append(names, e.Name())
		}
	}
	return names
}

func (f folder) walk(fn func(string) error) error {
	info, err := os.Stat(string(f))
	if err != nil {
		return err
	}
	return f.walkDir("", []os.FileInfo{info}, fn)
}

// walkDir visits the folder dir below f; above are dir and the folders over it.
func (f folder) walkDir(dir string, above []os.FileInfo, fn func(string) error) error {
	entries, err := os.ReadDir(filepath.Join(string(f), filepath.FromSlash(dir)))
	if err != nil {
		return err
	}
	for _, e := range entries {
		if strings.HasPrefix(e.Name(), ".") {
			continue // .DS_Store, ._copies, .git
		}
		name := path.Join(dir, e.Name())
		if e.Type().IsRegular() {
			if err := fn(name); err != nil {
				return err
			}
			continue
		}
		info, err := os.Stat(filepath.Join(string(f), filepath.FromSlash(name)))
		switch {
		case err != nil:
			// A link to nowhere, or one of a ring of links, names no file.
			continue
		case info.Mode().IsRegular():
			err = fn(name)
		case info.IsDir() && !slices.ContainsFunc(above, func(a os.FileInfo) bool { return os.SameFile(a, info) }):
			err = f.walkDir(name, append(slices.Clip(above), info), fn)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

func (f folder) read(name string, buf []byte) ([]byte, error) {
	file, err := os.Open(filepath.Join(string(f), filepath.FromSlash(name)))
	if err != nil {
		return nil, err
	}
	defer file.Close()
	info, err := file.Stat()
	if err != nil {
		return nil, err
	}
	if !info.Mode().IsRegular() {
		return nil, fmt.Errorf("%s: not a regular file", file.Name())
	}
	return readAll(file, file.Name(), info.Size(), buf)
}

func (f folder) stamp(name string) string {
	info, err := os.Stat(filepath.Join(string(f), filepath.FromSlash(name)))
	if err != nil {
		return ""
	}
	return fmt.Sprintf("%d %d", info.Size(), info.ModTime().UnixNano())
}

// readAll reads size bytes of r.
func readAll(r io.Reader, name string, size int64, buf []byte) ([]byte, error) {
	if size > maxFile {
		return nil, fmt.Errorf("%s: %d bytes; files of more than %d are refused", name, size, maxFile)
	}
	buf = slices.Grow(buf[:0], int(size))[:size]
	if _, err := io.ReadFull(r, buf); err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	return buf, nil
}

// archive is a tree in a zip file, which stays open.
type archive struct {
	path  string
	files map[string]*zip.File
	names []string
}

func openZip(p string) (tree, error) {
	r, err := zip.OpenReader(p)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", p, err)
	}
	a := &archive{path: p, files: make(map[string]*zip.File, len(r.File))}
	for _, f := range r.File {
		// Names that lead outside are of no use to a reader that only looks
		// names up, but an archive that has them deserves no trust.
		if !filepath.IsLocal(strings.TrimSuffix(f.Name, "/")) || strings.Contains(f.Name, `\`) {
			r.Close()
			return nil, fmt.Errorf("%s: entry %q leads outside the archive", p, f.Name)
		}
		if !f.Mode().IsRegular() || hidden(f.Name) {
			continue
		}
		name := path.Clean(f.Name)
		if _, twice := a.files[name]; !twice {
			a.names = append(a.names, name)
		}
		a.files[name] = f
	}
	slices.Sort(a.names)
	return a, nil
}

// hidden reports dot files and the resource forks that macOS adds.
func hidden(name string) bool {
	for part := range strings.SplitSeq(name, "/") {
		if strings.HasPrefix(part, ".") || part == "__MACOSX" {
			return true
		}
	}
	return false
}

func (a *archive) where() string { return a.path }

func (a *archive) has(name string) bool { return a.files[name] != nil }

func (a *archive) walk(fn func(string) error) error {
	for _, n := range a.names {
		if err := fn(n); err != nil {
			return err
		}
	}
	return nil
}

func (a *archive) read(name string, buf []byte) ([]byte, error) {
	full := a.path + ":" + name
	f := a.files[name]
	if f == nil {
		return nil, fmt.Errorf("%s: %w", full, fs.ErrNotExist)
	}
	if f.UncompressedSize64 > maxFile {
		return nil, fmt.Errorf("%s: %d bytes uncompressed; files of more than %d are refused", full, f.UncompressedSize64, maxFile)
	}
	r, err := f.Open()
	if err != nil {
		return nil, fmt.Errorf("%s: %w", full, err)
	}
	defer r.Close()
	// The size in the archive's directory is a claim: memory grows with the
	// bytes that come.
	b := bytes.NewBuffer(buf[:0])
	if _, err := b.ReadFrom(io.LimitReader(r, maxFile+1)); err != nil {
		return nil, fmt.Errorf("%s: %w", full, err)
	}
	return b.Bytes(), nil
}

func (a *archive) stamp(name string) string {
	f := a.files[name]
	if f == nil {
		return ""
	}
	return fmt.Sprintf("%d %08x", f.UncompressedSize64, f.CRC32)
}

// subtree is a folder within a tree.
type subtree struct {
	tree
	dir string
}

func (s subtree) where() string        { return s.tree.where() + "/" + s.dir }
func (s subtree) has(name string) bool { return s.tree.has(path.Join(s.dir, name)) }

func (s subtree) stamp(name string) string { return s.tree.stamp(path.Join(s.dir, name)) }

func (s subtree) read(name string, buf []byte) ([]byte, error) {
	return s.tree.read(path.Join(s.dir, name), buf)
}

func (s subtree) walk(fn func(string) error) error {
	if f, ok := s.tree.(folder); ok {
		return folder(filepath.Join(string(f), filepath.FromSlash(s.dir))).walk(fn)
	}
	return s.tree.walk(func(name string) error {
		if rest, ok := strings.CutPrefix(name, s.dir+"/"); ok {
			return fn(rest)
		}
		return nil
	})
}

// errStop ends a walk early.
var errStop = errors.New("stop")

// soleFolder returns the name of the folder that holds all files of t, if there
// is one: archives are often wrapped in a folder of their own name.
func soleFolder(t tree) (string, bool) {
	first, sole := "", true
	err := t.walk(func(name string) error {
		top, _, nested := strings.Cut(name, "/")
		if !nested || first != "" && top != first {
			sole = false
			return errStop
		}
		first = top
		return nil
	})
	return first, sole && first != "" && err == nil
}
