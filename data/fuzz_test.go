package data

import (
	"io/fs"
	"path/filepath"
	"strings"
	"testing"

	"github.com/kindred-ml/kindred/data/imaging"
)

// checkDataset checks what every data set that opens must hold.
func checkDataset(t *testing.T, d *Dataset) {
	t.Helper()
	if d.Len() == 0 {
		t.Fatal("no samples and no error")
	}
	for i := range d.Columns {
		c := &d.Columns[i]
		for _, n := range c.Counts() {
			if n == 0 {
				t.Fatalf("column %s has a class without samples", c.Name)
			}
		}
	}
	if len(d.Columns) == 0 { // where sets without labels are asked for
		if _, err := d.Labels(""); err == nil {
			t.Fatal("samples without labels are selected by class")
		}
		return
	}
	if err := d.checkNames(); err == nil {
		summary(t, d)
	}
}

func FuzzCars(f *testing.F) {
	single, devkit := carsSingle(f), carsDevkit(f)
	f.Add(single["cars_annos.mat"], []byte(nil))
	f.Add(devkit["devkit/cars_train_annos.mat"], devkit["cars_test_annos_withlabels.mat"])
	f.Add(matFile(matStruct("annotations", []string{"relative_im_path", "class", "test"}, []any{"../../x", 1, 0}),
		matCells("class_names", "x")), []byte("x"))
	f.Fuzz(func(t *testing.T, annotations, test []byte) {
		for _, m := range []layoutFiles{
			{"cars_annos.mat": annotations},
			{"cars_train_annos.mat": annotations, "cars_test_annos_withlabels.mat": test, "cars_meta.mat": annotations},
		} {
			d, err := OpenFS(t.Context(), m.fs(), "fuzz", OpenOptions{Crop: true})
			if err != nil {
				continue
			}
			checkDataset(t, d)
			for _, name := range d.Names {
				if !filepath.IsLocal(name) {
					t.Fatalf("%q leads outside", name)
				}
			}
		}
	})
}

func FuzzCIFAR(f *testing.F) {
	l := cifarFiles()
	f.Add(l["train.bin"], l["test.bin"], l["fine_label_names.txt"], l["coarse_label_names.txt"])
	f.Add(l["test.bin"][:3073], []byte{}, []byte("a\n\nb"), []byte("\r\n"))
	f.Fuzz(func(t *testing.T, train, test, fine, coarse []byte) {
		l := layoutFiles{"train.bin": train, "test.bin": test, "fine_label_names.txt": fine,
			"coarse_label_names.txt": coarse}
		d, err := OpenFS(t.Context(), l.fs(), "fuzz", OpenOptions{})
		if err != nil {
			return
		}
		checkDataset(t, d)
		if d.Len()*(2+3*32*32) != len(train)+len(test) {
			t.Fatalf("%d records of %d bytes", d.Len(), len(train)+len(test))
		}
		var im imaging.Image
		if err := d.Image(t.Context(), d.Len()-1, &im, nil); err != nil || im.Pix[len(im.Pix)-1] != test[len(test)-1] {
			t.Fatalf("the last pixel: %v", err)
		}
	})
}

// FuzzOmniglot opens a tree of the files named, one a line.
func FuzzOmniglot(f *testing.F) {
	f.Add("images_background/Greek/character01/1.png\nimages_evaluation/Latin/character02/2.png")
	f.Add("images_background/Greek/1.png\nimages_background/a/b/c/d.png")
	f.Add("images_background//a/b.png\nimages_evaluation/../x/y/z.png\nimages_background/.a/b/c.txt")
	f.Fuzz(func(t *testing.T, names string) {
		m := layoutFiles{}
		for name := range strings.Lines(names) {
			if name = strings.TrimSuffix(name, "\n"); fs.ValidPath(name) {
				m[name] = []byte("x")
			}
		}
		if d, err := OpenFS(t.Context(), m.fs(), "fuzz", OpenOptions{}); err == nil {
			checkDataset(t, d)
		}
	})
}

// FuzzManifestInArchive opens a manifest that cannot reach beyond its archive.
func FuzzManifestInArchive(f *testing.F) {
	f.Add("path,label\na.png,x\n")
	f.Add("path,label\n/etc/passwd,x\n../../a.png,y\n")
	f.Add("path,label\n\"a\r\n.png\",x\n a/../../b.png ,y\n")
	f.Fuzz(func(t *testing.T, text string) {
		m := layoutFiles{"manifest.csv": []byte(text)}
		d, err := OpenFS(t.Context(), m.fs(), "fuzz", OpenOptions{Outside: true})
		if err != nil {
			return
		}
		checkDataset(t, d)
		for _, name := range d.Names {
			if !filepath.IsLocal(filepath.FromSlash(name)) {
				t.Fatalf("%q leads outside", name)
			}
		}
	})
}
