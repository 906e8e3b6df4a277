//go:build linux

package data

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/kindred-ml/kindred/data/imaging"
)

// checkTerminates fails the test if f takes longer than a few seconds.
func checkTerminates(t *testing.T, f func()) {
	t.Helper()
	done := make(chan struct{})
	go func() { defer close(done); f() }()
	select {
	case <-done:
	case <-time.After(20 * time.Second):
		t.Fatal("it hangs")
	}
}

// branching makes depth folders in dir, each with a picture and two links to the
// next: 2^depth paths.
func branching(t *testing.T, dir string, depth int) {
	t.Helper()
	for i := range depth {
		at := filepath.Join(dir, fmt.Sprintf("d%02d", i))
		write(t, filepath.Join(at, "x.png"), picture(t, 2, 2, uint8(i)))
		if i+1 == depth {
			return
		}
		for _, link := range []string{"left", "right"} {
			if err := os.Symlink(filepath.Join("..", fmt.Sprintf("d%02d", i+1)), filepath.Join(at, link)); err != nil {
				t.Fatal(err)
			}
		}
	}
}

// Folders are visited once, however many links lead there.
func TestBranchingLinks(t *testing.T) {
	inside, outside := t.TempDir(), t.TempDir()
	branching(t, inside, 40)
	checkTerminates(t, func() {
		d := open(t, inside)
		if d.Len() != 40 || d.Names[39] != "d39/x.png" {
			t.Errorf("%d images, the last %s; want each at its own place", d.Len(), d.Names[d.Len()-1])
		}
	})
	branching(t, outside, 40)
	dir := t.TempDir()
	for _, link := range []string{"a", "b"} {
		if err := os.Symlink(filepath.Join(outside, "d00"), filepath.Join(dir, link)); err != nil {
			t.Fatal(err)
		}
	}
	checkTerminates(t, func() {
		d := open(t, dir)
		if d.Len() != 40 || d.Names[0] != "a/"+strings.Repeat("left/", 39)+"x.png" {
			t.Errorf("%d images, the first %s", d.Len(), d.Names[0])
		}
	})
}

// A link to a folder elsewhere is followed; one to a folder that has its own
// place in the set is named, unless that place is hidden.
func TestLinkedFolders(t *testing.T) {
	store := layoutFiles{"owl/1.png": picture(t, 2, 2, 1)}.folder(t)
	dir := layoutFiles{"wren/1.png": picture(t, 2, 2, 2), ".store/gull/1.png": picture(t, 2, 2, 3)}.folder(t)
	for link, to := range map[string]string{
		"owl": filepath.Join(store, "owl"), "gull": ".store/gull", "alias": "wren", "all": ".", "up": "..",
		"wren/ring": "ring", "wren/none": "nowhere",
	} {
		if err := os.Symlink(to, filepath.Join(dir, link)); err != nil {
			t.Fatal(err)
		}
	}
	d := open(t, dir)
	expect(t, d, "folders", "gull/1.png gull\nowl/1.png owl\nwren/1.png wren")
	readable(t, d)
	links := []LeftOut{{Reason: linkedTwice, Count: 1, First: []string{"alias"}}, {Reason: linkedUp, Count: 2,
		First: []string{"all", "up"}}}
	dead := LeftOut{Reason: deadLink, Count: 2, First: []string{"wren/none", "wren/ring"}}
	if diff := cmp.Diff(append(slices.Clone(links), dead), d.LeftOut); diff != "" {
		t.Error(diff)
	}
	if err := syscall.Mkfifo(filepath.Join(dir, "wren", "2.png"), 0o644); err != nil {
		t.Fatal(err)
	}
	pipe := LeftOut{Reason: "a named pipe", Count: 1, First: []string{"wren/2.png"}}
	if diff := cmp.Diff(append(links, pipe, dead), open(t, dir).LeftOut); diff != "" {
		t.Error(diff)
	}
}

// Of two links to one folder the second is named, and with it gone a split folder may be alone.
func TestTwoLinksToOneFolder(t *testing.T) {
	store := layoutFiles{"cat/1.png": picture(t, 2, 2, 1), "dog/1.png": picture(t, 2, 2, 2)}.folder(t)
	for _, c := range []struct{ links, want, left string }{
		{"test= train=", "test/cat/1.png cat|test/dog/1.png dog", "train"},
		{"animals=cat cats=cat dogs=dog", "animals/1.png animals|dogs/1.png dogs", "cats"},
		{"all= cats=cat", "all/cat/1.png cat|all/dog/1.png dog", "cats"},
		{"a=cat b=", "a/1.png a|b/dog/1.png b/dog", "b/cat"},
	} {
		dir := t.TempDir()
		for link := range strings.FieldsSeq(c.links) {
			name, to, _ := strings.Cut(link, "=")
			if err := os.Symlink(filepath.Join(store, to), filepath.Join(dir, name)); err != nil {
				t.Fatal(err)
			}
		}
		d := open(t, dir)
		if got := strings.ReplaceAll(summary(t, d), "\n", "|"); got != c.want {
			t.Errorf("%s: %s", c.links, got)
		}
		if diff := cmp.Diff([]LeftOut{{Reason: linkedTwice, Count: 1, First: []string{c.left}}},
			d.LeftOut); diff != "" {
			t.Errorf("%s: %s", c.links, diff)
		}
	}
}

// A named pipe is an error wherever it stands, and never waited for.
func TestPipes(t *testing.T) {
	good := layoutFiles{
		"manifest.csv": []byte("path,label\na.png,x\nb.png,y\n"), "a.png": picture(t, 2, 2, 1),
		"b.png": picture(t, 2, 2, 1),
	}
	replace := func(t *testing.T, dir, name string) string {
		path := filepath.Join(dir, name)
		os.Remove(path)
		if err := syscall.Mkfifo(path, 0o644); err != nil {
			t.Fatal(err)
		}
		return path
	}
	checkTerminates(t, func() {
		dir := good.folder(t)
		path := replace(t, dir, "b.png")
		d := open(t, dir)
		var im imaging.Image
		if err := d.Image(t.Context(), 1, &im, new(imaging.Decoder)); err == nil ||
			err.Error() != path+": a named pipe, not a regular file" {
			t.Errorf("%v", err)
		}
		if _, err := d.Cache(t.Context(), CacheOptions{Dir: t.TempDir(), Strict: true}); err == nil ||
			!strings.Contains(err.Error(), path+": a named pipe") {
			t.Errorf("cached: %v", err)
		}
	})
	for _, name := range []string{"x.zip", "x.csv", "x"} {
		checkTerminates(t, func() {
			path := replace(t, t.TempDir(), name)
			if _, err := Open(t.Context(), path, OpenOptions{}); err == nil ||
				err.Error() != path+": a named pipe, not a regular file" {
				t.Errorf("%s: %v", name, err)
			}
		})
	}
	// In the place of a file that marks a layout it is passed over.
	for name, l := range map[string]layoutFiles{
		"images.txt": cubFiles(t, " "), "train.bin": cifarFiles(), "Ebay_test.txt": sopFiles(t),
		"cars_annos.mat": carsSingle(t), "manifest.csv": good,
	} {
		checkTerminates(t, func() {
			dir := l.folder(t)
			replace(t, dir, name)
			if d, err := Open(t.Context(), dir, OpenOptions{}); err == nil && d.Layout != "folders" {
				t.Errorf("%s: read as %s", name, d.Layout)
			}
		})
	}
}

// descriptors returns the open files below the temporary folders of this test. Those that
// other tests leave open are not counted: the garbage collector closes them at any time.
func descriptors(t *testing.T) []string {
	t.Helper()
	e, err := os.ReadDir("/proc/self/fd")
	if err != nil {
		t.Skip(err)
	}
	own := filepath.Dir(t.TempDir()) + string(filepath.Separator)
	var open []string
	for _, fd := range e {
		if name, _ := os.Readlink(filepath.Join("/proc/self/fd", fd.Name())); strings.HasPrefix(name, own) {
			open = append(open, name)
		}
	}
	return open
}

// Whatever Open did, nothing stays open after it failed or after Close.
func TestDescriptors(t *testing.T) {
	background, evaluation := omniglotFiles(t)
	path := filepath.Join(t.TempDir(), "x.zip")
	write(t, path, layoutFiles{"a/1.png": picture(t, 2, 2, 1), "b/1.png": picture(t, 2, 2, 1)}.zip(t))
	nothing := filepath.Join(t.TempDir(), "x.zip")
	write(t, nothing, layoutFiles{"a/readme.txt": []byte("x")}.zip(t))
	evil := filepath.Join(t.TempDir(), "x.zip")
	write(t, evil, layoutFiles{"../a.png": []byte("x")}.zip(t))
	stray := layoutFiles{"images_background/x.png": []byte("x")}
	for name, what := range map[string]string{
		"zip": path, "zip without images": nothing, "zip that leads outside": evil,
		"folder with a zip":            filepath.Dir(path),
		"folder with a zip of nothing": filepath.Dir(nothing),
		"omniglot": layoutFiles{"images_background.zip": background.zip(t),
			"images_evaluation.zip": evaluation.zip(t)}.folder(t),
		"omniglot, one half damaged": layoutFiles{"images_background.zip": background.zip(t),
			"images_evaluation.zip": []byte("x")}.folder(t),
		"omniglot, a stray image": layoutFiles{"images_background.zip": stray.zip(t)}.folder(t),
		"omniglot, without any image": layoutFiles{"images_background.zip": layoutFiles{
			"images_background/x.txt": []byte("x")}.zip(t)}.folder(t),
		"folders": layoutFiles{"a/1.png": picture(t, 2, 2, 1),
			"b/1.png": picture(t, 2, 2, 1)}.folder(t),
	} {
		d, err := Open(t.Context(), what, OpenOptions{})
		if err == nil {
			readable(t, d)
			c, err := d.Cache(t.Context(), CacheOptions{Dir: t.TempDir()})
			if err != nil {
				t.Fatal(err)
			}
			if err := c.Close(); err != nil {
				t.Error(err)
			}
			var im imaging.Image
			err = d.Image(t.Context(), 0, &im, new(imaging.Decoder))
			if name != "folders" && !errors.Is(err, os.ErrClosed) {
				t.Errorf("%s: read after Close: %v", name, err)
			}
		}
		if open := descriptors(t); open != nil {
			t.Errorf("%s: %q stay open (%v)", name, open, err)
		}
	}
}

// Archives whose names begin with ./ or, from old programs of Windows, have backslashes are read like others.
func TestNamesInArchives(t *testing.T) {
	pic := picture(t, 2, 2, 1)
	for _, form := range []func(string) string{
		func(s string) string { return "./" + s },
		func(s string) string { return strings.ReplaceAll(s, "/", `\`) },
	} {
		l := layoutFiles{}
		for _, name := range []string{"cat/1.png", "dog/2.png", "__MACOSX/cat/._1.png"} {
			l[form(name)] = pic
		}
		zip := filepath.Join(t.TempDir(), "set.zip")
		write(t, zip, l.zip(t))
		d := open(t, zip)
		expect(t, d, "folders", "cat/1.png cat\ndog/2.png dog")
		readable(t, d)
	}
	for _, name := range []string{`..\a\1.png`, `a/..\..\1.png`, "a/b\\1.png"} {
		zip := filepath.Join(t.TempDir(), "set.zip")
		write(t, zip, layoutFiles{name: pic}.zip(t))
		if _, err := Open(t.Context(), zip, OpenOptions{}); err == nil ||
			!strings.Contains(err.Error(), "leads outside the archive") {
			t.Errorf("%s: %v", name, err)
		}
	}
}
