package data

import (
	"archive/zip"
	"bytes"
	"fmt"
	"image"
	"image/color"
	"image/png"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/kindred-ml/kindred/data/imaging"
	"github.com/kindred-ml/kindred/internal/test/refdata"
)

// picture is a PNG of w x h pixels of one grey value.
func picture(t testing.TB, w, h int, v uint8) []byte {
	t.Helper()
	im := image.NewGray(image.Rect(0, 0, w, h))
	for i := range im.Pix {
		im.Pix[i] = v
	}
	return encodePNG(t, im)
}

func colorPicture(t testing.TB, w, h int, c color.Color) []byte {
	t.Helper()
	im := image.NewRGBA(image.Rect(0, 0, w, h))
	for y := range h {
		for x := range w {
			im.Set(x, y, c)
		}
	}
	return encodePNG(t, im)
}

func encodePNG(t testing.TB, im image.Image) []byte {
	var b bytes.Buffer
	if err := png.Encode(&b, im); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// layoutFiles is a data set by file name.
type layoutFiles map[string][]byte

func (l layoutFiles) folder(t testing.TB) string {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "set")
	for name, content := range l {
		write(t, filepath.Join(dir, filepath.FromSlash(name)), content)
	}
	return dir
}

func (l layoutFiles) zip(t testing.TB) []byte {
	t.Helper()
	var b bytes.Buffer
	w := zip.NewWriter(&b)
	for name, content := range l {
		f, err := w.Create(name)
		if err != nil {
			t.Fatal(err)
		}
		f.Write(content)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

func open(t testing.TB, path string) *Dataset {
	t.Helper()
	d, err := Open(t.Context(), path, OpenOptions{})
	if err != nil {
		t.Fatal(err)
	}
	return d
}

// summary prints every sample as name, fine class, coarse class, role, in order
// of the names.
func summary(t testing.TB, d *Dataset) string {
	t.Helper()
	fine, err := d.Column("fine")
	if err != nil {
		t.Fatal(err)
	}
	var out []string
	for i, name := range d.Names {
		s := name + " " + fine.Classes[fine.IDs[i]]
		if d.Coarse != "" {
			c, err := d.Column("coarse")
			if err != nil {
				t.Fatal(err)
			}
			s += " " + c.Classes[c.IDs[i]]
		}
		if d.Splits != nil {
			s += " " + d.Splits[i].String()
		}
		out = append(out, s)
	}
	slices.Sort(out)
	return strings.Join(out, "\n")
}

func expect(t *testing.T, d *Dataset, layout, want string) {
	t.Helper()
	if d.Layout != layout {
		t.Errorf("recognised as %s, want %s", d.Layout, layout)
	}
	if got := summary(t, d); got != strings.TrimSpace(want) {
		t.Errorf("got\n%s\nwant\n%s", got, strings.TrimSpace(want))
	}
}

// readable decodes every sample.
func readable(t *testing.T, d *Dataset) {
	t.Helper()
	var im imaging.Image
	var dec imaging.Decoder
	for i := range d.Len() {
		if err := d.Image(t.Context(), i, &im, &dec); err != nil {
			t.Error(err)
		}
	}
}

func omniglotFiles(t testing.TB) (background, evaluation layoutFiles) {
	background, evaluation = layoutFiles{}, layoutFiles{}
	for i, f := range []string{"Greek/character01/0001_01.png", "Greek/character01/0001_02.png",
		"Greek/character02/0002_01.png", "Latin/character01/0003_01.png"} {
		background["images_background/"+f] = picture(t, 5, 5, uint8(i))
	}
	evaluation["images_evaluation/Tibetan/character10/0004_01.png"] = picture(t, 5, 5, 9)
	return background, evaluation
}

func TestOmniglot(t *testing.T) {
	const want = `
Greek/character01/0001_01.png Greek/character01 Greek train
Greek/character01/0001_02.png Greek/character01 Greek train
Greek/character02/0002_01.png Greek/character02 Greek train
Latin/character01/0003_01.png Latin/character01 Latin train
Tibetan/character10/0004_01.png Tibetan/character10 Tibetan test`
	background, evaluation := omniglotFiles(t)
	zips := layoutFiles{"images_background.zip": background.zip(t), "images_evaluation.zip": evaluation.zip(t)}
	both := layoutFiles{}
	for _, half := range []layoutFiles{background, evaluation} {
		for name, b := range half {
			both[name] = b
		}
	}
	for name, dir := range map[string]string{"folders": both.folder(t), "zips": zips.folder(t)} {
		d := open(t, dir)
		expect(t, d, "omniglot", want)
		readable(t, d)
		if w, h, c := d.Source.Shape(); w != 5 || h != 5 || c != 1 {
			t.Errorf("%s: shape %d %d %d", name, w, h, c)
		}
		if d.Train != "alphabet" || !d.Disjoint {
			t.Errorf("%s: trains on %s", name, d.Train)
		}
	}
	d := open(t, layoutFiles{"data.zip": wrap("omniglot", both).zip(t)}.folder(t))
	expect(t, d, "omniglot", want)

	both["images_background/Greek/stray.png"] = picture(t, 5, 5, 1)
	if _, err := Open(t.Context(), both.folder(t), OpenOptions{}); err == nil ||
		!strings.Contains(err.Error(), "stray.png is not ALPHABET/CHARACTER/FILE") {
		t.Errorf("%v", err)
	}
}

func wrap(dir string, l layoutFiles) layoutFiles {
	out := layoutFiles{}
	for name, b := range l {
		out[dir+"/"+name] = b
	}
	return out
}

func TestRealOmniglot(t *testing.T) {
	d := open(t, refdata.Path(t, "data", "omniglot"))
	fine, _ := d.Column("letter")
	coarse, _ := d.Column("alphabet")
	if d.Len() != 32460 || len(fine.Classes) != 1623 || len(coarse.Classes) != 50 {
		t.Fatalf("%d images, %d letters, %d alphabets", d.Len(), len(fine.Classes), len(coarse.Classes))
	}
	var im imaging.Image
	err := d.Image(t.Context(), 20000, &im, new(imaging.Decoder))
	if err != nil || im.W != 105 || im.H != 105 || im.C != 1 {
		t.Errorf("%v %v", im, err)
	}
}

func cubFiles(t testing.TB, sep string) layoutFiles {
	l := layoutFiles{
		"images.txt": []byte(strings.ReplaceAll("1 001.Gull/a.jpg\n2 001.Gull/b.jpg\n3 002.Owl/c.jpg\n4 "+
			"010.Wren/d.jpg\n", " ", sep)),
		"image_class_labels.txt": []byte(strings.ReplaceAll("1 1\n2 1\n3 2\n4 10\n", " ", sep)),
		"classes.txt":            []byte(strings.ReplaceAll("1 001.Gull\n2 002.Owl\n10 010.Wren\n", " ", sep)),
		"train_test_split.txt":   []byte(strings.ReplaceAll("1 1\n2 0\n3 1\n4 0\n", " ", sep)),
		"bounding_boxes.txt":     []byte("1 1.0 2.0 3.0 4.0\n2 0 0 8 8\n3 20 20 5 5\n4 0 0 4 4\n"),
	}
	for i, name := range []string{"001.Gull/a.jpg", "001.Gull/b.jpg", "002.Owl/c.jpg", "010.Wren/d.jpg"} {
		l["images/"+name] = colorPicture(t, 8, 8, color.RGBA{uint8(i), 200, 100, 255})
	}
	return l
}

func TestCUB(t *testing.T) {
	const want = `
images/001.Gull/a.jpg 001.Gull train
images/001.Gull/b.jpg 001.Gull train
images/002.Owl/c.jpg 002.Owl test
images/010.Wren/d.jpg 010.Wren test`
	for name, l := range map[string]layoutFiles{"official": cubFiles(t, " "), "commas": cubFiles(t, ", ")} {
		d := open(t, l.folder(t))
		expect(t, d, "cub", want)
		readable(t, d)
		if !slices.Equal(d.ImageSplits, []Split{Train, Test, Train, Test}) {
			t.Errorf("%s: %v", name, d.ImageSplits)
		}
	}
	path := filepath.Join(t.TempDir(), "birds.zip")
	write(t, path, wrap("CUB_200_2011", cubFiles(t, " ")).zip(t))
	d := open(t, path)
	expect(t, d, "cub", want)
	readable(t, d)
	if d.Name != "birds" {
		t.Errorf("called %q", d.Name)
	}

	d, err := Open(t.Context(), cubFiles(t, " ").folder(t), OpenOptions{Crop: true})
	if err != nil {
		t.Fatal(err)
	}
	var im imaging.Image
	if err := d.Image(t.Context(), 0, &im, new(imaging.Decoder)); err != nil || im.W != 3 || im.H != 4 {
		t.Errorf("cropped to %d x %d, %v", im.W, im.H, err)
	}
	if err := d.Image(t.Context(), 2, &im, new(imaging.Decoder)); err == nil ||
		!strings.Contains(err.Error(), "outside the image of 8 x 8") {
		t.Errorf("%v", err)
	}
}

func TestCUBErrors(t *testing.T) {
	for want, change := range map[string]struct{ file, content string }{
		"images.txt:2: expected an id and a value": {"images.txt", "1 a.jpg\n2\n"},
		"images.txt:2: id 1 is already on line 1":  {"images.txt", "1 a.jpg\n1 b.jpg\n"},
		"images.txt:3: image 7 has no line in":     {"images.txt", "1 a.jpg\n\n7 b.jpg\n"},
		"which classes.txt does not name":          {"classes.txt", "1 001.Gull\n"},
		"lists no image":                           {"images.txt", "\n"},
	} {
		l := cubFiles(t, " ")
		l[change.file] = []byte(change.content)
		if _, err := Open(t.Context(), l.folder(t), OpenOptions{}); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v; want %q", err, want)
		}
	}
	l := cubFiles(t, " ")
	l["bounding_boxes.txt"] = []byte("1 1 2 3\n")
	if _, err := Open(t.Context(), l.folder(t), OpenOptions{Crop: true}); err == nil ||
		!strings.Contains(err.Error(), "bounding_boxes.txt:1") {
		t.Errorf("%v", err)
	}
}

func TestRealCUB100(t *testing.T) {
	d := open(t, refdata.Path(t, "data", "cub100"))
	c, _ := d.Column("class")
	if d.Layout != "cub" || d.Len() != 5902 || len(c.Classes) != 100 {
		t.Fatalf("%s, %d images, %d classes", d.Layout, d.Len(), len(c.Classes))
	}
	if c.Classes[0] != "American_Goldfinch" || !slices.IsSorted(c.Classes) {
		t.Errorf("first class %s; classes are numbered in alphabetical order", c.Classes[0])
	}
	var im imaging.Image
	var dec imaging.Decoder
	for i := 0; i < d.Len(); i += 97 {
		if err := d.Image(t.Context(), i, &im, &dec); err != nil || im.C != 3 {
			t.Errorf("%s: %v", d.Names[i], err)
		}
	}
}

func TestFolders(t *testing.T) {
	pic := picture(t, 3, 3, 7)
	files := func(names ...string) layoutFiles {
		l := layoutFiles{"README.txt": []byte("x")}
		for _, n := range names {
			l[n] = pic
		}
		return l
	}
	d := open(t, files("b/1.PNG", "a/2.png", "a/10.jpeg", "a/notes.txt", "a/.hidden.png", "stray.png").folder(t))
	expect(t, d, "folders", "a/10.jpeg a\na/2.png a\nb/1.PNG b")
	if diff := cmp.Diff([]LeftOut{
		{Reason: "not an image by its name (.txt)", Count: 2, First: []string{"README.txt", "a/notes.txt"}},
		{Reason: outsideClasses, Count: 1, First: []string{"stray.png"}},
	}, d.LeftOut); diff != "" {
		t.Error(diff)
	}
	d = open(t, files("dog/husky/1.png", "dog/pug/2.png", "cat/manx/3.png").folder(t))
	expect(t, d, "folders", "cat/manx/3.png cat/manx cat\ndog/husky/1.png dog/husky dog\ndog/pug/2.png dog/pug dog")
	if d.Train != "coarse" {
		t.Errorf("trains on %s", d.Train)
	}
	d = open(t, files("dog/husky/1.png", "cat/3.png").folder(t))
	expect(t, d, "folders", "cat/3.png cat\ndog/husky/1.png dog/husky")
	d = open(t, files("train/a/1.png", "test/a/2.png", "val/b/3.png").folder(t))
	expect(t, d, "folders", "test/a/2.png a test\ntrain/a/1.png a train\nval/b/3.png b none")
	if d.Disjoint {
		t.Error("class a is on both sides")
	}
	d = open(t, files("train/a/1.png", "query/b/2.png", "gallery/b/3.png").folder(t))
	expect(t, d, "folders", "gallery/b/3.png b gallery\nquery/b/2.png b query\ntrain/a/1.png a train")
	if !d.Disjoint {
		t.Error("classes are apart")
	}
	// Classes that happen to be called like a split are classes.
	d = open(t, files("train/1.png", "bus/2.png").folder(t))
	expect(t, d, "folders", "bus/2.png bus\ntrain/1.png train")

	for want, l := range map[string]layoutFiles{
		"2 images and no folders":       files("1.png", "2.png"),
		"no known layout of a data set": files(),
	} {
		if _, err := Open(t.Context(), l.folder(t), OpenOptions{}); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v; want %q", err, want)
		}
	}
}

// TestHalfALayoutIsNone: a folder with one of the files that together mark a
// layout, and images, is a folder of images.
func TestHalfALayoutIsNone(t *testing.T) {
	for _, mark := range []string{"train.bin", "test.bin", "images.txt", "image_class_labels.txt", "Ebay_train.txt",
		"Ebay_test.txt", "classes.csv", "train.txt", "test.txt"} {
		l := layoutFiles{"a/1.png": picture(t, 2, 2, 1), "b/2.png": picture(t, 2, 2, 2)}
		l[mark] = []byte("1 2 3\n")
		if d := open(t, l.folder(t)); d.Layout != "folders" {
			t.Errorf("with %s it is %s", mark, d.Layout)
		}
	}
	for _, missing := range []string{"classes.csv", "train.txt", "test.txt"} {
		l := layoutFiles{"a/1.png": picture(t, 2, 2, 1), "b/2.png": picture(t, 2, 2, 2)}
		for _, name := range []string{"classes.csv", "train.txt", "test.txt"} {
			if name != missing {
				l[name] = []byte("1 2 3\n")
			}
		}
		if d := open(t, l.folder(t)); d.Layout != "folders" {
			t.Errorf("without %s it is %s", missing, d.Layout)
		}
	}
}

func TestFolderLinks(t *testing.T) {
	dir := layoutFiles{"a/1.png": picture(t, 2, 2, 1), "b/2.png": picture(t, 2, 2, 2)}.folder(t)
	for link, target := range map[string]string{"a/up": "..", "a/self": ".", "b/ring": "ring",
		"b/gone.png": "nowhere.png", "b/3.png": "../a/1.png"} {
		if err := os.Symlink(target, filepath.Join(dir, link)); err != nil {
			t.Fatal(err)
		}
	}
	d := open(t, dir)
	readable(t, d)
	if d.Len() > 10 || !slices.Contains(d.Names, "b/3.png") {
		t.Errorf("%q", d.Names)
	}
}

func TestManifest(t *testing.T) {
	l := layoutFiles{
		"manifest.csv": []byte("\xef\xbb\xbfpath,label,split,coarse,is_query,is_gallery,x_1,y_1,x_2,y_2,note\r\n" +
			"im/1.png,7,train,even,,,,,,,hello\r\n" +
			"\"im/2,b.png\",11,test,odd,1,0,1,2,4,8,\r\n" +
			"im/3.png,11,test,odd,0,1,0,0,8,8,\r\n" +
			"im/3.png,5,val,odd,,,,,,,\r\n"),
		"im/1.png": picture(t, 8, 8, 1), "im/2,b.png": picture(t, 8, 8, 2), "im/3.png": picture(t, 8, 8, 3),
	}
	dir := l.folder(t)
	for _, path := range []string{dir, filepath.Join(dir, "manifest.csv")} {
		d := open(t, path)
		expect(t, d, "manifest",
			"im/1.png 7 even train\nim/2,b.png 11 odd query\nim/3.png 11 odd gallery\nim/3.png 5 odd none")
		readable(t, d)
		var im imaging.Image
		if err := d.Image(t.Context(), 1, &im, new(imaging.Decoder)); err != nil || im.W != 3 || im.H != 6 {
			t.Errorf("box: %d x %d %v", im.W, im.H, err)
		}
		c, _ := d.Column("fine")
		if !slices.Equal(c.Numbers, []int64{5, 7, 11}) || !d.Disjoint {
			t.Errorf("%+v", c)
		}
	}
	d := open(t, layoutFiles{"manifest.csv": []byte("label,path\ncat,a.png\n7,b.png\n")}.folder(t))
	expect(t, d, "manifest", "a.png cat\nb.png 7")
	d = open(t, layoutFiles{"manifest.csv": []byte(
		"path,label,is_query,is_gallery\na.png,1,0,0\nb.png,1,1,1\nc.png,1,0,1\n")}.folder(t))
	expect(t, d, "manifest", "a.png 1 train\nb.png 1 test\nc.png 1 gallery")
}

// Several labels stand beside the one label, which is the first of them.
func TestManifestLabels(t *testing.T) {
	d := open(t, layoutFiles{"manifest.csv": []byte("path,labels\na.png, red " +
		"|round|red\nb.png,round|small\nc.png,blue\n")}.folder(t))
	expect(t, d, "manifest", "a.png red\nb.png round\nc.png blue")
	if want := []string{"blue", "red", "round", "small"}; !slices.Equal(d.MultiLabel.Classes, want) {
		t.Errorf("labels %v, want %v", d.MultiLabel.Classes, want)
	}
	if got := fmt.Sprint(d.MultiLabel.Sets); got != "[[1 2] [2 3] [0]]" {
		t.Errorf("sets %s", got)
	}
	d = open(t, layoutFiles{"manifest.csv": []byte("path,label,labels\na.png,x,red|round\nb.png,y,\n")}.folder(t))
	expect(t, d, "manifest", "a.png x\nb.png y")
	if got := fmt.Sprint(d.MultiLabel.Sets); got != "[[0 1] []]" {
		t.Errorf("sets %s", got)
	}
	if d = open(t,
		layoutFiles{"manifest.csv": []byte("path,label\na.png,red|round\n")}.folder(t)); d.MultiLabel != nil {
		t.Error("a bar in a label made several of it")
	}
}

func TestManifestErrors(t *testing.T) {
	for want, text := range map[string]string{
		"empty file":                       "",
		"no rows":                          "path,label\n",
		"path and label (or labels) are":   "file,class\na,b\n",
		"no row has a label; left out 2: ": "path,label\na,\nb, \n",
		"manifest.csv:3: path is empty":    "path,label\na,b\n,c\n",
		`:2: unknown split "extra"`:        "path,label,split\na,b,extra\n",
		`:2: is_query: "maybe"`:            "path,label,split,is_query\na,b,test,maybe\n",
		`:3: x_2: "x" is not a coordinate`: "path,label,x_1,y_1,x_2,y_2\na,b,,,,\na,b,1,1,x,2\n",
		"has no area":                      "path,label,x_1,y_1,x_2,y_2\na,b,5,1,5,2\n",
		"the line has 3 fields":            "path,label\na,b,c\n",
	} {
		dir := layoutFiles{"manifest.csv": []byte(text)}.folder(t)
		if _, err := Open(t.Context(), dir, OpenOptions{}); err == nil || !strings.Contains(err.Error(), want) ||
			!strings.Contains(err.Error(), "manifest.csv") {
			t.Errorf("%q: %v; want %q", text, err, want)
		}
	}
}

func TestOpenNothing(t *testing.T) {
	home := t.TempDir()
	for want, what := range map[string]string{
		"no data set given":                                 "",
		"'kindred data get nope'":                           "nope",
		"no such file or folder":                            "./nope",
		"must be a folder, a .zip":                          filepath.Join(home, "x.rar"),
		"not a valid zip":                                   filepath.Join(home, "x.zip"),
		"no data set \"nope2\": there is no " + home + "/n": "nope2",
	} {
		if filepath.IsAbs(what) {
			write(t, what, []byte("hello"))
		}
		_, err := Open(t.Context(), what, OpenOptions{Home: home})
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v; want %q", what, err, want)
		}
	}
}

func TestZipEscapes(t *testing.T) {
	for _, name := range []string{"../../etc/x.png", "/etc/x.png", `a\..\..\x.png`} {
		path := filepath.Join(t.TempDir(), "evil.zip")
		write(t, path, layoutFiles{name: []byte("x"), "a/b.png": []byte("y")}.zip(t))
		_, err := Open(t.Context(), path, OpenOptions{})
		if err == nil || !strings.Contains(err.Error(), "outside the archive") &&
			!strings.Contains(err.Error(), "insecure") {
			t.Errorf("%q: %v", name, err)
		}
	}
}

func FuzzManifest(f *testing.F) {
	f.Add("path,label,split,coarse,is_query,is_gallery,x_1,y_1,x_2,y_2\na.png,1,test,x,1,0,0,0,4,4\n")
	f.Add("path,label\n\"a\nb\",c\n")
	dir := f.TempDir()
	f.Fuzz(func(t *testing.T, text string) {
		write(t, filepath.Join(dir, "manifest.csv"), []byte(text))
		if d, err := Open(t.Context(), dir, OpenOptions{}); err == nil {
			summary(t, d)
		}
	})
}

func FuzzCUB(f *testing.F) {
	f.Add("1 a/b.jpg\n", "1 1\n", "1 a\n", "1 1\n", "1 0 0 1 1\n")
	f.Add("0, a/b.jpg\n", "0, 1\n", "1, a\n", "0, 0\n", "0, 1,1,5,5\n")
	dir := f.TempDir()
	f.Fuzz(func(t *testing.T, images, labels, classes, split, boxes string) {
		for name, text := range map[string]string{"images.txt": images, "image_class_labels.txt": labels,
			"classes.txt": classes, "train_test_split.txt": split, "bounding_boxes.txt": boxes} {
			write(t, filepath.Join(dir, name), []byte(text))
		}
		if d, err := Open(t.Context(), dir, OpenOptions{Crop: true}); err == nil {
			summary(t, d)
		}
	})
}

func FuzzZip(f *testing.F) {
	f.Add(layoutFiles{"a/b.png": []byte("x"), "a/c.png": []byte("y")}.zip(f))
	path := filepath.Join(f.TempDir(), "x.zip")
	f.Fuzz(func(t *testing.T, b []byte) {
		write(t, path, b)
		d, err := Open(t.Context(), path, OpenOptions{})
		if err != nil {
			return
		}
		var im imaging.Image
		for i := range min(d.Len(), 3) {
			if err := d.Image(t.Context(), i, &im, new(imaging.Decoder)); err == nil && len(im.Pix) == 0 {
				t.Fatal("empty image without an error")
			}
		}
	})
}
