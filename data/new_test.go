package data

import (
	"bytes"
	"compress/gzip"
	"encoding/json"
	"io/fs"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/google/go-cmp/cmp"
	"github.com/kindred-ml/kindred/data/imaging"
	"github.com/kindred-ml/kindred/matrix"
)

// What New and those who change its result get wrong is an error, not a panic.
func TestNewRefuses(t *testing.T) {
	source := blank{}
	names, labels := []string{"a", "b", "c"}, []string{"x", "y", "x"}
	for want, f := range map[string]func() (*Dataset, error){
		"has no samples":                  func() (*Dataset, error) { return New("own", nil, nil, source) },
		"3 names of samples and 2 labels": func() (*Dataset, error) { return New("own", names, labels[:2], source) },
		"either Source or Features":       func() (*Dataset, error) { return New("own", names, labels, nil) },
		`the name "\n" has the control`: func() (*Dataset, error) {
			return New("own", []string{"\n"}, labels[:1],
				source)
		},
		`class "\x00" of column class`: func() (*Dataset, error) {
			return New("own", names[:1], []string{"\x00"},
				source)
		},
	} {
		if d, err := f(); d != nil || err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, %v; want %s", d, err, want)
		}
	}
	for want, change := range map[string]func(d *Dataset){
		"3 names of samples and 1 Splits": func(d *Dataset) { d.Splits = make([]Split, 1) },
		"and 2 ImageSplits":               func(d *Dataset) { d.ImageSplits = make([]Split, 2) },
		"and 0 Several.Sets":              func(d *Dataset) { d.MultiLabel = new(MultiLabel) },
		"and 4 rows of Features":          func(d *Dataset) { d.Source, d.Features = nil, matrix.New(4, 1) },
		"either Source or Features":       func(d *Dataset) { d.Features = matrix.New(3, 1) },
		"sample 2 is of class 7 of 2":     func(d *Dataset) { d.Columns[0].IDs[2] = 7 },
		"sample 0 is of class -1 of 2":    func(d *Dataset) { d.Columns[0].IDs[0] = -1 },
		"1 numbers for 2 classes":         func(d *Dataset) { d.Columns[0].Numbers = []int64{1} },
		"3 names of samples and 2 labels in column k": func(d *Dataset) {
			d.Columns = append(d.Columns, NewColumn("k", labels[:2]))
		},
	} {
		d, err := New("own", names, labels, source)
		if err != nil {
			t.Fatal(err)
		}
		p := d.All()
		change(d)
		err1 := d.CheckLengths()
		_, err2 := NewLoader(p, LoaderConfig{})
		for _, err := range []error{err1, err2} {
			if err == nil || !strings.Contains(err.Error(), want) {
				t.Errorf("%v; want %s", err, want)
			}
		}
	}
}

// OpenFS reads what Open reads from a folder, in every layout.
func TestOpenFS(t *testing.T) {
	background, evaluation := omniglotFiles(t)
	mnist := layoutFiles{}
	for i, name := range []string{"train-images-idx3-ubyte", "train-labels-idx1-ubyte.gz", "t10k-images.idx3-ubyte",
		"t10k-labels-idx1-ubyte"} {
		b := idxBytes([]int{2, 2, 3}, make([]byte, 12))
		if i%2 == 1 {
			b = idxBytes([]int{2}, []byte{3, 4})
		}
		if strings.HasSuffix(name, ".gz") {
			var z bytes.Buffer
			w := gzip.NewWriter(&z)
			if _, err := w.Write(b); err != nil || w.Close() != nil {
				t.Fatal(err)
			}
			b = z.Bytes()
		}
		mnist[name] = b
	}
	for name, l := range map[string]layoutFiles{
		"idx": mnist, "cub": cubFiles(t, " "), "sop": sopFiles(t), "inshop": inshopFiles(t), "grocery": groceryFiles(t),
		"cars": carsCSV(t), "inat": inatFilesOf(t), "omniglot": background.with(evaluation),
		"folders": {"a/1.png": picture(t, 2, 2, 1), "b/2.png": picture(t, 2, 2, 1), "b/x.txt": {}, ".git/a/1.png": {},
			"b/.hidden.png": {}},
	} {
		files := fstest.MapFS{}
		for path, b := range l {
			files[path] = &fstest.MapFile{Data: b}
		}
		want := open(t, l.folder(t))
		d, err := OpenFS(t.Context(), files, want.Name, OpenOptions{})
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		if diff := cmp.Diff(summary(t, want), summary(t, d)); diff != "" || d.Layout != name {
			t.Errorf("%s, %s: %s", name, d.Layout, diff)
		}
		readable(t, d)
		if err := d.Close(); err != nil {
			t.Error(err)
		}
	}
}

func TestOpenFSErrors(t *testing.T) {
	broken := fstest.MapFS{"a/1.png": {Data: []byte("x")}, "a/pipe.png": {Mode: fs.ModeNamedPipe}}
	d, err := OpenFS(t.Context(), broken, "mine", OpenOptions{})
	if err != nil || d.Len() != 1 || len(d.LeftOut) != 1 || d.LeftOut[0].First[0] != "a/pipe.png" {
		t.Fatalf("%+v, %v", d, err)
	}
	delete(broken, "a/1.png")
	outside := fstest.MapFS{"manifest.csv": {Data: []byte("path,label\n/etc/passwd,x\n")}}
	unnamed := fstest.MapFS{"a/\n.png": {Data: []byte("x")}}
	for want, err := range map[string]error{
		"mine: open a/1.png: file does not exist": d.Image(t.Context(), 0, new(imaging.Image), nil),
		"no file system given":                    errorOf(OpenFS(t.Context(), nil, "mine", OpenOptions{})),
		"mine: no known layout":                   errorOf(OpenFS(t.Context(), fstest.MapFS{}, "mine", OpenOptions{})),
		"leads outside the archive mine":          errorOf(OpenFS(t.Context(), outside, "mine", OpenOptions{})),
		"control character":                       errorOf(OpenFS(t.Context(), unnamed, "mine", OpenOptions{})),
	} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v; want %s", err, want)
		}
	}
}

func errorOf(_ *Dataset, err error) error { return err }

// Cached images of a file system are those of its files.
func TestCacheOfFS(t *testing.T) {
	files := fstest.MapFS{"a/1.png": {Data: picture(t, 2, 2, 1)}, "b/2.png": {Data: picture(t, 3, 2, 3)}}
	dir := t.TempDir()
	for range 2 {
		d, err := OpenFS(t.Context(), files, "mine", OpenOptions{})
		if err != nil {
			t.Fatal(err)
		}
		c, err := d.Cache(t.Context(), CacheOptions{Dir: dir})
		if err != nil {
			t.Fatal(err)
		}
		if c == d {
			t.Error("nothing cached")
		}
		readable(t, c)
		if err := c.Close(); err != nil {
			t.Error(err)
		}
	}
}

func TestRoleTexts(t *testing.T) {
	for text, s := range map[string]Split{
		"none": 0, "train": Train, "test": Test, "query": Query, "gallery": Gallery, "train+query": Train | Query,
		"train+test": Train | Test,
	} {
		b, err := json.Marshal(s)
		var back Split
		if err != nil || string(b) != `"`+text+`"` || json.Unmarshal(b, &back) != nil || back != s {
			t.Errorf("%v: %s, %v, back %v", s, b, err, back)
		}
	}
	var s Split
	for _, bad := range []string{"", "val", "train+", "train,test", "none+train"} {
		if err := s.UnmarshalText([]byte(bad)); err == nil || s != 0 {
			t.Errorf("%q became %v, %v", bad, s, err)
		}
	}
	if b, err := Split(9).MarshalText(); err == nil || Split(9).String() != "train+Split(8)" {
		t.Errorf("%s, %v", b, err)
	}
}
