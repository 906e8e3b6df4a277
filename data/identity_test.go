package data

import (
	"context"
	"crypto/sha256"
	"image"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/kindred-ml/kindred/data/imaging"
)

func TestIdentities(t *testing.T) {
	box := image.Rect(0, 0, 4, 4)
	d := &Dataset{
		Names: []string{"a", "b", "a", "", "", "b", "b"},
		Boxes: []image.Rectangle{{}, {}, {}, {}, {}, box, box},
	}
	p := &Part{Data: d, Index: []int{6, 5, 4, 3, 2, 1, 0}}
	if got, want := p.Identities(), []int64{6, 6, 4, 3, 2, 1, 2}; !slices.Equal(got, want) {
		t.Errorf("identities %v, want %v", got, want)
	}
	d.Boxes = nil
	if got, want := p.Identities(), []int64{6, 6, 4, 3, 2, 6, 2}; !slices.Equal(got, want) {
		t.Errorf("without boxes %v, want %v", got, want)
	}
}

// TestDigests: a sample is known by the content of its file and its box, or by its
// pixels; one that cannot be read by nothing.
func TestDigests(t *testing.T) {
	dir := t.TempDir()
	for name, text := range map[string]string{"x/a.png": "one", "x/b.png": "one", "y/c.png": "two"} {
		if err := os.MkdirAll(filepath.Join(dir, name[:1]), 0o777); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	d, err := Open(t.Context(), dir, OpenOptions{})
	if err != nil {
		t.Fatal(err)
	}
	digests := func(d *Dataset) []Digest {
		t.Helper()
		out, err := d.All().Digests(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		return out
	}
	a := digests(d)
	if a[0] != a[1] || a[0] == a[2] || a[0] == (Digest{}) {
		t.Errorf("by content: %x", a)
	}
	boxed := *d
	boxed.Boxes = []image.Rectangle{image.Rect(0, 0, 1, 1), image.Rect(0, 0, 2, 2), {}}
	if b := digests(&boxed); b[0] == b[1] || b[0] == a[0] {
		t.Errorf("by box: %x", b)
	}
	if err := os.Remove(filepath.Join(dir, "y/c.png")); err != nil {
		t.Fatal(err)
	}
	if b := digests(d); b[2] != (Digest{}) || b[0] != a[0] {
		t.Errorf("a file that is gone: %x", b)
	}
	in := *d
	in.Source = fixed{}
	if b := digests(&in); b[0] == b[1] || b[2] != (Digest{}) {
		t.Errorf("by pixels: %x", b)
	}
	if _, err := (&Part{Data: &Dataset{Name: "f"}}).Digests(t.Context()); err == nil {
		t.Error("features have pixels")
	}
}

// fixed is a source of two images; others cannot be read.
type fixed struct{}

func (fixed) Shape() (w, h, c int) { return 1, 1, 1 }

func (fixed) Read(_ context.Context, i int, dst *imaging.Image, _ *imaging.Decoder) error {
	if i > 1 {
		return os.ErrInvalid
	}
	dst.Reset(1, 1, 1)
	dst.Pix[0] = uint8(i)
	return nil
}

// The digest of a sample is recognised by the content of its file and its box, in a set with boxes and without.
func TestDigestIsFile(t *testing.T) {
	dir := t.TempDir()
	for name, text := range map[string]string{"a.png": "one", "b.png": "two",
		"list.csv": "path,label,x_1,y_1,x_2,y_2\na.png,u,1,1,3,4\nb.png,v,,,,\n"} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	one, two := sha256.Sum256([]byte("one")), sha256.Sum256([]byte("two"))
	for _, open := range []string{dir, filepath.Join(dir, "list.csv")} {
		d, err := Open(t.Context(), open, OpenOptions{Unlabelled: true})
		if err != nil {
			t.Fatal(err)
		}
		digests, err := d.All().Digests(t.Context())
		if err != nil || len(digests) != 2 {
			t.Fatal(digests, err)
		}
		box := ""
		if d.Boxes != nil {
			box = d.Boxes[0].String()
		}
		if !digests[0].IsFile(one, box) || digests[0].IsFile(two, box) || digests[0].IsFile(one, "(0,0)-(9,9)") ||
			box != "" && digests[0].IsFile(one, "") {
			t.Errorf("%s: the first is %x", open, digests[0])
		}
		if !digests[1].IsFile(two, "") || digests[1].IsFile(one, "") || digests[1].IsFile(two, "(0,0)-(9,9)") {
			t.Errorf("%s: the second is %x", open, digests[1])
		}
	}
	if (Digest{}).IsFile(one, "") {
		t.Error("an unknown digest is recognised")
	}
}
