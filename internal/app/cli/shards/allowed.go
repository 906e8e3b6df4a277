package shards

import (
	"errors"
	"fmt"
	"net/url"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/kindred-ml/kindred/data"
	"github.com/kindred-ml/kindred/internal/base/rootfs"
	"github.com/kindred-ml/kindred/internal/jobs"
	"github.com/kindred-ml/kindred/run"
)

// Allowed limits what jobs of others may make a worker read, besides the files of the queue. They may
// always read data sets by name in Kit.Home and pretrained networks by name, and also the roots listed here.
// Without this limit, anyone who can write to the queue could read all files of the worker, since errors and results
// reveal much of a file.
//
// A job that names anything else is refused at once. Links below allowed names are checked when they
// are opened; see package rootfs.
type Allowed struct {
	// Roots are folders, files, and addresses (s3://BUCKET/PREFIX, https://HOST/PATH).
	// Everything below a root is allowed.
	Roots []string
	// Outside allows manifests and lists to name images outside their folder.
	Outside bool
}

// NewAllowed checks roots as a command line gives them.
func NewAllowed(roots []string, outside bool) (Allowed, error) {
	a := Allowed{Outside: outside}
	for _, r := range roots {
		if strings.Contains(r, "://") {
			if _, err := parseAddress(r); err != nil {
				return a, err
			}
			a.Roots = append(a.Roots, r)
			continue
		}
		if _, err := os.Stat(r); err != nil {
			return a, fmt.Errorf("--allow: %w", err)
		}
		abs, err := filepath.Abs(r)
		if err != nil {
			return a, err
		}
		a.Roots = append(a.Roots, abs)
	}
	return a, nil
}

// parseAddress reads an address of files. It must be in its shortest form, so that it can
// be compared with another.
func parseAddress(what string) (*url.URL, error) {
	u, err := url.Parse(what)
	if err != nil || u.Host == "" || u.User != nil || u.Fragment != "" || u.Opaque != "" ||
		u.Path != "" && path.Clean(u.Path) != strings.TrimSuffix(u.Path, "/") && u.Path != "/" ||
		strings.ContainsRune(u.Path, '\\') {
		return nil, fmt.Errorf("%.200q is not an address: want s3://BUCKET/PREFIX or https://HOST/PATH", what)
	}
	return u, nil
}

// openRoots opens the roots that are paths, and further roots.
func (a Allowed) openRoots(more ...string) (*rootfs.Roots, error) {
	paths := slices.DeleteFunc(more, func(r string) bool { return r == "" })
	for _, r := range a.Roots {
		if !strings.Contains(r, "://") {
			paths = append(paths, r)
		}
	}
	return rootfs.Open(paths)
}

// contains reports whether what is a root or below one. in has the roots that are paths. A missing file is an
// error when it is opened.
func (a Allowed) contains(in *rootfs.Roots, what string) bool {
	if strings.Contains(what, "://") {
		u, err := parseAddress(what)
		if err != nil {
			return false
		}
		for _, r := range a.Roots {
			if root, err := parseAddress(r); err == nil && root.Scheme == u.Scheme && root.Host == u.Host &&
				root.RawQuery == u.RawQuery && isBelow(u.Path, root.Path) {
				return true
			}
		}
		return false
	}
	_, err := in.Stat(what)
	var out *rootfs.OutsideError
	return what != "" && !errors.As(err, &out)
}

// isBelow reports whether the path of an address is a root or below it.
func isBelow(p, root string) bool {
	root = strings.TrimSuffix(root, "/")
	return p == root || strings.HasPrefix(p, root+"/")
}

// RegisterOwn registers jobs that this process submits. Their files come from its own command line and
// are allowed.
func (k *WorkerKit) RegisterOwn(list []jobs.Job) {
	k.owned.Lock()
	defer k.owned.Unlock()
	if k.own == nil {
		k.own = map[string]bool{}
	}
	for _, j := range list {
		k.own[j.ID()] = true
	}
}

func (k *WorkerKit) isOwn(j jobs.Job) bool {
	k.owned.Lock()
	defer k.owned.Unlock()
	return k.own[j.ID()]
}

// jobRoots returns the roots that a job may read; nil: everything.
func (k *WorkerKit) jobRoots(j jobs.Job) (*rootfs.Roots, error) {
	if k.isOwn(j) {
		return nil, nil
	}
	return k.Allow.openRoots(k.Home)
}

// allowData returns an error unless a data set may be opened.
func (k *WorkerKit) allowData(in *rootfs.Roots, key, what string, outside bool) error {
	if what == "" || in == nil {
		return nil
	}
	if outside && !k.Allow.Outside {
		return fmt.Errorf("%s: this worker does not allow manifests to name images outside their folder; start it "+
			"with --outside to allow that", key)
	}
	if data.IsName(what, k.Home) {
		return nil
	}
	return k.allow(in, key, what)
}

// allow returns an error unless a file or address may be read.
func (k *WorkerKit) allow(in *rootfs.Roots, key, what string) error {
	if k.Allow.contains(in, what) {
		return nil
	}
	return fmt.Errorf("%s: this worker may not read %.200q for jobs of others; start it with --allow and a "+
		"folder or the beginning of an address to allow that", key, what)
}

// allowConfig returns an error unless every file of a configuration may be read.
func (k *WorkerKit) allowConfig(in *rootfs.Roots, c *run.Config) error {
	if in == nil {
		return nil
	}
	for _, f := range []struct{ key, what string }{{"data.path", c.Data.Path}, {"data.name", c.Data.Name}} {
		if err := k.allowData(in, f.key, f.what, c.Data.Outside); err != nil {
			return err
		}
	}
	if what := c.Data.Labels; what != "" {
		if err := k.allow(in, "data.labels", what); err != nil {
			return err
		}
	}
	if c.Network.PretrainedIsFile() {
		return k.allow(in, "network.pretrained", c.Network.Pretrained)
	}
	return nil
}
