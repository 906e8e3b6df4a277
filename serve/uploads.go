package serve

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"github.com/kindred-ml/kindred/internal/base/atomic"
	"github.com/kindred-ml/kindred/internal/base/escape"
	"github.com/kindred-ml/kindred/internal/base/fileinfo"
	"github.com/kindred-ml/kindred/store"
)

// upload is the file of a picture that came with a request.
type upload struct {
	path string
	made bool // this request wrote the file
}

// unkeep removes the file of an item that was not written. It keeps the file if the item has this path
// because another request has written it meanwhile.
func (c *collection) unkeep(ctx context.Context, id string, u *upload) error {
	if !u.made {
		return nil
	}
	if it, err := c.Store.Get(context.WithoutCancel(ctx), id); err == nil && it.Path == u.path {
		return nil
	}
	return os.Remove(u.path)
}

// keep writes the picture of an item into the collection's folder of uploads; nil without such a
// folder. The file's name is a digest of the id and the content, and has no text from the
// client.
func (c *collection) keep(id string, picture []byte) (*upload, error) {
	if c.Uploads == "" {
		return nil, nil
	}
	what := sha256.Sum256(picture)
	u := &upload{path: filepath.Join(c.Uploads, uploadPrefix(id)+hex.EncodeToString(what[:12]))}
	if _, err := os.Lstat(u.path); err == nil {
		return u, nil // the same picture of the same item
	}
	if err := os.MkdirAll(c.Uploads, 0o777); err != nil {
		return nil, err
	}
	if err := atomic.WriteFile(u.path, atomic.Bytes(picture)); err != nil {
		return nil, err
	}
	u.made = true
	return u, nil
}

// uploadPrefix returns the beginning of the names of the pictures that were uploaded for an item.
func uploadPrefix(id string) string {
	of := sha256.Sum256([]byte(id))
	return hex.EncodeToString(of[:12]) + "-"
}

// isUpload reports whether a path is of a picture that was uploaded.
func (c *collection) isUpload(path string) bool {
	return c.Uploads != "" && filepath.Dir(path) == filepath.Clean(c.Uploads)
}

// mayReturn reports whether an item may have the path that it had when it was removed, or that of a picture that was
// uploaded for it and is still kept.
func (c *collection) mayReturn(it *store.Item) bool {
	return c.hasUpload(it) || !c.isUpload(it.Path) && c.returning.has(it)
}

// returning has the paths of items whose removal may be undone. A path is that of one item alone: with any other, a
// writer could read files of this machine.
type returning struct {
	mu   sync.Mutex
	by   map[string]string // path by id
	last time.Time         // time of the last removal
}

// mostReturning bounds the items of returning.
const mostReturning = 100_000

// add remembers the paths of removed items, until keptFor after the last removal.
func (r *returning) add(items []store.Item) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.by == nil || time.Since(r.last) > keptFor || len(r.by)+len(items) > mostReturning {
		r.by = map[string]string{}
	}
	r.last = time.Now()
	for _, it := range items {
		r.by[it.ID] = it.Path
	}
}

func (r *returning) has(it *store.Item) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	path, ok := r.by[it.ID]
	return ok && path == it.Path && time.Since(r.last) <= keptFor
}

// hasUpload reports whether an item has the path of a picture that was uploaded for it and exists.
func (c *collection) hasUpload(it *store.Item) bool {
	if !c.isUpload(it.Path) || !strings.HasPrefix(filepath.Base(it.Path), uploadPrefix(it.ID)) {
		return false
	}
	info, err := os.Lstat(it.Path)
	return err == nil && info.Mode().IsRegular()
}

// withUploads keeps uploaded pictures from being removed until release.
func (c *collection) withUploads() (release func()) {
	c.uploading.RLock()
	return c.uploading.RUnlock
}

const (
	// keptFor is how long the uploaded picture of an item is kept whose removal may be undone.
	keptFor = time.Hour
	// removedSuffix ends the names of the notes about such pictures, beside them. A note has the time of the removal
	// and, in the next line, the id of the item.
	removedSuffix = ".removed"
	// sweepPause is the time between two looks for pictures to remove.
	sweepPause = time.Minute
)

// forgetLater keeps the uploaded pictures of removed items for keptFor.
func (s *Server) forgetLater(c *collection, items []store.Item) {
	c.returning.add(items)
	now := time.Now().UTC().Format(time.RFC3339)
	for _, it := range items {
		if !c.hasUpload(&it) {
			continue
		}
		err := atomic.WriteFile(it.Path+removedSuffix, atomic.Bytes([]byte(now+"\n"+it.ID)))
		if err != nil {
			s.log.Warn("the picture of a removed item stays", "file", it.Path, "error", err)
		}
	}
}

// sweepEvery removes pictures of removed items in the background.
func (c *collection) sweepEvery(ctx context.Context, s *Server) {
	for {
		if err := c.sweep(ctx, s, time.Now()); err != nil && ctx.Err() == nil {
			s.log.Warn("pictures of removed items stay", "folder", c.Uploads, "error", err)
		}
		select {
		case <-ctx.Done():
			return
		case <-time.After(sweepPause):
		}
	}
}

// sweep removes the pictures of items that were removed long enough before now, unless an item has the picture again.
func (c *collection) sweep(ctx context.Context, s *Server, now time.Time) error {
	files, err := os.ReadDir(c.Uploads)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	for _, f := range files {
		note := filepath.Join(c.Uploads, f.Name())
		if !strings.HasSuffix(note, removedSuffix) {
			continue
		}
		text, err := fileinfo.ReadFile(note)
		if err != nil {
			return err
		}
		when, id, _ := strings.Cut(string(text), "\n")
		removed, err := time.Parse(time.RFC3339, when)
		if err != nil {
			return fmt.Errorf("%s: it begins with %q: want a time; remove the file", note, escape.ClipTo(when, 64))
		}
		if now.Sub(removed) < keptFor {
			continue
		}
		if err := c.sweepOne(ctx, s, note, id); err != nil {
			return err
		}
	}
	return nil
}

// sweepOne removes a picture, unless its item has it again, and the note about it.
func (c *collection) sweepOne(ctx context.Context, s *Server, note, id string) error {
	c.uploading.Lock()
	defer c.uploading.Unlock()
	path := strings.TrimSuffix(note, removedSuffix)
	it, ok, err := found(c.getter(ctx), id)
	if err != nil {
		return err
	}
	if (!ok || it.Path != path) && strings.HasPrefix(filepath.Base(path), uploadPrefix(id)) {
		s.forget(c, path)
	}
	return os.Remove(note)
}

// forget removes files that no item names any more, if they are uploads. Other files do not belong to
// the server.
func (s *Server) forget(c *collection, paths ...string) {
	for _, p := range paths {
		if !c.isUpload(p) {
			continue
		}
		if err := os.Remove(p); err != nil && !errors.Is(err, fs.ErrNotExist) {
			s.log.Warn("the picture of a removed item was not deleted", "file", p, "error", err)
		}
	}
}

// below returns path relative to a folder, if it leads there.
func below(folder, path string) (string, bool) {
	if !filepath.IsAbs(path) {
		return path, filepath.IsLocal(path)
	}
	abs, err := filepath.Abs(folder)
	if err != nil {
		return "", false
	}
	rel, err := filepath.Rel(abs, path)
	return rel, err == nil && filepath.IsLocal(rel) && !strings.HasPrefix(rel, "..")
}
