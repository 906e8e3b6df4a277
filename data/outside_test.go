package data

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/kindred-ml/kindred/data/imaging"
)

// listsNaming makes data sets in which one list names the picture at path.
func listsNaming(t *testing.T, path string) map[string]layoutFiles {
	t.Helper()
	replace := func(l layoutFiles, file, old string) layoutFiles {
		text := strings.Replace(string(l[file]), old, path, 1)
		if text == string(l[file]) {
			t.Fatalf("%s does not name %s", file, old)
		}
		return l.with(layoutFiles{file: []byte(text)})
	}
	return map[string]layoutFiles{
		"manifest.csv:3": {"manifest.csv": []byte("path,label\na.png,x\n" + path + ",y\n"),
			"a.png": picture(t, 2, 2, 1)},
		"images.txt:2":     replace(cubFiles(t, " "), "images.txt", "001.Gull/b.jpg"),
		"Ebay_train.txt:3": replace(sopFiles(t), "Ebay_train.txt", "bicycle_final/1_1.png"),
		"Eval/list_eval_partition.txt:3": replace(inshopFiles(t), "Eval/list_eval_partition.txt",
			"img/WOMEN/Dresses/id_00000002/02_1_front.png"),
		"train.txt:1":                  replace(groceryFiles(t), "train.txt", "train/Fruit/Apple/a.png"),
		"train2018.json: image 1":      replace(inatFilesOf(t), "train2018.json", "tv/a.png"),
		"anno_train.csv: annotation 1": replace(carsCSV(t), "anno_train.csv", "00001.png"),
		"cars_annos.mat: annotation 1": carsSingle(
			t).with(layoutFiles{"cars_annos.mat": matFile(matStruct("annotations",
			[]string{"relative_im_path", "class", "test"}, []any{path, 1, 0}), matCells("class_names", "Hummer"))}),
		"cardatasettrain.csv: annotation 1": {"cardatasettrain.csv": []byte("x1,y1,x2,y2,Class,image\n2,3,5,7,1," +
			path + "\n"), "cardatasettest.csv": []byte("x1,y1,x2,y2,Class,image\n1,1,8,8,2,a.png\n")},
	}
}

// What a list names stays in its folder unless the flag allows more; in an
// archive it always does.
func TestOutside(t *testing.T) {
	secret := filepath.Join(t.TempDir(), "secret.png")
	write(t, secret, picture(t, 3, 3, 77))
	for where, l := range listsNaming(t, filepath.ToSlash(secret)) {
		if strings.HasPrefix(where, "images.txt") {
			continue // all names of CUB are below images/
		}
		dir := l.folder(t)
		_, err := Open(t.Context(), dir, OpenOptions{})
		if err == nil || !strings.Contains(err.Error(), filepath.Join(dir, filepath.FromSlash(where))+": ") ||
			!strings.Contains(err.Error(), secret+" leads outside") ||
			!strings.Contains(err.Error(), "data.OpenOptions.Outside") {
			t.Errorf("%s: %v", where, err)
		}
		d, err := Open(t.Context(), dir, OpenOptions{Outside: true})
		if err != nil {
			t.Errorf("%s, allowed: %v", where, err)
			continue
		}
		found := false
		for i, name := range d.Names {
			if name == filepath.ToSlash(secret) {
				var im imaging.Image
				err := d.Image(t.Context(), i, &im, new(imaging.Decoder))
				found = err == nil && im.W == 3 && im.Pix[0] == 77
			}
		}
		if !found {
			t.Errorf("%s, allowed: the picture is not in %q", where, d.Names)
		}
	}
	for _, out := range []string{"../../../../../../../../etc/passwd", secret, "a/../../../x.png", "../.."} {
		for where, l := range listsNaming(t, filepath.ToSlash(out)) {
			if strings.HasPrefix(where, "images.txt") && out == secret {
				continue
			}
			for _, allowed := range []bool{false, true} {
				path := filepath.Join(t.TempDir(), "set.zip")
				write(t, path, l.zip(t))
				if _, err := Open(t.Context(), path, OpenOptions{Outside: allowed}); err == nil ||
					!strings.Contains(err.Error(), "leads outside the archive "+path) {
					t.Errorf("%s names %s: %v", where, out, err)
				}
				// An archive within a folder is one too, and so is a folder in it.
				if _, err := Open(t.Context(), filepath.Dir(path), OpenOptions{Outside: allowed}); err == nil ||
					!strings.Contains(err.Error(), "leads outside the archive") {
					t.Errorf("%s names %s: %v", where, out, err)
				}
				write(t, path, wrap("inner", l).zip(t))
				if _, err := Open(t.Context(), path, OpenOptions{Outside: allowed}); err == nil ||
					!strings.Contains(err.Error(), "leads outside the archive "+path+"/inner") {
					t.Errorf("%s names %s: %v", where, out, err)
				}
			}
			if _, err := Open(t.Context(), l.folder(t), OpenOptions{}); err == nil ||
				!strings.Contains(err.Error(), "leads outside") {
				t.Errorf("%s names %s: %v", where, out, err)
			}
		}
	}
}

func TestOutsideByDots(t *testing.T) {
	base := t.TempDir()
	write(t, filepath.Join(base, "store", "b.png"), picture(t, 3, 3, 9))
	write(t, filepath.Join(base, "set", "a.png"), picture(t, 3, 3, 8))
	write(t, filepath.Join(base, "set", "list.csv"),
		[]byte("path,label\nsub/../a.png,x\n./a.png,x\n../store/b.png,y\n"))
	what := filepath.Join(base, "set", "list.csv")
	if _, err := Open(t.Context(), what, OpenOptions{}); err == nil ||
		!strings.Contains(err.Error(), what+":4: ../store/b.png leads outside the data set's folder "+
			""+filepath.Join(base, "set")+":") {
		t.Errorf("%v", err)
	}
	d, err := Open(t.Context(), what, OpenOptions{Outside: true})
	if err != nil {
		t.Fatal(err)
	}
	readable(t, d)
	// A link is put there by whoever owns the folder, and followed.
	if err := os.Symlink(filepath.Join("..", "store", "b.png"), filepath.Join(base, "set", "c.png")); err != nil {
		t.Skip(err)
	}
	write(t, what, []byte("path,label\na.png,x\nc.png,y\n"))
	readable(t, open(t, what))
}

// Names that lists could not carry are left out and named, and of classes and labels refused.
func TestIllegibleNames(t *testing.T) {
	for _, c := range []struct{ name, says string }{
		{"a\tb", `a\tb`}, {"a\r", `has the control character '\r'`}, {"a\nb", `has the control character '\n'`},
		{"a\x1b[31m", `\x1b`},
		{"a\xffb", `is not valid UTF-8`}, {"a\u0085", `\u0085`}, {"a\x7f", `\x7f`},
	} {
		for what, l := range map[string]layoutFiles{
			"file":   {"x/" + c.name + ".png": picture(t, 2, 2, 1), "y/1.png": picture(t, 2, 2, 1)},
			"class":  {c.name + "/1.png": picture(t, 2, 2, 1), "y/1.png": picture(t, 2, 2, 1)},
			"path":   {"manifest.csv": []byte("path,label\n\"" + c.name + "\",x\n"), "a": picture(t, 2, 2, 1)},
			"label":  {"manifest.csv": []byte("path,label\na.png,\"" + c.name + "\"\n")},
			"coarse": {"manifest.csv": []byte("path,label,coarse\na.png,x,\"" + c.name + "\"\n")},
			"inat": inatFilesOf(t).with(layoutFiles{"val2018.json": fmt.Appendf(nil,
				`{"images":[{"id":9,"file_name":"tv/c.png"}],"annotations":[{"image_id":9,"category_id":7}],"categories":[{"id":7,"name":"a\u000a"}]}`)}),
			"car class": carsSingle(t).with(layoutFiles{"cars_annos.mat": matFile(matStruct("annotations",
				[]string{"relative_im_path", "class", "test"}, []any{"a", 1, 0}), matCells("class_names", c.name))}),
		} {
			says := c.says
			if what == "inat" {
				says = `class "a\n" of column species (tv/b.png)`
			}
			d, err := Open(t.Context(), l.folder(t), OpenOptions{})
			if left := "left out 1: the name "; what == "file" || what == "class" {
				if err != nil || summary(t, d) != "y/1.png y" || !strings.HasPrefix(d.LeftOut[0].String(), left) ||
					!strings.Contains(d.LeftOut[0].String(), says) {
					t.Errorf("%s %q: %v %v", what, c.name, d, err)
				}
				continue
			}
			if err == nil || !strings.Contains(err.Error(), says) {
				t.Errorf("%s %q: %v; want %s", what, c.name, err, says)
			}
		}
	}
	// What no file name needs to be refused for.
	d := open(t, layoutFiles{"ä ö/ 1 .png": picture(t, 2, 2, 1), "日本/'\"<,>.png": picture(t, 2, 2, 1)}.folder(t))
	expect(t, d, "folders", "ä ö/ 1 .png ä ö\n日本/'\"<,>.png 日本")
	readable(t, d)
}

// All files met are samples or are counted and named.
func TestLeftOut(t *testing.T) {
	l := layoutFiles{"top.png": picture(t, 2, 2, 1), "b/clip": {}, "b/esc\x1b.txt": {}}
	for i := range 7 {
		l[fmt.Sprintf("a/%d.png", i)] = picture(t, 2, 2, 1)
		l[fmt.Sprintf("a/%d.HEIC", i)] = []byte("x")
	}
	l["b/1.psd"], l["b/2.png"] = []byte("x"), picture(t, 2, 2, 1)
	path := filepath.Join(t.TempDir(), "x.zip")
	write(t, path, l.zip(t))
	want := []LeftOut{
		{Reason: "no decoder for HEIC ('kindred formats get heic' fetches one; or convert them to JPEG)", Count: 7,
			First: []string{"a/0.HEIC", "a/1.HEIC", "a/2.HEIC", "a/3.HEIC", "a/4.HEIC"}},
		{Reason: "no decoder for PSD (convert them to JPEG, as by magick mogrify -format jpg *.psd)", Count: 1,
			First: []string{"b/1.psd"}},
		{Reason: "not an image by its name (no extension)", Count: 1, First: []string{"b/clip"}},
		{Reason: "not an image by its name (.txt)", Count: 1, First: []string{"b/esc\x1b.txt"}},
		{Reason: outsideClasses, Count: 1, First: []string{"top.png"}},
	}
	for _, what := range []string{path, l.folder(t)} {
		d := open(t, what)
		if diff := cmp.Diff(want, d.LeftOut); diff != "" {
			t.Error(diff)
		}
		if got := d.LeftOut[0].String(); got != "left out 7: no decoder for HEIC ('kindred formats get heic' fetches "+
			"one; or convert them to JPEG): a/0.HEIC, a/1.HEIC, a/2.HEIC, a/3.HEIC, a/4.HEIC, ..." {
			t.Error(got)
		}
		if got := d.LeftOut[3].String(); got != `left out 1: not an image by its name (.txt): "b/esc\x1b.txt"` {
			t.Error(got)
		}
	}
	// A folder without any image says what was in it.
	if _, err := Open(t.Context(), layoutFiles{"a/1.heic": {}}.folder(t), OpenOptions{}); err == nil ||
		!strings.Contains(err.Error(), "no images in class folders; left out 1: no decoder for HEIC (") {
		t.Errorf("%v", err)
	}
	background, _ := omniglotFiles(t)
	d := open(t, background.with(layoutFiles{"images_background/Greek/notes.txt": {}}).folder(t))
	if diff := cmp.Diff([]LeftOut{{Reason: "not an image by its name (.txt)", Count: 1,
		First: []string{"images_background/Greek/notes.txt"}}}, d.LeftOut); diff != "" {
		t.Error(diff)
	}
}

// TestNamedHEIC: a file with the name of a HEIC file is an image if its content is one that can be read, in folders, in
// lists and alone; an archive and other contents go by the name.
func TestNamedHEIC(t *testing.T) {
	dir := layoutFiles{"cat/1.heic": picture(t, 2, 2, 1), "cat/2.HIF": picture(t, 2, 2, 2), "cat/3.heic": {},
		"cat/4.heic": []byte("\x00\x00\x00\x18ftypheic"), "cat/5.heic": []byte("<html>"),
		"dog/1.png": picture(t, 2, 2, 3),
	}.folder(t)
	d, err := Open(t.Context(), dir, OpenOptions{})
	if err != nil {
		t.Fatal(err)
	}
	defer d.Close()
	if want := []string{"cat/1.heic", "cat/2.HIF", "dog/1.png"}; !slices.Equal(d.Names, want) {
		t.Errorf("%q, want %q", d.Names, want)
	}
	if len(d.LeftOut) != 1 || d.LeftOut[0].Count != 3 {
		t.Errorf("left out %v", d.LeftOut)
	}
	for i := range d.Len() {
		var im imaging.Image
		if err := d.Image(t.Context(), i, &im, new(imaging.Decoder)); err != nil || im.W != 2 {
			t.Errorf("%s: %v", d.Names[i], err)
		}
	}
	for _, path := range []string{"cat/1.heic", "cat"} {
		one, err := Open(t.Context(), filepath.Join(dir, path), OpenOptions{Unlabelled: true})
		if err != nil || !strings.HasSuffix(one.Names[0], "1.heic") {
			t.Errorf("%s: %v", path, err)
			continue
		}
		one.Close()
	}
}
