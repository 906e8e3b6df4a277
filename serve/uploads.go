package serve

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/kindred-ml/kindred/internal/base/atomic"
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
	of, what := sha256.Sum256([]byte(id)), sha256.Sum256(picture)
	u := &upload{path: filepath.Join(c.Uploads, hex.EncodeToString(of[:12])+"-"+hex.EncodeToString(what[:12]))}
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

// forget removes files that no item names any more, if they are uploads. Other files do not belong to
// the server.
func (s *Server) forget(c *collection, paths ...string) {
	for _, p := range paths {
		if c.Uploads == "" || filepath.Dir(p) != filepath.Clean(c.Uploads) {
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
