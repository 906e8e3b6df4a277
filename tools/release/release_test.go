package main

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"runtime/debug"
	"strings"
	"testing"
	"time"
)

// made is a release whose program is a few bytes.
func made(t *testing.T) (*release, build) {
	t.Helper()
	r := &release{version: "v0.1.0-rc.1", out: t.TempDir(), work: t.TempDir(), log: io.Discard,
		source: source{commit: "0123456789abcdef", when: time.Unix(1700000000, 0).UTC()},
		shared: []file{
			{"README.md", 0o644, []byte("read me")}, {"LICENSE", 0o644, []byte("terms")},
			{"CHANGELOG.md", 0o644, []byte("changes")}, {"man/kindred.1", 0o644, []byte(".TH KINDRED")},
			{"completions/kindred.bash", 0o644, []byte("bash")}, {"completions/kindred.zsh", 0o644, []byte("zsh")},
			{"completions/kindred.fish", 0o644, []byte("fish")},
		}}
	info := &debug.BuildInfo{GoVersion: "go1.26.0", Path: "github.com/kindred-ml/kindred/cmd/kindred",
		Main: debug.Module{Path: "github.com/kindred-ml/kindred", Version: r.version},
		Deps: []*debug.Module{{Path: "example.org/net/v2", Version: "v2.3.4",
			Sum: "h1:nrZ2+bYqbWkpzrfaMnMMCx4QyC9vZvPWmRSV3G2lSPk="}},
		Settings: []debug.BuildSetting{{Key: "CGO_ENABLED", Value: "0"}}}
	return r, build{system: system{"linux", "amd64"}, binary: []byte("program"), info: info, notice: []byte("thanks")}
}

func TestVersions(t *testing.T) {
	for v, good := range map[string]bool{
		"v0.1.0": true, "v1.20.3": true, "v1.0.0-rc.1": true, "": false, "0.1.0": false, "v1": false, "v1.2": false,
		"v01.2.3": false, "v1.2.3+x": false, "v1.2.3/../..": false, "v1.2.3-": false,
	} {
		if err := checkVersion(v); (err == nil) != good {
			t.Errorf("%q: %v", v, err)
		}
	}
}

func TestSystems(t *testing.T) {
	if all, err := parseSystems(" "); err != nil || len(all) != 6 {
		t.Errorf("%v, %v", all, err)
	}
	two, err := parseSystems("linux/arm64, windows/amd64 linux/arm64")
	if err != nil || len(two) != 2 || two[0] != (system{"linux", "arm64"}) {
		t.Errorf("%v, %v", two, err)
	}
	if _, err := parseSystems("linux/386"); err == nil || !strings.Contains(err.Error(), "windows/arm64") {
		t.Errorf("no word of what there is: %v", err)
	}
	for _, args := range [][]string{{"v0.1.0"}, {"-version", "0.1"},
		{"-version", "v0.1.0", "-systems", "plan9/amd64"}} {
		if err := command(args, io.Discard); err == nil {
			t.Errorf("%v is taken", args)
		}
	}
}

// TestClone: what is not committed is not released, and a tag is not put on another commit.
func TestClone(t *testing.T) {
	repo := t.TempDir()
	git := func(args ...string) {
		t.Helper()
		if _, err := output(repo, []string{"GIT_COMMITTER_DATE=1700000000 +0000", "GIT_CONFIG_GLOBAL=/dev/null"}, "git",
			append([]string{"-c", "user.name=a", "-c", "user.email=a@example.org"}, args...)...); err != nil {
			t.Fatal(err)
		}
	}
	put := func(name, text string) {
		t.Helper()
		if err := os.WriteFile(filepath.Join(repo, name), []byte(text), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	git("init", "--quiet")
	put("a", "first")
	git("add", "a")
	git("commit", "--quiet", "-m", "first")
	git("tag", "v0.1.0")
	put("a", "changed")
	put("b", "new")
	s, err := clone(repo, filepath.Join(t.TempDir(), "c"), "v0.1.0")
	if err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(filepath.Join(s.dir, "a"))
	if err != nil || string(text) != "first" {
		t.Errorf("a is %q, %v", text, err)
	}
	if _, err := os.Stat(filepath.Join(s.dir, "b")); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("b is in the clone: %v", err)
	}
	if s.when.Unix() != 1700000000 || len(s.commit) != 40 {
		t.Errorf("%v of %v", s.commit, s.when)
	}
	git("commit", "--quiet", "-am", "second")
	if _, err := clone(repo, filepath.Join(t.TempDir(), "c"), "v0.1.0"); err == nil ||
		!strings.Contains(err.Error(), "v0.1.0 is the tag of commit") {
		t.Errorf("the tag is moved: %v", err)
	}
	if _, err := clone(repo, filepath.Join(t.TempDir(), "c"), "v0.2.0"); err != nil {
		t.Error(err)
	}
}

// untar lists the names, modes and contents of a tape.
func untar(t *testing.T, r io.Reader) map[string]file {
	t.Helper()
	out := map[string]file{}
	for tr := tar.NewReader(r); ; {
		h, err := tr.Next()
		if errors.Is(err, io.EOF) {
			return out
		} else if err != nil {
			t.Fatal(err)
		}
		content, err := io.ReadAll(tr)
		if err != nil {
			t.Fatal(err)
		}
		if h.Uid != 0 || h.Gid != 0 || h.ModTime.Unix() != 1700000000 {
			t.Errorf("%s belongs to %d:%d and is of %v", h.Name, h.Uid, h.Gid, h.ModTime)
		}
		out[strings.TrimPrefix(h.Name, "./")] = file{h.Name, h.FileInfo().Mode(), content}
	}
}

func TestArchives(t *testing.T) {
	r, b := made(t)
	var first []byte
	for range 2 {
		if err := r.archive(b); err != nil {
			t.Fatal(err)
		}
		content, err := os.ReadFile(filepath.Join(r.out, "kindred-v0.1.0-rc.1-linux-amd64.tar.gz"))
		if err != nil {
			t.Fatal(err)
		}
		if first != nil && !bytes.Equal(first, content) {
			t.Error("other bytes the second time")
		}
		first = content
	}
	z, err := gzip.NewReader(bytes.NewReader(first))
	if err != nil {
		t.Fatal(err)
	}
	files := untar(t, z)
	if f := files["kindred-v0.1.0-rc.1-linux-amd64/kindred"]; string(f.content) != "program" || f.mode != 0o755 {
		t.Errorf("the program is %v", f)
	}
	if f := files["kindred-v0.1.0-rc.1-linux-amd64/THIRD-PARTY.txt"]; string(f.content) != "thanks" {
		t.Errorf("the licences are %v", f)
	}
	if f := files["kindred-v0.1.0-rc.1-linux-amd64/man/"]; !f.mode.IsDir() {
		t.Errorf("man is %v", f)
	}
	b.system = system{"windows", "arm64"}
	if err := r.archive(b); err != nil {
		t.Fatal(err)
	}
	content, err := os.ReadFile(filepath.Join(r.out, "kindred-v0.1.0-rc.1-windows-arm64.zip"))
	if err != nil || !bytes.Contains(content, []byte("kindred-v0.1.0-rc.1-windows-arm64/kindred.exe")) {
		t.Errorf("no kindred.exe in the archive: %v", err)
	}
}

func TestNotice(t *testing.T) {
	dir := t.TempDir()
	var b bytes.Buffer
	err := licences(&b, "example.org/a", "v1.0.0", dir)
	if err == nil || !strings.Contains(err.Error(), "example.org/a") {
		t.Errorf("a module without a licence passes: %v", err)
	}
	for name, taken := range map[string]bool{"LICENSE": true, "License.md": true, "COPYING": true,
		"LICENSE-APACHE": true, "NOTICE": true, "README": false, "licenser.go": false} {
		b.Reset()
		dir := t.TempDir()
		for _, n := range []string{name, "LICENCE"} {
			if err := os.WriteFile(filepath.Join(dir, n), []byte("the text of "+n), 0o666); err != nil {
				t.Fatal(err)
			}
		}
		if err := licences(&b, "example.org/a", "v1.0.0", dir); err != nil {
			t.Error(err)
		}
		if strings.Contains(b.String(), "the text of "+name) != taken {
			t.Errorf("%s: taken should be %v", name, taken)
		}
	}
}
