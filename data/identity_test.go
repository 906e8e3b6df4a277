package data

import (
	"context"
	"crypto/sha256"
	"image"
	"os"
	"path/filepath"
	"slices"
	"strings"
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

// The digest of a whole picture is recognised by the content of its file, in a set with boxes and without; that of a
// part of it is not.
func TestDigestIsFile(t *testing.T) {
	dir := t.TempDir()
	for name, text := range map[string]string{"a.png": "one", "b.png": "two",
		"list.csv": "path,label,x_1,y_1,x_2,y_2\na.png,u,1,1,3,4\nb.png,v,,,,\n"} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	one, two := sha256.Sum256([]byte("one")), sha256.Sum256([]byte("two"))
	var whole []Digest // of the second, in both sets
	for _, open := range []string{dir, filepath.Join(dir, "list.csv")} {
		d, err := Open(t.Context(), open, OpenOptions{Unlabelled: true})
		if err != nil {
			t.Fatal(err)
		}
		digests, err := d.All().Digests(t.Context())
		if err != nil || len(digests) != 2 {
			t.Fatal(digests, err)
		}
		if digests[0].IsFile(one) != (d.Boxes == nil) || digests[0].IsFile(two) {
			t.Errorf("%s: the first is %x", open, digests[0])
		}
		whole = append(whole, digests[1])
		if !digests[1].IsFile(two) || digests[1].IsFile(one) {
			t.Errorf("%s: the second is %x", open, digests[1])
		}
	}
	if whole[0] != whole[1] {
		t.Errorf("a whole picture has one digest in a folder, and another beside boxes: %v", whole)
	}
	if (Digest{}).IsFile(one) {
		t.Error("an unknown digest is recognised")
	}
}

// manifestOf opens a manifest, whose pictures need not exist.
func manifestOf(t *testing.T, text string, opt OpenOptions) *Dataset {
	t.Helper()
	path := filepath.Join(t.TempDir(), "manifest.csv")
	if err := os.WriteFile(path, []byte(text), 0o666); err != nil {
		t.Fatal(err)
	}
	d, err := Open(t.Context(), path, opt)
	if err != nil {
		t.Fatal(err)
	}
	return d
}

// The parts of a picture are items of their own; its path names a part only if there is no other.
func TestItems(t *testing.T) {
	d := manifestOf(t, "path,label,x_1,y_1,x_2,y_2\na.png,cat,0,0,8,8\na.png,dog,8,0,16,8\nb.png,cat,1,2,3,4\n"+
		"c.png,cat,,,,\nc.png,dog,0,0,2,2\n", OpenOptions{})
	at := d.Rows()
	for name, want := range map[string]int{"a.png#xywh=0,0,8,8": 0, "a.png#xywh=8,0,8,8": 1, "b.png#xywh=1,2,2,2": 2,
		"b.png": 2, "c.png": 3, "c.png#xywh=0,0,2,2": 4} {
		if got, ok := at[name]; !ok || got != want {
			t.Errorf("%s: %d, %v", name, got, ok)
		}
	}
	if _, ok := at["a.png"]; ok || len(at) != 6 {
		t.Errorf("%v", at)
	}
}

// Rows of one item become one sample with all labels and roles, if the options ask for it.
func TestDistinct(t *testing.T) {
	const text = "path,label,split,coarse,price,x_1,y_1,x_2,y_2\na.png,cat,query,pet,1,,,,\n" +
		"b.png,cat,train,pet,2,,,,\n" +
		"a.png,dog,gallery,pet,3,,,,\na.png,cat,train,pet,4,0,0,2,2\na.png,cat,train,pet,5,,,,\n"
	d := manifestOf(t, text, OpenOptions{Distinct: true, OtherColumns: true})
	var names, labels []string
	for i := range d.Len() {
		names, labels = append(names, d.ItemName(i)), append(labels, d.MultiLabel.Text(i))
	}
	if !slices.Equal(names, []string{"a.png", "b.png", "a.png#xywh=0,0,2,2"}) ||
		!slices.Equal(labels, []string{"cat|dog", "cat", "cat"}) {
		t.Errorf("%q, %q", names, labels)
	}
	if d.Splits[0] != Query|Gallery|Train || len(d.Boxes) != 3 {
		t.Errorf("splits %v, boxes %v", d.Splits, d.Boxes)
	}
	if len(d.OtherColumns) != 1 || d.OtherColumns[0].Name != "price" ||
		!slices.Equal(d.OtherColumns[0].Text, []string{"1", "2", "4"}) {
		t.Errorf("%+v", d.OtherColumns)
	}
	if len(d.Notes) != 1 || !strings.Contains(d.Notes[0],
		"2 rows list an item again, such as a.png: each is one item; it has the") {
		t.Errorf("%q", d.Notes)
	}
	if every := manifestOf(t, text, OpenOptions{}); every.Len() != 5 || every.MultiLabel != nil ||
		every.OtherColumns != nil {
		t.Errorf("%d samples, %+v", every.Len(), every.MultiLabel)
	}
	same := manifestOf(t, "path,label\na.png,cat\na.png,cat\n", OpenOptions{Distinct: true})
	if same.Len() != 1 || len(same.Notes) != 1 || strings.Contains(same.Notes[0], "labels") {
		t.Errorf("%d samples, %q", same.Len(), same.Notes)
	}
}
