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

// uploadedFile is the file of a picture that came with a request.
type uploadedFile struct {
	path string
	made bool // this request wrote the file
}

// discardUpload removes the file of an item that was not written. It keeps the file if the item has this path
// because another request has written it meanwhile.
func (c *servedCollection) discardUpload(ctx context.Context, id string, u *uploadedFile) error {
	if !u.made {
		return nil
	}
	if it, err := c.Store.Get(context.WithoutCancel(ctx), id); err == nil && it.Path == u.path {
		return nil
	}
	return os.Remove(u.path)
}

// saveUpload writes the picture of an item into the collection's folder of uploads; nil without such a
// folder. The file's name is a digest of the id and the content, and has no text from the
// client.
func (c *servedCollection) saveUpload(id string, picture []byte) (*uploadedFile, error) {
	if c.Uploads == "" {
		return nil, nil
	}
	what := sha256.Sum256(picture)
	u := &uploadedFile{path: filepath.Join(c.Uploads, uploadPrefix(id)+hex.EncodeToString(what[:12]))}
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
func (c *servedCollection) isUpload(path string) bool {
	return c.Uploads != "" && filepath.Dir(path) == filepath.Clean(c.Uploads)
}

// mayRestorePath reports whether an item may have the path that it had when it was removed, or that of a
// picture that was uploaded for it and is still kept.
func (c *servedCollection) mayRestorePath(it *store.Item) bool {
	return c.hasUpload(it) || !c.isUpload(it.Path) && c.removedPaths.has(it)
}

// removedPaths has the paths of items whose removal may be undone. A path is that of one item alone: with any other, a
// writer could read files of this machine.
type removedPaths struct {
	mu     sync.Mutex
	pathOf map[string]string // path by id
	last   time.Time         // time of the last removal
}

// maxRemovedPaths bounds the items of returning.
const maxRemovedPaths = 100_000

// add remembers the paths of removed items, until restoreTime after the last removal.
func (r *removedPaths) add(items []store.Item) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.pathOf == nil || time.Since(r.last) > restoreTime || len(r.pathOf)+len(items) > maxRemovedPaths {
		r.pathOf = map[string]string{}
	}
	r.last = time.Now()
	for _, it := range items {
		r.pathOf[it.ID] = it.Path
	}
}

func (r *removedPaths) has(it *store.Item) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	path, ok := r.pathOf[it.ID]
	return ok && path == it.Path && time.Since(r.last) <= restoreTime
}

// hasUpload reports whether an item has the path of a picture that was uploaded for it and exists.
func (c *servedCollection) hasUpload(it *store.Item) bool {
	if !c.isUpload(it.Path) || !strings.HasPrefix(filepath.Base(it.Path), uploadPrefix(it.ID)) {
		return false
	}
	info, err := os.Lstat(it.Path)
	return err == nil && info.Mode().IsRegular()
}

// holdUploads keeps uploaded pictures from being removed until release.
func (c *servedCollection) holdUploads() (release func()) {
	c.uploading.RLock()
	return c.uploading.RUnlock
}

const (
	// restoreTime is how long the uploaded picture of an item is kept whose removal may be undone.
	restoreTime = time.Hour
	// removedSuffix ends the names of the notes about such pictures, beside them. A note has the time of the removal
	// and, in the next line, the id of the item.
	removedSuffix = ".removed"
	// sweepInterval is the time between two looks for pictures to remove.
	sweepInterval = time.Minute
)

// removeUploadsLater keeps the uploaded pictures of removed items for restoreTime.
func (s *Server) removeUploadsLater(c *servedCollection, items []store.Item) {
	c.removedPaths.add(items)
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

// removeUnusedEvery removes pictures of removed items in the background.
func (c *servedCollection) removeUnusedEvery(ctx context.Context, s *Server) {
	for {
		if err := c.removeUnused(ctx, s, time.Now()); err != nil && ctx.Err() == nil {
			s.log.Warn("pictures of removed items stay", "folder", c.Uploads, "error", err)
		}
		select {
		case <-ctx.Done():
			return
		case <-time.After(sweepInterval):
		}
	}
}

// removeUnused removes the pictures of items that were removed long enough before now, unless an item has
// the picture again.
func (c *servedCollection) removeUnused(ctx context.Context, s *Server, now time.Time) error {
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
			return fmt.Errorf("%s: it begins with %q: must be a time; remove the file", note, escape.ClipTo(when, 64))
		}
		if now.Sub(removed) < restoreTime {
			continue
		}
		if err := c.removeIfUnused(ctx, s, note, id); err != nil {
			return err
		}
	}
	return nil
}

// removeIfUnused removes a picture, unless its item has it again, and the note about it.
func (c *servedCollection) removeIfUnused(ctx context.Context, s *Server, note, id string) error {
	c.uploading.Lock()
	defer c.uploading.Unlock()
	path := strings.TrimSuffix(note, removedSuffix)
	it, ok, err := getIfExists(c.currentGetter(ctx), id)
	if err != nil {
		return err
	}
	if (!ok || it.Path != path) && strings.HasPrefix(filepath.Base(path), uploadPrefix(id)) {
		s.removeUploads(c, path)
	}
	return os.Remove(note)
}

// removeUploads removes files that no item names any more, if they are uploads. Other files do not belong to
// the server.
func (s *Server) removeUploads(c *servedCollection, paths ...string) {
	for _, p := range paths {
		if !c.isUpload(p) {
			continue
		}
		if err := os.Remove(p); err != nil && !errors.Is(err, fs.ErrNotExist) {
			s.log.Warn("the picture of a removed item was not deleted", "file", p, "error", err)
		}
	}
}

// relativeTo returns path relative to a folder, if it leads there.
func relativeTo(folder, path string) (string, bool) {
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
