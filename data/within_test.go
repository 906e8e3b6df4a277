package data

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/kindred-ml/kindred/data/imaging"
	"github.com/kindred-ml/kindred/embedding"
	"github.com/kindred-ml/kindred/internal/base/rootfs"
	"github.com/kindred-ml/kindred/internal/test/archives"
	"github.com/kindred-ml/kindred/matrix"
)

// links are names in a set, with what they lead to outside.
type links map[string]string

// linked is a set with links that lead out.
type linked struct {
	in    layoutFiles
	links links
	what  string // in the set; "": its folder
	opt   OpenOptions
}

// linkedSets returns them by what leads out, and what they lead to.
func linkedSets(t *testing.T) (sets map[string]linked, out layoutFiles) {
	t.Helper()
	out = layoutFiles{"x/1.png": picture(t, 2, 2, 9), "y/2.png": picture(t, 2, 2, 9), "set.zip": layoutFiles{
		"x/1.png": picture(t, 2, 2, 9), "y/2.png": picture(t, 2, 2, 9)}.zip(t),
		"list.csv": []byte("path,label\na.png,x\nb.png,y\n"), "labels.csv": []byte("label\n1\n2\n"),
		"s.tar": archives.Tar(t, "a.png", picture(t, 2, 2, 9), "a.cls", "0", "b.png", picture(t, 2, 2, 9), "b.cls",
			"1"),
		"l.txt": []byte("s.tar\n"),
		"f.npy": features(t),
	}
	pic := picture(t, 2, 2, 1)
	none, two := OpenOptions{}, layoutFiles{"a/1.png": pic, "b/2.png": pic}
	empty, npy := layoutFiles{"r.txt": nil}, layoutFiles{"f.npy": features(t)}
	listed := func(text string) layoutFiles {
		return layoutFiles{"manifest.csv": []byte("path,label\n" + text), "a.png": pic}
	}
	return map[string]linked{
		"a folder of images": {two, links{"c": "x"}, "", none},
		"a folder, deeper":   {two, links{"b/c": "x"}, "", none},
		"an image":           {two, links{"a/3.png": "x/1.png"}, "", none},
		"an image of a list": {listed("a.png,x\nb.png,y\n"), links{"b.png": "x/1.png"}, "", none},
		"a folder of a list": {listed("a.png,x\nx/1.png,y\n"), links{"x": "x"}, "", none},
		"the list":           {layoutFiles{"a.png": pic, "b.png": pic}, links{"manifest.csv": "list.csv"}, "", none},
		"a list by name":     {layoutFiles{"a.png": pic, "b.png": pic}, links{"l.csv": "list.csv"}, "l.csv", none},
		"an archive in it":   {empty, links{"set.zip": "set.zip"}, "", none},
		"an archive":         {empty, links{"set.zip": "set.zip"}, "set.zip", none},
		"half of omniglot":   {empty, links{"images_background.zip": "set.zip"}, "", none},
		"a shard in it":      {empty, links{"s.tar": "s.tar"}, "", none},
		"a shard":            {empty, links{"s.tar": "s.tar"}, "s.tar", none},
		"shards by pattern":  {empty, links{"s-0.tar": "s.tar"}, "s-{0..0}.tar", none},
		"a list of shards":   {empty, links{"l.txt": "l.txt", "s.tar": "s.tar"}, "l.txt", none},
		"a shard of a list":  {layoutFiles{"l.txt": []byte("s.tar\n")}, links{"s.tar": "s.tar"}, "l.txt", none},
		"features": {layoutFiles{"f.labels.csv": []byte("label\n1\n2")}, links{"f.npy": "f.npy"},
			"f.npy", none},
		"labels beside":        {npy, links{"f.labels.csv": "labels.csv"}, "f.npy", none},
		"labels in the folder": {npy, links{"labels.csv": "labels.csv"}, "f.npy", none},
		"labels":               {npy, links{"l.csv": "labels.csv"}, "f.npy", OpenOptions{Labels: "l.csv"}},
		"a single image":       {empty, links{"a.png": "x/1.png"}, "a.png", OpenOptions{Unlabelled: true}},
		"the set":              {empty, links{"set": "."}, "set", none},
	}, out
}

// TestWithin: of a set that is opened for others no file outside the allowed folder is read,
// whatever kind of file it is and whatever leads there; who opens it for himself may.
func TestWithin(t *testing.T) {
	sets, out := linkedSets(t)
	outside := out.folder(t)
	for name, c := range sets {
		dir := c.in.folder(t)
		for link, to := range c.links {
			at := filepath.Join(dir, filepath.FromSlash(link))
			if err := os.Symlink(filepath.Join(outside, filepath.FromSlash(to)), at); err != nil {
				t.Skip(err)
			}
		}
		what := filepath.Join(dir, c.what)
		if c.opt.Labels != "" {
			c.opt.Labels = filepath.Join(dir, c.opt.Labels)
		}
		d, err := Open(t.Context(), what, c.opt)
		switch {
		case err == nil && d.Features == nil:
			readable(t, d)
			fallthrough
		case err == nil:
			d.Close()
		// Half of omniglot is not what it says; that it is opened is what counts.
		case name != "half of omniglot" || !strings.Contains(err.Error(), "no image in images_background"):
			t.Errorf("%s, for oneself: %v", name, err)
		}
		in, err := rootfs.Open([]string{dir})
		if err != nil {
			t.Fatal(err)
		}
		d, err = Open(rootfs.WithRoots(t.Context(), in), what, c.opt)
		if err == nil { // a list is read without its images
			for i := range d.Len() {
				var im imaging.Image
				err = errors.Join(err, d.Image(t.Context(), i, &im, new(imaging.Decoder)))
				if im.W > 0 && im.Pix[0] == 9 {
					t.Errorf("%s: image %s is read", name, d.Names[i])
				}
			}
			for _, s := range must(d.All().Stats(t.Context())) {
				if strings.HasPrefix(s.Path, outside) {
					t.Errorf("%s: %s is known", name, s.Path)
				}
			}
			d.Close()
		}
		if err == nil || !strings.Contains(err.Error(), "--allow") &&
			// What decides on a layout asks whether files are there, and is told no.
			name != "an archive in it" && name != "half of omniglot" && name != "labels in the folder" {
			t.Errorf("%s, for others: %v", name, err)
		}
		in.Close()
	}
}

// TestWithinByName: the folder of sets by name is whose the worker is: a link in it to a set
// elsewhere is followed, and one in that set that leads out is not.
func TestWithinByName(t *testing.T) {
	set, other, home := layoutFiles{"a/1.png": picture(t, 2, 2, 1), "b/2.png": picture(t, 2, 2, 1)}.folder(t),
		layoutFiles{"3.png": picture(t, 2, 2, 9)}.folder(t), t.TempDir()
	if err := os.Symlink(set, filepath.Join(home, "mine")); err != nil {
		t.Skip(err)
	}
	in, err := rootfs.Open([]string{home})
	if err != nil {
		t.Fatal(err)
	}
	defer in.Close()
	ctx := rootfs.WithRoots(t.Context(), in)
	d, err := Open(ctx, "mine", OpenOptions{Home: home})
	if err != nil {
		t.Fatal(err)
	}
	readable(t, d)
	if _, err := Open(ctx, filepath.Join(home, "mine"), OpenOptions{Home: home}); err == nil {
		t.Error("by its path it is no set by name")
	}
	if err := os.Symlink(other, filepath.Join(set, "c")); err != nil {
		t.Fatal(err)
	}
	if _, err := Open(ctx, "mine", OpenOptions{Home: home}); err == nil || !strings.Contains(err.Error(), "--allow") {
		t.Error(err)
	}
}

// TestWithinOutside: --outside still lets a list name any image, and lets nothing else out.
func TestWithinOutside(t *testing.T) {
	secret := filepath.Join(layoutFiles{"x.png": picture(t, 2, 2, 9)}.folder(t), "x.png")
	dir := layoutFiles{"manifest.csv": []byte("path,label\na.png,x\n" + filepath.ToSlash(secret) + ",y\n"),
		"a.png": picture(t, 2, 2, 1)}.folder(t)
	in, err := rootfs.Open([]string{dir})
	if err != nil {
		t.Fatal(err)
	}
	defer in.Close()
	ctx := rootfs.WithRoots(t.Context(), in)
	if _, err := Open(ctx, dir, OpenOptions{}); err == nil || !strings.Contains(err.Error(), "leads outside") {
		t.Error(err)
	}
	d, err := Open(ctx, dir, OpenOptions{Outside: true})
	if err != nil {
		t.Fatal(err)
	}
	readable(t, d)
}

// features are two rows of an array.
func features(t *testing.T) []byte {
	t.Helper()
	var b bytes.Buffer
	if err := embedding.WriteNPY(&b, matrix.FromSlice(2, 2, []float32{1, 2, 3, 4})); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

func must[T any](v T, err error) T {
	if err != nil {
		panic(err)
	}
	return v
}
