package data

import (
	"context"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/kindred-ml/kindred/data/imaging/prepare"
	"github.com/kindred-ml/kindred/internal/test/ctxtest"
)

// albumFolder is a folder of photos as people have them, and its zip archive beside it.
func albumFolder(t *testing.T) string {
	t.Helper()
	in := layoutFiles{"1.png": picture(t, 2, 2, 1), "B.JPG": picture(t, 2, 2, 1), "a/2.png": picture(t, 2, 2, 3),
		"a/deep/3.png": picture(t, 2, 2, 1), "new.heic": []byte("x"), "a/other.heic": []byte("x"),
		"x.psd": []byte("x"), "notes.txt": []byte("x")}
	dir := in.folder(t)
	write(t, dir+".zip", in.zip(t))
	return dir
}

// albumLeftOut is what is left out of it, with names below dir.
func albumLeftOut(dir string) []LeftOut {
	at := func(names ...string) []string {
		for i := range names {
			names[i] = dir + names[i]
		}
		return names
	}
	return []LeftOut{
		{Reason: "no decoder for HEIC ('kindred formats get heic' fetches one; or convert them to JPEG)", Count: 2,
			First: at("a/other.heic", "new.heic")},
		{Reason: "not an image by its name (.txt)", Count: 1, First: at("notes.txt")},
		{Reason: "no decoder for PSD (convert them to JPEG, as by magick mogrify -format jpg *.psd)", Count: 1,
			First: at("x.psd")},
	}
}

// decodes reads all images of a set without labels, through a loader.
func decodes(t *testing.T, d *Dataset) {
	t.Helper()
	p := d.All()
	l, err := NewLoader(p, LoaderConfig{Image: prepare.Config{Width: 2, Height: 2, Channels: 3}})
	if err != nil {
		t.Fatal(err)
	}
	s := l.Sequential(t.Context(), 3)
	defer s.Close()
	for n := 0; n < d.Len(); {
		b, err := s.Next()
		if err != nil {
			t.Fatal(err)
		}
		if len(b.Pos) != b.N || len(b.Label)+len(b.Fine) != 0 {
			t.Fatalf("%+v", b)
		}
		n += b.N
	}
	if len(p.Label)+len(p.Fine) != 0 || len(p.Identities()) != d.Len() || p.Subset([]int{1}).Index[0] != 1 {
		t.Errorf("%+v", p)
	}
	if _, err := d.Labels(""); err == nil || !strings.Contains(err.Error(), "has no labels: put the images") {
		t.Errorf("%v", err)
	}
}

// A folder or archive is one set, whatever it is opened for: images at the top of
// folders with as many or more are left out, and where more lie at the top there are
// no classes.
func TestUnlabelledFolder(t *testing.T) {
	dir := albumFolder(t)
	for _, what := range []string{dir, dir + ".zip"} {
		for _, unlabelled := range []bool{false, true} {
			d, err := Open(t.Context(), what, OpenOptions{Unlabelled: unlabelled})
			if err != nil {
				t.Fatal(err)
			}
			defer d.Close()
			if !slices.Equal(d.Names, []string{"a/2.png", "a/deep/3.png"}) || len(d.All().Fine) != 2 || d.Notes != nil {
				t.Errorf("%q, %d labels, %q", d.Names, len(d.All().Fine), d.Notes)
			}
			left := append(albumLeftOut(""), LeftOut{Reason: outsideClasses, Count: 2, First: []string{"1.png",
				"B.JPG"}})
			slices.SortFunc(d.LeftOut, func(a, b LeftOut) int { return strings.Compare(a.First[0], b.First[0]) })
			slices.SortFunc(left, func(a, b LeftOut) int { return strings.Compare(a.First[0], b.First[0]) })
			if diff := cmp.Diff(left, d.LeftOut); diff != "" {
				t.Error(diff)
			}
		}
	}
	write(t, filepath.Join(dir, "4.png"), picture(t, 2, 2, 1))
	d, err := Open(t.Context(), dir, OpenOptions{Unlabelled: true})
	if err != nil {
		t.Fatal(err)
	}
	if want := []string{"1.png", "4.png", "B.JPG", "a/2.png", "a/deep/3.png"}; !slices.Equal(d.Names, want) ||
		len(d.Columns) != 0 || len(d.Notes) != 1 ||
		!strings.HasPrefix(d.Notes[0], "3 images at the top, and 2 in folders: the folders are not taken for classes") {
		t.Errorf("%q, %d columns, %q", d.Names, len(d.Columns), d.Notes)
	}
	if got := len(d.LeftOut); got != 3 {
		t.Errorf("%v left out", d.LeftOut)
	}
	decodes(t, d)
	if _, err := Open(t.Context(), dir, OpenOptions{}); err == nil ||
		!strings.Contains(err.Error(), "3 images at the top, and 2 in folders, so the set has no classes") {
		t.Errorf("%v", err)
	}
	d, err = Open(t.Context(), layoutFiles{"a/1.png": picture(t, 2, 2, 1), "b/2.png": picture(t, 2, 2, 1)}.folder(t),
		OpenOptions{Unlabelled: true})
	if err != nil || d.Fine != "class" || len(d.All().Fine) != 2 {
		t.Errorf("%+v, %v", d, err)
	}
	flat := layoutFiles{"1.png": picture(t, 2, 2, 1), "2.png": picture(t, 2, 2, 1)}.folder(t)
	if d, err = Open(t.Context(), flat, OpenOptions{Unlabelled: true}); err != nil || d.Len() != 2 {
		t.Errorf("%+v, %v", d, err)
	}
	_, err = Open(t.Context(), flat, OpenOptions{})
	if err == nil || !strings.Contains(err.Error(), "2 images and no") {
		t.Errorf("%v", err)
	}
	one := filepath.Join(flat, "1.png")
	if d, err = Open(t.Context(), one, OpenOptions{Unlabelled: true}); err != nil || d.Len() != 1 || d.Name != "1" {
		t.Errorf("%+v, %v", d, err)
	}
}

func TestUnlabelledManifest(t *testing.T) {
	l := layoutFiles{"a.png": picture(t, 2, 2, 1), "b.png": picture(t, 2, 2, 1),
		"manifest.csv": []byte("path,split\na.png,train\nb.png,test\n")}
	dir := l.folder(t)
	d, err := Open(t.Context(), dir, OpenOptions{Unlabelled: true})
	if err != nil || d.Layout != "manifest" || d.Len() != 2 || d.Columns != nil || d.Splits[1] != Test {
		t.Fatalf("%+v, %v", d, err)
	}
	decodes(t, d)
	if _, err := Open(t.Context(), dir, OpenOptions{}); err == nil || !strings.Contains(err.Error(), "are needed") {
		t.Errorf("%v", err)
	}
	for text, want := range map[string]string{
		"path,coarse\na.png,x\n": "are needed", "label\nx\n": "are needed", "path,label\n,a\n": "path is empty",
		"path\n": "no rows", "path\n../a.png\n": "leads outside",
	} {
		dir := layoutFiles{"manifest.csv": []byte(text)}.folder(t)
		if _, err := Open(t.Context(), dir, OpenOptions{Unlabelled: true}); err == nil ||
			!strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v; want %s", text, err, want)
		}
	}
}

// TestFolderListedTwice: a folder or archive is walked once, however often it is listed.
func TestFolderListedTwice(t *testing.T) {
	dir := filepath.ToSlash(albumFolder(t))
	once, err := OpenFiles(t.Context(), []string{dir, dir + ".zip"})
	if err != nil {
		t.Fatal(err)
	}
	defer once.Close()
	d, err := OpenFiles(t.Context(), slices.Repeat([]string{dir, dir + "/", dir + "/a/..", dir + ".zip"}, 3))
	if err != nil {
		t.Fatal(err)
	}
	defer d.Close()
	twice := 0
	for _, l := range d.LeftOut {
		if l.Reason == "listed twice" {
			twice = l.Count
		}
	}
	if !slices.Equal(d.Names, once.Names) || twice != 10 || len(d.LeftOut) != len(once.LeftOut)+1 {
		t.Errorf("%q, %+v", d.Names, d.LeftOut)
	}
}

func TestOpenFiles(t *testing.T) {
	dir := filepath.ToSlash(albumFolder(t))
	paths := []string{dir + "/B.JPG", dir, dir + "/missing.png", dir + ".zip", dir + "/1.png"}
	if runtime.GOOS == "linux" {
		paths = append(paths, "/dev/null")
	}
	d, err := OpenFiles(t.Context(), paths)
	if err != nil {
		t.Fatal(err)
	}
	defer d.Close()
	want := []string{dir + "/B.JPG", dir + "/1.png", dir + "/a/2.png", dir + "/a/deep/3.png",
		dir + ".zip/1.png", dir + ".zip/B.JPG", dir + ".zip/a/2.png", dir + ".zip/a/deep/3.png"}
	if diff := cmp.Diff(want, d.Names); diff != "" {
		t.Error(diff)
	}
	count := map[string]int{}
	for _, l := range d.LeftOut {
		count[l.Reason] = l.Count
	}
	for reason, n := range map[string]int{"listed twice": 2, "no such file": 1, "not an image by its name (.txt)": 2,
		"no decoder for PSD (convert them to JPEG, as by magick mogrify -format jpg *.psd)": 2} {
		if count[reason] != n {
			t.Errorf("left out %d %s, want %d", count[reason], reason, n)
		}
	}
	if runtime.GOOS == "linux" && len(count) != 6 { // a device, too
		t.Errorf("%v", count)
	}
	decodes(t, d)

	if d, err := OpenFiles(t.Context(), []string{dir + "/1.png"}); err != nil || d.Name != "1" || d.LeftOut != nil {
		t.Errorf("%+v, %v", d, err)
	}
	for want, paths := range map[string][]string{
		"no image among 0 paths":                                  nil,
		"no image among 2 paths; left out 1: no decoder for HEIC": {dir + "/new.heic", dir + "/none"},
		"x.zip: zip: not a valid zip":                             {dir + "/1.png", writeImage(t, "x.zip")},
	} {
		if _, err := OpenFiles(t.Context(), paths); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v; want %s", err, want)
		}
	}
	ctxtest.CheckStops(t, 10, func(ctx context.Context) error {
		d, err := OpenFiles(ctx, paths)
		if err != nil {
			return err
		}
		return d.Close()
	})
}

// writeImage makes a damaged file.
func writeImage(t *testing.T, name string) string {
	path := filepath.Join(t.TempDir(), name)
	write(t, path, []byte("damaged"))
	return path
}

func TestReadPaths(t *testing.T) {
	for text, want := range map[string][]string{
		"a.png\n\nb c.png\r\n": {"a.png", "b c.png"}, "a.png": {"a.png"}, "": nil, "\n\n": nil,
		"a\nb.png\x00 c.png\x00": {"a\nb.png", " c.png"}, "\x00": nil,
	} {
		if got, err := ReadPaths(strings.NewReader(text)); err != nil || !slices.Equal(got, want) {
			t.Errorf("%q: %q, %v", text, got, err)
		}
	}
	if _, err := ReadPaths(os.NewFile(^uintptr(0), "closed")); err == nil {
		t.Error("no error of the reader")
	}
}
