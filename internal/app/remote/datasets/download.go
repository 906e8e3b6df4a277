package datasets

import (
	"context"
	"os"
	"path"
	"path/filepath"
	"strings"

	"github.com/kindred-ml/kindred/internal/app/remote/download"
)

// download writes what is at address to the file to and compares its MD5 where
// one is given. A broken transfer goes on where it stopped as long as that brings
// anything; else the next way is tried.
func (g *Getter) download(ctx context.Context, address, to, md5 string) error {
	c := download.Client{Connect: g.ConnectTimeout, Stall: g.StallTimeout, Tries: 1}
	if g.Bytes != nil {
		c.Progress = func(done, total int64) { g.Bytes(path.Base(address), done, total) }
	}
	f := download.File{URL: address, Path: to}
	if md5 != "" {
		f.Check = func(path string) error { return sameMD5(path, md5) }
	}
	return c.Get(ctx, f)
}

// archives downloads the set's archives into dir.
func (g *Getter) archives(ctx context.Context, set Set, dir string) error {
	for _, a := range set.Archives {
		name := path.Base(a.URL)
		to := filepath.Join(dir, name)
		if err := g.download(ctx, a.URL, to, a.MD5); err != nil {
			return err
		}
		if strings.HasSuffix(name, ".tgz") || strings.HasSuffix(name, ".tar.gz") {
			if err := unpack(ctx, to, dir, nil); err != nil {
				return err
			}
			if err := os.Remove(to); err != nil {
				return err
			}
		}
	}
	return unwrapFolder(dir)
}

// unwrapFolder moves the content of dir's only entry, a folder, up into dir: official
// archives wrap their files in a folder of their own name.
func unwrapFolder(dir string) error {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return err
	}
	var visible []os.DirEntry
	for _, e := range entries {
		if e.IsDir() {
			visible = append(visible, e)
		}
	}
	if len(visible) != 1 || visible[0].Name() == "images" {
		return nil
	}
	inner := filepath.Join(dir, visible[0].Name())
	parts, err := os.ReadDir(inner)
	if err != nil {
		return err
	}
	for _, p := range parts {
		if _, err := os.Lstat(filepath.Join(dir, p.Name())); err == nil {
			continue // a loose file of the same name stays
		}
		if err := os.Rename(filepath.Join(inner, p.Name()), filepath.Join(dir, p.Name())); err != nil {
			return err
		}
	}
	return os.RemoveAll(inner)
}
