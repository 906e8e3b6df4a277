package doctor

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/kindred-ml/kindred/data"
	"github.com/kindred-ml/kindred/internal/base/home"
)

// Cache is one cache of training.
type Cache struct {
	Name   string `json:"name"`
	Dir    string `json:"dir"`
	Files  int    `json:"files"`
	Bytes  int64  `json:"bytes"`
	suffix string // of its files' names
}

// Caches returns all caches.
func Caches() ([]Cache, error) {
	features, err1 := home.Features()
	images, err2 := data.CacheHome()
	return []Cache{{Name: "features", Dir: features, suffix: ".safetensors"}, {Name: "images", Dir: images,
		suffix: ".pack"}}, errors.Join(err1, err2)
}

// List counts and returns the paths of the cache's Files.
func (c *Cache) List() ([]string, error) {
	entries, err := os.ReadDir(c.Dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	} else if err != nil {
		return nil, err
	}
	var out []string
	c.Files, c.Bytes = 0, 0
	for _, e := range entries {
		info, err := e.Info()
		if err != nil || !info.Mode().IsRegular() || !strings.HasSuffix(e.Name(), c.suffix) {
			continue // not a file of the cache, or removed in the meantime
		}
		out = append(out, filepath.Join(c.Dir, e.Name()))
		c.Files, c.Bytes = c.Files+1, c.Bytes+info.Size()
	}
	return out, nil
}
