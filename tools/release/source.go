package main

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"time"
)

// source is a clone of the commit that is released. It has no uncommitted changes.
type source struct {
	dir    string
	commit string
	when   time.Time // time of the commit
}

// clone clones the commit that is checked out in repo, and tags it in the clone. The Go tool
// writes the tag's version into the program. A tag of that name in repo must be of this commit.
func clone(repo, dir, version string) (source, error) {
	head, err := output(repo, nil, "git", "rev-parse", "HEAD")
	if err != nil {
		return source{}, err
	}
	at, err := output(repo, nil, "git", "rev-parse", "--verify", "--quiet", "refs/tags/"+version+"^{commit}")
	if err == nil && at != head {
		return source{}, fmt.Errorf("%s is the tag of commit %.12s, and %.12s is checked out: check the tag out, or "+
			"choose another version", version, at, head)
	}
	if _, err := output(repo, nil, "git", "clone", "--quiet", "--shared", "--no-tags", ".", dir); err != nil {
		return source{}, err
	}
	for _, args := range [][]string{
		{"checkout", "--quiet", "--detach", head},
		{"-c", "tag.gpgSign=false", "tag", "--no-sign", version},
	} {
		if _, err := output(dir, nil, "git", args...); err != nil {
			return source{}, err
		}
	}
	stamp, err := output(dir, nil, "git", "log", "-1", "--format=%ct")
	if err != nil {
		return source{}, err
	}
	seconds, err := strconv.ParseInt(stamp, 10, 64)
	if err != nil {
		return source{}, fmt.Errorf("git log: the commit's time %q is not a number", stamp)
	}
	return source{dir, head, time.Unix(seconds, 0).UTC()}, nil
}

// described checks that a version has its section of the changelog and its notes. A pre-release
// needs neither.
func described(dir, version string) error {
	if strings.Contains(version, "-") {
		return nil
	}
	changes, err := os.ReadFile(filepath.Join(dir, "CHANGELOG.md"))
	if err != nil {
		return err
	}
	if heading := "\n## [" + strings.TrimPrefix(version, "v") + "]"; !strings.Contains(string(changes), heading) {
		return fmt.Errorf("CHANGELOG.md has no section%s: write what %s changes, or make a pre-release such as %s-rc.1",
			strings.TrimPrefix(heading, "\n##"), version, version)
	}
	notes := filepath.Join("docs", "releases", version+".md")
	if st, err := os.Stat(filepath.Join(dir, notes)); err != nil || st.Size() == 0 {
		return fmt.Errorf("%s has no notes in %s", version, notes)
	}
	return nil
}

// output runs a program in a folder, with further variables in its environment, and returns
// its output without the last line break.
func output(dir string, env []string, name string, args ...string) (string, error) {
	cmd := exec.Command(name, args...)
	cmd.Dir, cmd.Env = dir, append(os.Environ(), env...)
	var said bytes.Buffer
	cmd.Stderr = &said
	text, err := cmd.Output()
	if err != nil {
		return "", fmt.Errorf("%s %s: %w\n%s", name, strings.Join(args, " "), err, said.String())
	}
	return strings.TrimRight(string(text), "\n"), nil
}
