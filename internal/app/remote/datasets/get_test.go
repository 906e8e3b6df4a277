package datasets

import (
	"archive/tar"
	"bytes"
	"cmp"
	"compress/gzip"
	"context"
	"crypto/md5"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// newFiles is the four files of a two-image set.
func newFiles() map[string][]byte {
	images := append([]byte{0, 0, 8, 3, 0, 0, 0, 2, 0, 0, 0, 1, 0, 0, 0, 1}, 7, 9)
	labels := append([]byte{0, 0, 8, 1, 0, 0, 0, 2}, 0, 1)
	return map[string][]byte{
		"train-images-idx3-ubyte": images, "t10k-images-idx3-ubyte": images,
		"train-labels-idx1-ubyte": labels, "t10k-labels-idx1-ubyte": labels,
	}
}

func tinySet() Set {
	s := Set{Name: "tiny", Home: "http://example.org/tiny", Place: "the four files"}
	for _, name := range []string{"train-images-idx3-ubyte", "train-labels-idx1-ubyte", "t10k-images-idx3-ubyte",
		"t10k-labels-idx1-ubyte"} {
		b := newFiles()[name]
		sum := sha256.Sum256(b)
		s.Files = append(s.Files, File{Name: name, Bytes: int64(len(b)), SHA256: hex.EncodeToString(sum[:])})
	}
	return s
}

func compress(b []byte) []byte {
	var buf bytes.Buffer
	w := gzip.NewWriter(&buf)
	w.Write(b)
	w.Close()
	return buf.Bytes()
}

func newGetter(t *testing.T, sets ...Set) *Getter {
	dir := t.TempDir()
	return &Getter{Home: filepath.Join(dir, "home"), Installed: filepath.Join(dir, "usr"), Sets: sets,
		ConnectTimeout: 30 * time.Second, StallTimeout: 30 * time.Second, ToolTimeout: 30 * time.Second,
		Progress: func(line string) { t.Log(line) }}
}

func fillFolder(t *testing.T, dir string) {
	t.Helper()
	if err := os.MkdirAll(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	for name, b := range newFiles() {
		if err := os.WriteFile(filepath.Join(dir, name), b, 0o644); err != nil {
			t.Fatal(err)
		}
	}
}

func TestGetPresentAndInstalled(t *testing.T) {
	g := newGetter(t, tinySet())
	fillFolder(t, filepath.Join(g.Installed, "tiny"))
	r, err := g.Get(t.Context(), "tiny")
	if err != nil || r.Way != "installed" || r.Path != filepath.Join(g.Installed, "tiny") || len(r.Files) != 4 {
		t.Fatalf("%+v %v", r, err)
	}
	fillFolder(t, filepath.Join(g.Home, "tiny"))
	if r, err = g.Get(t.Context(), "tiny"); err != nil || r.Way != "present" {
		t.Fatalf("%+v %v", r, err)
	}
}

// newMirror serves what serve returns for a file's name.
func newMirror(t *testing.T, serve func(w http.ResponseWriter, name string)) string {
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		serve(w, strings.TrimSuffix(filepath.Base(r.URL.Path), ".gz"))
	}))
	t.Cleanup(s.Close)
	return s.URL + "/"
}

func TestGetGoesOnToTheNextMirror(t *testing.T) {
	hang := make(chan struct{})
	silent := newMirror(t, func(w http.ResponseWriter, _ string) { <-hang })
	stalls := newMirror(t, func(w http.ResponseWriter, _ string) {
		w.Write([]byte{1})
		w.(http.Flusher).Flush()
		<-hang
	})
	t.Cleanup(func() { close(hang) }) // before the servers close
	missing := newMirror(t, func(w http.ResponseWriter, _ string) { w.WriteHeader(404) })
	wrong := newMirror(t, func(w http.ResponseWriter, name string) {
		b := newFiles()[name]
		b[len(b)-1]++
		w.Write(compress(b))
	})
	page := newMirror(t, func(w http.ResponseWriter, _ string) { w.Write([]byte("<html>blocked</html>")) })
	good := newMirror(t, func(w http.ResponseWriter, name string) { w.Write(compress(newFiles()[name])) })

	const soon = 300 * time.Millisecond
	set := tinySet()
	for _, c := range []struct {
		bases          []string
		connect, stall time.Duration
		says           []string
	}{
		{[]string{silent, missing}, soon, 0, []string{silent, "timeout", missing}},
		{[]string{stalls, missing}, 0, soon, []string{"no data for 300ms", "404"}},
		{[]string{"http://127.0.0.1:1/", missing, wrong, page}, 0, 0,
			[]string{"refused", "404", "SHA-256", "gzip header"}},
	} {
		set.Bases = c.bases
		g := newGetter(t, set)
		g.ConnectTimeout, g.StallTimeout = cmp.Or(c.connect, g.ConnectTimeout), cmp.Or(c.stall, g.StallTimeout)
		_, err := g.Get(t.Context(), "tiny")
		var u *UnavailableError
		if !errors.As(err, &u) {
			t.Fatal(err)
		}
		for _, want := range append(c.says, "the four files", filepath.Join(g.Home, "tiny"), "example.org") {
			if !strings.Contains(err.Error(), want) {
				t.Errorf("%q does not mention %q", err, want)
			}
		}
		if left, _ := os.ReadDir(g.Home); len(left) != 0 {
			t.Errorf("failed attempts left %v", left)
		}
	}

	// A damaged file that is already there is replaced.
	set.Bases = []string{missing, good}
	g := newGetter(t, set)
	folder := filepath.Join(g.Home, "tiny")
	fillFolder(t, folder)
	if err := os.WriteFile(filepath.Join(folder, "train-labels-idx1-ubyte"), []byte("x"), 0o644); err != nil {
		t.Fatal(err)
	}
	r, err := g.Get(t.Context(), "tiny")
	if err != nil || r.Way != good {
		t.Fatalf("%+v %v", r, err)
	}
	if _, err := set.check(t.Context(), folder); err != nil {
		t.Error(err)
	}
}

// A transfer is told in bytes, and one that breaks off goes on where it stopped.
func TestGetTellsAndResumes(t *testing.T) {
	broken, resumed := false, ""
	good := newMirror(t, func(w http.ResponseWriter, name string) { w.Write(compress(newFiles()[name])) })
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		b := compress(newFiles()[strings.TrimSuffix(filepath.Base(r.URL.Path), ".gz")])
		w.Header().Set("ETag", `"1"`)
		if !broken { // the first file
			broken = true
			w.Header().Set("Content-Length", fmt.Sprint(len(b)))
			w.Write(b[:len(b)/2])
			w.(http.Flusher).Flush()
			panic(http.ErrAbortHandler)
		}
		if asked := r.Header.Get("Range"); asked != "" {
			resumed = asked
			if asked != fmt.Sprintf("bytes=%d-", len(b)/2) {
				t.Errorf("asked for %q", asked)
			}
		}
		http.ServeContent(w, r, "", time.Time{}, bytes.NewReader(b))
	}))
	t.Cleanup(s.Close)
	set := tinySet()
	set.Bases = []string{s.URL + "/", good}
	g := newGetter(t, set)
	told := map[string]int64{}
	g.Bytes = func(name string, done, total int64) {
		if told[name] = done; done > total {
			t.Errorf("%s: %d of %d", name, done, total)
		}
	}
	if r, err := g.Get(t.Context(), "tiny"); err != nil || r.Way != s.URL+"/" {
		t.Fatalf("%+v %v", r, err)
	}
	if resumed == "" {
		t.Error("nothing was resumed")
	}
	for name, b := range newFiles() {
		if told[name+".gz"] != int64(len(compress(b))) {
			t.Errorf("%s: told of %d bytes", name, told[name+".gz"])
		}
	}
}

// newTarball packs files in order; a name that ends in " -> X" becomes a link.
func newTarball(t testing.TB, files ...[2]string) []byte {
	var buf bytes.Buffer
	zw := gzip.NewWriter(&buf)
	tw := tar.NewWriter(zw)
	for _, f := range files {
		h := &tar.Header{Name: f[0], Mode: 0o644, Size: int64(len(f[1])), Typeflag: tar.TypeReg}
		if name, target, ok := strings.Cut(f[0], " -> "); ok {
			*h = tar.Header{Name: name, Linkname: target, Typeflag: tar.TypeSymlink}
		}
		if err := tw.WriteHeader(h); err != nil {
			t.Fatal(err)
		}
		if h.Typeflag == tar.TypeReg {
			tw.Write([]byte(f[1]))
		}
	}
	tw.Close()
	zw.Close()
	return buf.Bytes()
}

func TestGetArchive(t *testing.T) {
	var files [][2]string
	for name, b := range newFiles() {
		files = append(files, [2]string{"tiny-1.0/" + name, string(b)})
	}
	files = append(files, [2]string{"tiny-1.0/escape -> /etc", ""})
	archive := newTarball(t, files...)
	sum := md5.Sum(archive)
	base := newMirror(t, func(w http.ResponseWriter, _ string) { w.Write(archive) })
	set := Set{Name: "tiny", Archives: []Archive{{base + "tiny.tar.gz", hex.EncodeToString(sum[:])}}}
	g := newGetter(t, set)
	r, err := g.Get(t.Context(), "tiny")
	if err != nil {
		t.Fatal(err)
	}
	if entries, _ := os.ReadDir(r.Path); len(entries) != 4 {
		t.Errorf("%v", entries)
	}

	set.Archives[0].MD5 = strings.Repeat("0", 32)
	g = newGetter(t, set)
	if _, err := g.Get(t.Context(), "tiny"); err == nil ||
		!strings.Contains(err.Error(), "MD5 is "+hex.EncodeToString(sum[:])) {
		t.Errorf("%v", err)
	}
}

func TestUnpackStaysInside(t *testing.T) {
	for _, files := range [][][2]string{
		{{"../evil", "x"}},
		{{"/tmp/evil", "x"}},
		{{"a/../../evil", "x"}},
		{{"link -> ..", ""}, {"link/../../evil", "x"}},
	} {
		dir := filepath.Join(t.TempDir(), "in")
		if err := os.Mkdir(dir, 0o755); err != nil {
			t.Fatal(err)
		}
		archive := filepath.Join(dir, "a.tgz")
		if err := os.WriteFile(archive, newTarball(t, files...), 0o644); err != nil {
			t.Fatal(err)
		}
		if err := unpack(t.Context(), archive, dir, nil); err == nil ||
			!strings.Contains(err.Error(), "leads outside") {
			t.Errorf("%q: %v", files, err)
		}
		if around, _ := os.ReadDir(filepath.Dir(dir)); len(around) != 1 {
			t.Errorf("%q: wrote %v", files, around)
		}
	}
}

// fakeTools puts shell scripts of the given names first in PATH.
func fakeTools(t *testing.T, scripts map[string]string) {
	dir := t.TempDir()
	for name, body := range scripts {
		if err := os.WriteFile(filepath.Join(dir, name), []byte("#!/bin/sh\n"+body+"\n"), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	t.Setenv("PATH", dir+string(os.PathListSeparator)+os.Getenv("PATH"))
}

func TestGetNpm(t *testing.T) {
	var files [][2]string
	for name, b := range newFiles() {
		files = append(files, [2]string{"package/data/" + name, string(b)})
	}
	files = append(files, [2]string{"package/index.js", "process.exit(1)"})
	ready := filepath.Join(t.TempDir(), "ready.tgz")
	if err := os.WriteFile(ready, newTarball(t, files...), 0o644); err != nil {
		t.Fatal(err)
	}
	fakeTools(t, map[string]string{"npm": fmt.Sprintf("[ \"$1 $2\" = 'pack tiny@1.0' ] && cp %s tiny-1.0.tgz", ready)})
	set := tinySet()
	set.Npm = "tiny@1.0"
	g := newGetter(t, set)
	r, err := g.Get(t.Context(), "tiny")
	if err != nil || r.Way != "npm pack tiny@1.0" {
		t.Fatalf("%+v %v", r, err)
	}
	if entries, _ := os.ReadDir(r.Path); len(entries) != 4 {
		t.Errorf("%v", entries)
	}
}

func TestGetToolFailures(t *testing.T) {
	fakeTools(t, map[string]string{"npm": "sleep 30", "apt-get": "echo E: no such package >&2; exit 100"})
	set := tinySet()
	set.Npm, set.Debian = "tiny@1.0", "dataset-tiny"
	g := newGetter(t, set)
	g.ToolTimeout = 200 * time.Millisecond // apt-get may take longer, too
	_, err := g.Get(t.Context(), "tiny")
	if err == nil || !strings.Contains(err.Error(), "npm gave no result within 200ms") ||
		!strings.Contains(err.Error(), "apt-get") {
		t.Errorf("%v", err)
	}
	fakeTools(t, map[string]string{"npm": "exit 1"})
	_, err = newGetter(t, set).Get(t.Context(), "tiny")
	if err == nil || !strings.Contains(err.Error(), "npm") || !strings.Contains(err.Error(), "E: no such package") {
		t.Errorf("%v", err)
	}
}

func TestGetOfflineAndUnknown(t *testing.T) {
	set := tinySet()
	set.Bases = []string{"http://127.0.0.1:1/"}
	g := newGetter(t, set)
	g.Offline = true
	if _, err := g.Get(t.Context(), "tiny"); err == nil || strings.Contains(err.Error(), "127.0.0.1") {
		t.Errorf("%v", err)
	}
	if _, err := g.Get(t.Context(), "tinny"); err == nil || !strings.Contains(err.Error(), "known: tiny") {
		t.Errorf("%v", err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	g.Offline = false
	if _, err := g.Get(ctx, "tiny"); !errors.Is(err, context.Canceled) {
		t.Errorf("%v", err)
	}
}

func TestCatalogIsWellFormed(t *testing.T) {
	for _, s := range Catalog() {
		if s.Name == "" || s.About == "" || s.Home == "" || s.Place == "" {
			t.Errorf("%+v lacks a field", s)
		}
		for _, f := range s.Files {
			if (len(f.SHA256) != 64) == (len(f.GzMD5) != 32) || f.Bytes == 0 {
				t.Errorf("%s: %+v: one checksum of the right length", s.Name, f)
			}
		}
	}
}

// What an archive announces is compared with what it may unpack to before
// anything is written.
func TestUnpackLimits(t *testing.T) {
	dir := t.TempDir()
	var b bytes.Buffer
	zw := gzip.NewWriter(&b)
	tw := tar.NewWriter(zw)
	if err := tw.WriteHeader(&tar.Header{Name: "bomb", Size: maxUnpacked + 1, Typeflag: tar.TypeReg,
		Mode: 0o644}); err != nil {
		t.Fatal(err)
	}
	zw.Close()
	archive := filepath.Join(dir, "a.tgz")
	if err := os.WriteFile(archive, b.Bytes(), 0o644); err != nil {
		t.Fatal(err)
	}
	if err := unpack(t.Context(), archive, dir, nil); err == nil ||
		!strings.Contains(err.Error(), `entry "bomb" of 16 GiB: the archive unpacks to more than 16 GiB`) {
		t.Errorf("%v", err)
	}
	if left, _ := os.ReadDir(dir); len(left) != 1 {
		t.Errorf("wrote %v", left)
	}
}

// FuzzUnpack unpacks any bytes as a tar archive, compressed.
func FuzzUnpack(f *testing.F) {
	plain := func(b []byte) []byte {
		zr, err := gzip.NewReader(bytes.NewReader(b))
		if err != nil {
			f.Fatal(err)
		}
		out, err := io.ReadAll(zr)
		if err != nil {
			f.Fatal(err)
		}
		return out
	}
	f.Add(plain(newTarball(f, [2]string{"a/b", "x"}, [2]string{"c", "y"})))
	f.Add(plain(newTarball(f, [2]string{"../evil", "x"})))
	f.Add(plain(newTarball(f, [2]string{"link -> ..", ""}, [2]string{"link/x", "x"})))
	f.Fuzz(func(t *testing.T, b []byte) {
		base := t.TempDir()
		dir, archive := filepath.Join(base, "in"), filepath.Join(base, "a.tgz")
		var z bytes.Buffer
		zw, _ := gzip.NewWriterLevel(&z, gzip.BestSpeed)
		zw.Write(b)
		zw.Close()
		if err := errors.Join(os.Mkdir(dir, 0o755), os.WriteFile(archive, z.Bytes(), 0o644)); err != nil {
			t.Fatal(err)
		}
		unpack(t.Context(), archive, dir, nil)
		if around, err := os.ReadDir(base); err != nil || len(around) != 2 {
			t.Fatalf("wrote %v outside, %v", around, err)
		}
		filepath.WalkDir(dir, func(path string, e fs.DirEntry, err error) error {
			if err != nil || !e.IsDir() && !e.Type().IsRegular() {
				t.Fatalf("%s: %v, %v", path, e, err)
			}
			return nil
		})
	})
}
