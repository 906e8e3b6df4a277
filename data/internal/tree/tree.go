package tree

import (
	"archive/zip"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/kindred-ml/kindred/internal/base/budget"
	"github.com/kindred-ml/kindred/internal/base/fileinfo"
	"github.com/kindred-ml/kindred/internal/base/rootfs"
	"github.com/kindred-ml/kindred/internal/format/zipfile"
)

// Tree holds the files of a data set: a folder, a zip archive, or a folder within either. Names are
// slash-separated and relative. It is safe for concurrent use.
type Tree interface {
	// location returns the tree's place, for messages.
	Location() string
	// has reports whether there is a regular file with that name.
	Has(name string) bool
	// walk calls fn for every file, in an order that depends only on the names, until ctx ends. why
	// is the reason for leaving a file out, or "". Hidden files are not visited. In folders of
	// systems only images are visited.
	Walk(ctx context.Context, fn func(name, why string) error) error
	// read returns a file's content, appended to buf[:0].
	Read(name string, buf []byte) ([]byte, error)
	// digest identifies a file's content: by its SHA-256 or, in an archive, by the size and the
	// CRC-32, which reading checks. buf is a buffer to read into, and room the buffer for the next
	// call.
	Digest(name string, buf []byte) (sum string, room []byte, err error)
	// stat describes a file without opening it.
	Stat(name string) Stat
}

// Stat describes a file.
type Stat struct {
	Path     string // absolute; "" for a file in an archive or not on this machine
	Size     int64
	Modified time.Time // zero if it is unknown
	Err      error     // set if nothing is known
}

// Open opens the folder or zip archive at p.
func Open(in *rootfs.Roots, p string) (Tree, error) {
	info, err := in.Stat(p)
	if err != nil {
		return nil, err
	}
	if info.IsDir() {
		return NewFolder(p, in), nil
	}
	if !info.Mode().IsRegular() {
		return nil, &fileinfo.NotRegularError{Path: p, Mode: info.Mode()}
	}
	if strings.EqualFold(filepath.Ext(p), ".zip") {
		return openZip(in, p)
	}
	return nil, fmt.Errorf("%s: must be a folder, a .zip archive, a .csv manifest, or shards (.tar)", p)
}

// Folder is a tree on disk. Symbolic links are followed, but no folder is
// visited twice.
type Folder struct {
	dir string
	in  *rootfs.Roots // links may not lead out of these
}

// NewFolder returns the folder at dir. in may be nil, if links may lead anywhere.
func NewFolder(dir string, in *rootfs.Roots) Folder { return Folder{dir: dir, in: in} }

func (f Folder) Location() string { return f.dir }

func (f Folder) path(name string) string { return filepath.Join(f.dir, filepath.FromSlash(name)) }

func (f Folder) Has(name string) bool {
	info, err := f.in.Stat(f.path(name))
	return err == nil && info.Mode().IsRegular()
}

// Sub returns a folder or file in f.
func (f Folder) Sub(name string) Folder { return Folder{f.path(name), f.in} }

// WithoutRoots returns f with links that may lead anywhere.
func (f Folder) WithoutRoots() Folder { return Folder{dir: f.dir} }

// Open opens a file of f.
func (f Folder) Open(name string) (*os.File, error) { return f.in.Open(f.path(name)) }

// OpenZip opens the archive that f is.
func (f Folder) OpenZip() (*Archive, error) { return openZip(f.in, f.dir) }

// Top returns the names of the files directly in f.
func (f Folder) Top() []string {
	entries, err := f.in.ReadDir(f.dir)
	if err != nil {
		return nil // the next read of f reports the error
	}
	var names []string
	for _, e := range entries {
		if !e.IsDir() {
			names = append(names, e.Name())
		}
	}
	return names
}

func (f Folder) Walk(ctx context.Context, fn func(name, why string) error) error {
	root, err := filepath.EvalSymlinks(f.dir)
	if err != nil {
		return err
	}
	w := walker{f, root, map[string]bool{}, fn}
	return w.visit(ctx, "", root)
}

// Reasons for leaving out a link.
const (
	deadLink    = "a link that leads nowhere"
	linkedUp    = "a link to the folder of the set, or to one above it"
	linkedTwice = "a link to a folder that is read under another name"
)

// walker walks through a folder. It identifies a folder by its path without symbolic links.
type walker struct {
	f       Folder
	root    string
	visited map[string]bool
	fn      func(name, why string) error
}

// visit walks through the folder dir below w.f, whose real path is real.
func (w *walker) visit(ctx context.Context, dir, real string) error {
	if w.visited[real] {
		return w.fn(dir, linkedTwice)
	}
	w.visited[real] = true
	return w.eachEntry(ctx, dir, real, func(e fs.DirEntry) error {
		name, at := path.Join(dir, e.Name()), filepath.Join(real, e.Name())
		switch {
		case isSystemFolder(e.Name()) && !e.Type().IsRegular():
			return w.listSystemFolder(ctx, name, at)
		case IsHidden(e.Name()): // .DS_Store, ._copies, .git
			return nil
		case e.Type().IsRegular():
			return w.fn(name, "")
		case e.IsDir():
			return w.visit(ctx, name, at)
		}
		return w.followLink(ctx, name, at)
	})
}

// eachEntry calls do for the entries of the folder dir below w.f, whose real path is real.
func (w *walker) eachEntry(ctx context.Context, dir, real string, do func(fs.DirEntry) error) error {
	if err := ctx.Err(); err != nil {
		return fmt.Errorf("%s: %w", real, err)
	}
	entries, err := w.f.in.ReadDir(real)
	if err != nil {
		return err
	}
	for _, e := range entries {
		if err := do(e); err != nil {
			return err
		}
	}
	return nil
}

// listSystemFolder lists the images in a folder of a system as left out. It follows no links. It ignores folders
// that cannot be read, because Windows may close its folders to all users.
func (w *walker) listSystemFolder(ctx context.Context, dir, real string) error {
	err := w.eachEntry(ctx, dir, real, func(e fs.DirEntry) error {
		name := path.Join(dir, e.Name())
		switch {
		case e.IsDir():
			return w.listSystemFolder(ctx, name, filepath.Join(real, e.Name()))
		case IsImageName(name) && e.Type().IsRegular():
			return w.fn(name, InSystemFolder)
		}
		return nil
	})
	if errors.Is(err, fs.ErrPermission) {
		return nil
	}
	return err
}

// followLink follows the link at path, if it is one. It leaves out a folder that the walk visits at its own
// place.
func (w *walker) followLink(ctx context.Context, name, path string) error {
	info, err := w.f.in.Stat(path)
	if out := (*rootfs.OutsideError)(nil); errors.As(err, &out) {
		return err
	}
	if err != nil {
		return w.fn(name, deadLink)
	}
	if info.Mode().IsRegular() {
		return w.fn(name, "")
	}
	if !info.IsDir() {
		return w.fn(name, fileinfo.KindOf(info.Mode()))
	}
	real, err := filepath.EvalSymlinks(path)
	if err != nil {
		return w.fn(name, deadLink)
	}
	in, err := filepath.Rel(w.root, real)
	if err == nil && filepath.IsLocal(in) && !IsHidden(filepath.ToSlash(in)) &&
		!IsInSystemFolder(filepath.ToSlash(in)+"/") {
		return w.fn(name, linkedTwice)
	}
	if out, err := filepath.Rel(real, w.root); err == nil && filepath.IsLocal(out) {
		return w.fn(name, linkedUp)
	}
	return w.visit(ctx, name, real)
}

func (f Folder) Read(name string, buf []byte) ([]byte, error) {
	file, size, err := f.in.OpenSized(f.path(name))
	if err != nil {
		return nil, err
	}
	defer file.Close()
	if int64(cap(buf)) < size {
		// A sparse file may claim any size, so memory is allocated as bytes are read.
		b, err := budget.ReadN(f.path(name), file, size)
		return b, WithName(f.path(name), err)
	}
	buf = buf[:size]
	_, err = io.ReadFull(file, buf)
	return buf, WithName(f.path(name), err)
}

// WithName adds the name of a file to an error that may lack it.
func WithName(name string, err error) error {
	var over *budget.Error
	if err == nil || errors.As(err, &over) {
		return err
	}
	return fmt.Errorf("%s: %w", name, err)
}

func (f Folder) Digest(name string, buf []byte) (string, []byte, error) {
	file, err := f.in.Open(f.path(name))
	if err != nil {
		return "", buf, err
	}
	defer file.Close()
	h := sha256.New()
	if cap(buf) < 1<<16 {
		buf = make([]byte, 1<<16)
	}
	for {
		n, err := file.Read(buf[:cap(buf)])
		h.Write(buf[:n])
		if err == io.EOF {
			return hex.EncodeToString(h.Sum(nil)), buf, nil
		}
		if err != nil {
			return "", buf, err
		}
	}
}

// Archive is a tree in a zip file, which stays open.
type Archive struct {
	path         string
	zip          *os.File
	files        map[string]*zip.File
	names        []string
	systemImages []string // images in folders of systems
}

func openZip(in *rootfs.Roots, p string) (*Archive, error) {
	file, err := in.Open(p)
	if err != nil {
		return nil, err
	}
	a, err := newArchive(p, file)
	if err != nil {
		file.Close()
		return nil, err
	}
	return a, nil
}

func newArchive(p string, file *os.File) (*Archive, error) {
	info, err := file.Stat()
	if err != nil {
		return nil, err
	}
	r, err := zipfile.NewReader(file, info.Size())
	if err != nil {
		return nil, fmt.Errorf("%s: %w", p, err)
	}
	a := &Archive{path: p, zip: file, files: make(map[string]*zip.File, len(r.File))}
	for _, f := range r.File {
		// Names that lead outside do no harm here, because files are only found by name. But an
		// archive with such names is not trustworthy.
		name := f.Name
		if !strings.Contains(name, "/") { // old programs of Windows write backslashes
			name = strings.ReplaceAll(name, `\`, "/")
		}
		if !filepath.IsLocal(strings.TrimSuffix(name, "/")) || strings.Contains(name, `\`) {
			return nil, fmt.Errorf("%s: entry %q leads outside the archive", p, f.Name)
		}
		isDir := strings.HasSuffix(name, "/")
		name = path.Clean(name)
		switch {
		case !f.Mode().IsRegular() || isDir:
			continue
		case IsInSystemFolder(name):
			if IsImageName(name) {
				a.systemImages = append(a.systemImages, name)
			}
			continue
		case IsHidden(name):
			continue
		}
		if _, twice := a.files[name]; !twice {
			a.names = append(a.names, name)
		}
		a.files[name] = f
	}
	slices.Sort(a.names)
	slices.Sort(a.systemImages)
	return a, nil
}

// IsHidden reports dot files and the resource forks that macOS adds.
func IsHidden(name string) bool {
	for part := range strings.SplitSeq(name, "/") {
		if strings.HasPrefix(part, ".") || part == "__MACOSX" {
			return true
		}
	}
	return false
}

func (a *Archive) Location() string { return a.path }

func (a *Archive) Has(name string) bool { return a.files[name] != nil }

func (a *Archive) Walk(ctx context.Context, fn func(name, why string) error) error {
	for _, n := range a.names {
		if err := ctx.Err(); err != nil {
			return fmt.Errorf("%s: %w", a.path, err)
		}
		if err := fn(n, ""); err != nil {
			return err
		}
	}
	for _, n := range a.systemImages {
		if err := fn(n, InSystemFolder); err != nil {
			return err
		}
	}
	return nil
}

func (a *Archive) Read(name string, buf []byte) ([]byte, error) {
	full := a.path + ":" + name
	f := a.files[name]
	if f == nil {
		return nil, fmt.Errorf("%s: %w", full, fs.ErrNotExist)
	}
	r, err := f.Open()
	if err != nil {
		return nil, fmt.Errorf("%s: %w", full, err)
	}
	defer r.Close()
	b, err := readEntry(full, &f.FileHeader, r, buf)
	return b, WithName(full, err)
}

// readEntry reads an entry of a zip archive, into buf if it is large enough. Memory is allocated once,
// so that an entry as large as the limit needs no more than that. It is an error, before memory is
// allocated, if the compressed bytes cannot hold the size in the header. It is also an error if the
// content has another size.
func readEntry(what string, h *zip.FileHeader, r io.Reader, buf []byte) ([]byte, error) {
	size := int64(min(h.UncompressedSize64, math.MaxInt64))
	if err := budget.Check(what, size); err != nil {
		return nil, err
	}
	most := int64(min(h.CompressedSize64, math.MaxInt64))
	if h.Method != zip.Store {
		// The longest match, 258 bytes, takes at least two bits (RFC 1951, section 3.2.5).
		const ratio, block = 4 * 258, 258
		most = budget.Sum(budget.Product(most, ratio), block)
	}
	if size > most {
		return nil, fmt.Errorf("the archive announces %d bytes, more than its %d compressed bytes can hold", size,
			h.CompressedSize64)
	}
	if int64(cap(buf)) < size {
		buf = make([]byte, size)
	}
	buf = buf[:size]
	if _, err := io.ReadFull(r, buf); err != nil {
		if err == io.EOF {
			err = io.ErrUnexpectedEOF
		}
		return nil, err
	}
	return buf, checkEnd(r, size)
}

func (a *Archive) Digest(name string, buf []byte) (string, []byte, error) {
	f := a.files[name]
	if f == nil {
		return "", buf, fmt.Errorf("%s:%s: %w", a.path, name, fs.ErrNotExist)
	}
	return fmt.Sprintf("%d %08x", f.UncompressedSize64, f.CRC32), buf, nil
}

func (a *Archive) Close() error { return a.zip.Close() }

// Sub is a folder within a tree.
type Sub struct {
	Tree
	dir string
}

// NewSub returns the folder dir within t.
func NewSub(t Tree, dir string) Sub { return Sub{Tree: t, dir: dir} }

func (s Sub) Location() string     { return s.Tree.Location() + "/" + s.dir }
func (s Sub) Has(name string) bool { return s.Tree.Has(path.Join(s.dir, name)) }

func (s Sub) Digest(name string, buf []byte) (string, []byte, error) {
	return s.Tree.Digest(path.Join(s.dir, name), buf)
}

func (s Sub) Read(name string, buf []byte) ([]byte, error) {
	return s.Tree.Read(path.Join(s.dir, name), buf)
}

func (s Sub) Walk(ctx context.Context, fn func(name, why string) error) error {
	if f, ok := s.Tree.(Folder); ok {
		return NewFolder(f.path(s.dir), f.in).Walk(ctx, fn)
	}
	return s.Tree.Walk(ctx, func(name, why string) error {
		if rest, ok := strings.CutPrefix(name, s.dir+"/"); ok {
			return fn(rest, why)
		}
		return nil
	})
}

// ErrStop ends a walk early.
var ErrStop = errors.New("stop")

// SoleFolder returns the name of the folder that holds all files of t, if there is one. Archives are
// often wrapped in a folder with their own name.
func SoleFolder(ctx context.Context, t Tree) (string, bool) {
	first, sole := "", true
	err := t.Walk(ctx, func(name, why string) error {
		if why != "" {
			return nil
		}
		top, _, nested := strings.Cut(name, "/")
		if !nested || first != "" && top != first {
			sole = false
			return ErrStop
		}
		first = top
		return nil
	})
	return first, sole && first != "" && err == nil
}

func (f Folder) Stat(name string) Stat {
	path := f.path(name)
	info, err := f.in.Stat(path)
	if err != nil {
		return Stat{Err: err}
	}
	if path, err = filepath.Abs(path); err != nil {
		return Stat{Err: err}
	}
	return Stat{Path: path, Size: info.Size(), Modified: info.ModTime()}
}

func (a *Archive) Stat(name string) Stat {
	f := a.files[name]
	if f == nil {
		return Stat{Err: fs.ErrNotExist}
	}
	return Stat{Size: int64(f.UncompressedSize64)}
}

func (s Sub) Stat(name string) Stat { return s.Tree.Stat(s.dir + "/" + name) }
