package paper

import (
	"bytes"
	"fmt"
	"image"
	"image/color"
	"image/png"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/kindred-ml/kindred/data/split"
)

// officialFolders writes small sets in the official layouts of Cars-196, Stanford
// Online Products and In-Shop, and returns the folder of all three.
//
// Long: three layouts, file by file.
func officialFolders(t *testing.T) string {
	t.Helper()
	home := t.TempDir()
	write := func(name string, content []byte) {
		t.Helper()
		path := filepath.Join(home, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(path), 0o777); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, content, 0o666); err != nil {
			t.Fatal(err)
		}
	}
	picture := func(class, k int) []byte {
		im := image.NewRGBA(image.Rect(0, 0, 16, 16))
		for y := range 16 {
			for x := range 16 {
				im.Set(x, y, color.RGBA{uint8(40*class + 3*x), uint8(30*k + 5*y), uint8(x * y), 255})
			}
		}
		var b bytes.Buffer
		if err := png.Encode(&b, im); err != nil {
			t.Fatal(err)
		}
		return b.Bytes()
	}
	// Cars: classes of 4 makes on either side of class 98; names.csv has all 196.
	makes := []string{"AM General", "Acura", "Aston Martin", "BMW"}
	var names, train, test strings.Builder
	for c := 1; c <= 196; c++ {
		fmt.Fprintf(&names, "%s Model%d Sedan 2012\n", makes[c%4], c)
	}
	for c := 1; c <= 196; c += 13 {
		for k := range 5 { // which of the two lists has an image does not matter
			list, side := &train, "train"
			if k%2 == 1 {
				list, side = &test, "test"
			}
			name := fmt.Sprintf("%03d_%d.png", c, k)
			fmt.Fprintf(list, "%s,1,1,16,16,%d\n", name, c)
			write("cars196/cars_"+side+"/"+name, picture(c, k))
		}
	}
	write("cars196/names.csv", []byte(names.String()))
	write("cars196/anno_train.csv", []byte(train.String()))
	write("cars196/anno_test.csv", []byte(test.String()))

	// Products: a header, Windows' ends of lines, kinds by folder.
	kinds := []string{"bicycle", "coffee_maker", "lamp"}
	for side, first := range map[string]int{"Ebay_train.txt": 1, "Ebay_test.txt": 13} {
		list := "image_id class_id super_class_id path\r\n"
		for p := first; p < first+12; p++ {
			for k := range 3 {
				path := fmt.Sprintf("%s_final/%d_%d.png", kinds[p%3], p, k)
				list += fmt.Sprintf("%d %d %d %s\r\n", 3*p+k, p, p%3+1, path)
				write("sop/"+path, picture(p, k))
			}
		}
		write("sop/"+side, []byte(list))
	}

	// Clothes: a count, a header, columns of blanks; queries and gallery share items.
	var list strings.Builder
	n := 0
	for i := range 16 {
		for k := range 4 {
			kind := []string{"WOMEN/Dresses", "MEN/Denim"}[i%2]
			path := fmt.Sprintf("img/%s/id_%08d/0%d_1_front.png", kind, i, k)
			role := "train"
			if i >= 8 {
				role = []string{"query", "gallery", "gallery", "query"}[k]
			}
			fmt.Fprintf(&list, "%s    id_%08d    %s\n", path, i, role)
			write("inshop/Img/"+path, picture(i, k))
			n++
		}
	}
	write("inshop/Eval/list_eval_partition.txt",
		[]byte(fmt.Sprintf("%d\nimage_name item_id evaluation_status\n%s", n, list.String())))
	return home
}

// TestCoarsely runs the experiments on coarse labels on small sets in the official
// layouts, and checks the protocol: classes that train are not scored, queries are
// apart from the gallery where the set has both, and training is told the groups.
func TestCoarsely(t *testing.T) {
	home := officialFolders(t)
	for name, c := range map[string]struct {
		label  string
		labels int // of the training part
	}{"cars-coarse": {"make", 4}, "sop-coarse": {"kind", 3}, "inshop-coarse": {"kind", 2}} {
		e := Find(name)
		o := Options{Dir: t.TempDir(), Seeds: 1, Seed: 1, Home: home, Fast: true, Arms: []string{"MS", "EPS+MS"},
			Set: []string{"network.width=4", "network.dim=8", "train.epochs=1", "sample.batches=2", "data.size=16",
				"data.train_limit=0", "data.test_limit=0", "eval.recall=[1]", "sample.per_class=4"}}
		out, err := Reproduce(t.Context(), e, o)
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		if len(out.Arms) != 2 || len(out.Claims) != 1 || !strings.Contains(out.Claims[0].Text, "EPS+MS") {
			t.Errorf("%s: %+v", name, out.Claims)
		}
		cfg, err := e.Config(o)
		if err != nil {
			t.Fatal(err)
		}
		d, err := cfg.Data.Open(t.Context(), home)
		if err != nil {
			t.Fatal(err)
		}
		s, err := split.Select(t.Context(), d, split.Selection{Label: cfg.Data.Label})
		if err != nil {
			t.Fatal(err)
		}
		labels, seen := map[int64]bool{}, map[int64]bool{}
		for i, y := range s.Train.Label {
			labels[y], seen[s.Train.Fine[i]] = true, true
		}
		if len(labels) != c.labels {
			t.Errorf("%s: %d labels to train with, want %d", name, len(labels), c.labels)
		}
		at := map[int]bool{}
		for i, f := range s.Query.Fine {
			at[s.Query.Index[i]] = true
			if seen[f] {
				t.Errorf("%s: class %d is trained on and scored", name, f)
			}
		}
		apart := s.Gallery != nil && s.Gallery != s.Query
		if apart {
			for _, i := range s.Gallery.Index {
				if at[i] {
					t.Errorf("%s: image %d is a query and in the gallery", name, i)
				}
			}
		}
		if apart != (name == "inshop-coarse") {
			t.Errorf("%s: a gallery apart: %v", name, apart)
		}
		if err := d.Close(); err != nil {
			t.Error(err)
		}
	}
}
