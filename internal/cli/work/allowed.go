package work

import (
	"errors"
	"fmt"
	"io/fs"
	"net/url"
	"os"
	"path"
	"path/filepath"
	"strings"

	"github.com/kindred-ml/kindred/data"
	"github.com/kindred-ml/kindred/internal/jobs"
	"github.com/kindred-ml/kindred/run"
)

// Allowed says what jobs of others may make a worker read, besides the files of the
// queue: always data sets by name in Kit.Home and pretrained networks by name, and the
// roots listed here. Without this limit, anyone who can write to the queue could read
// all that the worker can, since errors and results reveal much of a file.
type Allowed struct {
	// Roots are folders, files, and addresses (s3://BUCKET/PREFIX, https://HOST/PATH).
	// What is below one is allowed.
	Roots []string
	// Outside allows manifests and lists to name images outside their folder.
	Outside bool
}

// NewAllowed checks roots as a command line gives them.
func NewAllowed(roots []string, outside bool) (Allowed, error) {
	a := Allowed{Outside: outside}
	for _, r := range roots {
		if strings.Contains(r, "://") {
			if _, err := address(r); err != nil {
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

// address reads an address of files. It must be in its shortest form, so that it can
// be compared with another.
func address(what string) (*url.URL, error) {
	u, err := url.Parse(what)
	if err != nil || u.Host == "" || u.User != nil || u.Fragment != "" || u.Opaque != "" ||
		u.Path != "" && path.Clean(u.Path) != strings.TrimSuffix(u.Path, "/") && u.Path != "/" ||
		strings.ContainsRune(u.Path, '\\') {
		return nil, fmt.Errorf("%.200q is no address: s3://BUCKET/PREFIX or https://HOST/PATH", what)
	}
	return u, nil
}

// covers tells whether what is a root or below one. A path is compared as it is and
// without its links, both of which must lead below the root.
func (a Allowed) covers(what string) bool {
	if strings.Contains(what, "://") {
		u, err := address(what)
		if err != nil {
			return false
		}
		for _, r := range a.Roots {
			if root, err := address(r); err == nil && root.Scheme == u.Scheme && root.Host == u.Host &&
				root.RawQuery == u.RawQuery && below(u.Path, root.Path, "/") {
				return true
			}
		}
		return false
	}
	abs, err := filepath.Abs(what)
	if err != nil {
		return false
	}
	for _, r := range a.Roots {
		if strings.Contains(r, "://") || !below(abs, r, string(filepath.Separator)) {
			continue
		}
		root, err := filepath.EvalSymlinks(r)
		if err != nil {
			continue
		}
		// The path as it is given, as whoever opens it goes: behind a link, .. leads
		// elsewhere than in a clean path. What is not there is refused there.
		real, err := filepath.EvalSymlinks(what)
		if err == nil {
			real, err = filepath.Abs(real)
		}
		if errors.Is(err, fs.ErrNotExist) || err == nil && below(real, root, string(filepath.Separator)) {
			return true
		}
	}
	return false
}

// below tells whether a clean path is a root or below it.
func below(p, root, separator string) bool {
	root = strings.TrimSuffix(root, separator)
	return p == root || strings.HasPrefix(p, root+separator)
}

// Own registers jobs that this process submits: its own command line has named what
// they name.
func (k *Kit) Own(list []jobs.Job) {
	k.owned.Lock()
	defer k.owned.Unlock()
	if k.own == nil {
		k.own = map[string]bool{}
	}
	for _, j := range list {
		k.own[j.ID()] = true
	}
}

func (k *Kit) owns(j jobs.Job) bool {
	k.owned.Lock()
	defer k.owned.Unlock()
	return k.own[j.ID()]
}

// allowData returns an error unless a job may have a data set opened.
func (k *Kit) allowData(j jobs.Job, key, what string, outside bool) error {
	if what == "" || k.owns(j) {
		return nil
	}
	if outside && !k.Allow.Outside {
		return fmt.Errorf("%s: this worker lets no manifest name images outside its folder; start it with --outside "+
			"if jobs may", key)
	}
	if data.IsName(what, k.Home) {
		return nil
	}
	return k.allow(key, what)
}

// allow returns an error unless a file or address may be read.
func (k *Kit) allow(key, what string) error {
	a := k.Allow
	if k.Home != "" {
		if home, err := filepath.Abs(k.Home); err == nil {
			a.Roots = append([]string{home}, a.Roots...)
		}
	}
	if a.covers(what) {
		return nil
	}
	return fmt.Errorf("%s: this worker may not read %.200q for jobs that others submit; start it with --allow and a "+
		"folder, or the beginning of an address, that it may", key, what)
}

// allowConfig returns an error unless all that a configuration names may be read.
func (k *Kit) allowConfig(j jobs.Job, c *run.Config) error {
	if k.owns(j) {
		return nil
	}
	for _, f := range []struct{ key, what string }{{"data.path", c.Data.Path}, {"data.name", c.Data.Name}} {
		if err := k.allowData(j, f.key, f.what, c.Data.Outside); err != nil {
			return err
		}
	}
	if what := c.Data.Labels; what != "" {
		if err := k.allow("data.labels", what); err != nil {
			return err
		}
	}
	if c.Network.PretrainedFile() {
		return k.allow("network.pretrained", c.Network.Pretrained)
	}
	return nil
}
