package data

import (
	"image"
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/kindred-ml/kindred/data/imaging"
)

// with returns a copy of l with files replaced; nil removes one.
func (l layoutFiles) with(changes layoutFiles) layoutFiles {
	out := maps.Clone(l)
	for name, b := range changes {
		out[name] = b
		if b == nil {
			delete(out, name)
		}
	}
	return out
}

// failures opens changed copies of a good set and checks the messages.
func failures(t *testing.T, good layoutFiles, cases map[string]layoutFiles) {
	t.Helper()
	for want, changes := range cases {
		if _, err := Open(t.Context(), good.with(changes).folder(t), OpenOptions{}); err == nil ||
			!strings.Contains(err.Error(), want) {
			t.Errorf("%v; want %q", err, want)
		}
	}
}

func carsSingle(t testing.TB) layoutFiles {
	return layoutFiles{
		"cars_annos.mat": matFile(
			matStruct("annotations",
				[]string{"relative_im_path", "bbox_x1", "bbox_y1", "bbox_x2", "bbox_y2", "class", "test"},
				[]any{"car_ims/000001.png", 2, 3, 5, 7, 1, 0},
				[]any{"car_ims/000002.png", 1, 1, 8, 8, 2, 1},
				[]any{"car_ims/000003.png", 1, 1, 8, 8, 2, 0}),
			matCells("class_names", "Hummer/SUV", "Acura")),
		"car_ims/000001.png": picture(t, 8, 8, 1),
		"car_ims/000002.png": picture(t, 8, 8, 2),
		"car_ims/000003.png": picture(t, 8, 8, 3),
	}
}

func carsDevkit(t testing.TB) layoutFiles {
	fields := []string{"bbox_x1", "bbox_y1", "bbox_x2", "bbox_y2", "class", "fname"}
	return layoutFiles{
		"devkit/cars_train_annos.mat": matFile(matStruct("annotations", fields, []any{2, 3, 5, 7, 1, "00001.png"},
			[]any{1, 1, 8, 8, 2, "00002.png"})),
		"cars_test_annos_withlabels.mat": matFile(matStruct("annotations", fields,
			[]any{1, 1, 8, 8, 2, "00001.png"})),
		"devkit/cars_meta.mat":             matFile(matCells("class_names", "Hummer/SUV", "Acura")),
		"cars_train/00001.png":             picture(t, 8, 8, 1),
		"cars_train/00002.png":             picture(t, 8, 8, 2),
		"cars_test/cars_test/00001.png":    picture(t, 8, 8, 3),
		"cars_test/cars_test/unlisted.png": picture(t, 8, 8, 3),
	}
}

func carsCSV(t testing.TB) layoutFiles {
	return layoutFiles{
		"anno_train.csv": []byte("00001.png,2,3,5,7,1\n00002.png,1,1,8,8,2\n"),
		"anno_test.csv":  []byte("00001.png,1,1,8,8,2\n"),
		"names.csv":      []byte("Hummer/SUV\nAcura\n"),
		"car_data/car_data/train/Hummer-SUV/00001.png": picture(t, 8, 8, 1),
		"car_data/car_data/train/Acura/00002.png":      picture(t, 8, 8, 2),
		"car_data/car_data/test/Acura/00001.png":       picture(t, 8, 8, 3),
	}
}

func TestCars(t *testing.T) {
	for _, c := range []struct {
		files layoutFiles
		want  string
		split []Split
	}{
		{carsSingle(t), "car_ims/000001.png Hummer/SUV train\ncar_ims/000002.png Acura test\ncar_ims/000003.png " +
			"Acura test", []Split{Train, Test, Train}},
		{carsDevkit(t), "cars_test/cars_test/00001.png Acura test\ncars_train/00001.png Hummer/SUV " +
			"train\ncars_train/00002.png Acura test", []Split{Train, Train, Test}},
		{carsCSV(t), "car_data/car_data/test/Acura/00001.png Acura test\ncar_data/car_data/train/Acura/00002.png " +
			"Acura test\ncar_data/car_data/train/Hummer-SUV/00001.png Hummer/SUV train", []Split{Train, Train, Test}},
		{layoutFiles{
			"cardatasettrain.csv":  []byte(",x1,y1,x2,y2,Class,image\n1,2,3,5,7,1,'00001.png'\n"),
			"cardatasettest.csv":   []byte(",x1,y1,x2,y2,Class,image\n1,1,1,8,8,2,'00001.png'\n"),
			"cars_train/00001.png": picture(t, 8, 8, 1),
			"cars_test/00001.png":  picture(t, 8, 8, 3),
		}, "cars_test/00001.png 2 test\ncars_train/00001.png 1 train", []Split{Train, Test}},
	} {
		dir := c.files.folder(t)
		d := open(t, dir)
		expect(t, d, "cars", c.want)
		readable(t, d)
		if !slices.Equal(d.ImageSplits, c.split) || !d.Disjoint {
			t.Errorf("official split %v, want %v", d.ImageSplits, c.split)
		}
		// Where classes have names the makes are a column too.
		if col, err := d.Column("make"); (err == nil) != strings.Contains(c.want, "Acura") ||
			err == nil && !slices.Equal(col.Classes, []string{"Acura", "Hummer/SUV"}) {
			t.Errorf("makes %+v: %v", col, err)
		}
		cropped, err := Open(t.Context(), dir, OpenOptions{Crop: true})
		if err != nil {
			t.Fatal(err)
		}
		if cropped.Boxes[0] != image.Rect(1, 2, 5, 7) {
			t.Errorf("box %v", cropped.Boxes[0])
		}
		readable(t, cropped)
	}
}

func TestCarsErrors(t *testing.T) {
	failures(t, carsSingle(t), map[string]layoutFiles{
		"cars_annos.mat: not a MATLAB file":  {"cars_annos.mat": []byte("x")},
		"no struct array called annotations": {"cars_annos.mat": matFile(matCells("annotations", "x"))},
		"without field relative_im_path": {"cars_annos.mat": matFile(matStruct("annotations", []string{"fname"},
			[]any{"a"}))},
		"annotations without field class": {"cars_annos.mat": matFile(matStruct("annotations",
			[]string{"relative_im_path"}, []any{"a"}))},
		"annotation 1 has no relative_im_pat": {"cars_annos.mat": matFile(matStruct("annotations",
			[]string{"relative_im_path"}, []any{3}))},
	})
	failures(t, carsDevkit(t), map[string]layoutFiles{
		"add cars_test_annos_withlabels.mat": {"cars_test_annos_withlabels.mat": nil},
	})
	failures(t, carsCSV(t), map[string]layoutFiles{
		"anno_test.csv":                       {"anno_test.csv": nil},
		"anno_train.csv:2: 5 columns":         {"anno_train.csv": []byte("a.png,1,1,2,2,1\nb.png,1,1,2,2\n")},
		`anno_train.csv:1: "x" is not a coor`: {"anno_train.csv": []byte("a.png,x,1,2,2,1\n")},
		"anno_train.csv:1: class":             {"anno_train.csv": []byte("a.png,1,1,2,2,-1\n")},
	})
}

func sopFiles(t testing.TB) layoutFiles {
	return layoutFiles{
		"Ebay_train.txt": []byte("image_id class_id super_class_id path\n1 1 1 bicycle_final/1_0.png\n2 1 1 " +
			"bicycle_final/1_1.png\n"),
		"Ebay_test.txt":         []byte("image_id class_id super_class_id path\n3 11319 2 cabinet_final/2_0.png\n"),
		"bicycle_final/1_0.png": picture(t, 4, 4, 1), "bicycle_final/1_1.png": picture(t, 4, 4, 2),
		"cabinet_final/2_0.png": picture(t, 4, 4, 3),
	}
}

func TestSOP(t *testing.T) {
	const want = "bicycle_final/1_0.png 1 bicycle train\nbicycle_final/1_1.png 1 bicycle " +
		"train\ncabinet_final/2_0.png 11319 cabinet test"
	d := open(t, sopFiles(t).folder(t))
	expect(t, d, "sop", want)
	readable(t, d)
	if !d.Disjoint || d.Train != "product" {
		t.Errorf("%v %s", d.Disjoint, d.Train)
	}
	zipped := layoutFiles{"Stanford_Online_Products.zip": wrap("Stanford_Online_Products", sopFiles(t)).zip(t)}
	d = open(t, zipped.folder(t))
	expect(t, d, "sop", want)
	readable(t, d)
	// A byte order mark and blank lines before the header change nothing; the header
	// comes once.
	blank := sopFiles(t)
	blank["Ebay_train.txt"] = append([]byte("\xef\xbb\xbf\n \t\r\n"), blank["Ebay_train.txt"]...)
	expect(t, open(t, blank.folder(t)), "sop", want)
	failures(t, sopFiles(t), map[string]layoutFiles{
		"Ebay_train.txt:3: class_id": {"Ebay_train.txt": []byte(
			"\nimage_id class_id super_class_id path\nimage_id class_id super_class_id path\n")},
		"Ebay_train.txt:2: expected image_id": {"Ebay_train.txt": []byte(
			"image_id class_id super_class_id path\n1 2\n")},
		"Ebay_test.txt:1: class_id": {"Ebay_test.txt": []byte("3 x 2 c.png\n")},
		"lists no image": {"Ebay_train.txt": nil, "Ebay_test.txt": nil,
			"a/Ebay_train.txt": []byte("image_id class_id super_class_id path\n"), "a/Ebay_test.txt": {},
			"bicycle_final/1_0.png": nil, "bicycle_final/1_1.png": nil, "cabinet_final/2_0.png": nil},
	})
}

func inshopFiles(t testing.TB) layoutFiles {
	l := layoutFiles{"Eval/list_eval_partition.txt": []byte("4\nimage_name item_id evaluation_status\n" +
		"img/WOMEN/Dresses/id_00000002/02_1_front.png  id_00000002  train\n" +
		"img/WOMEN/Dresses/id_00000002/02_2_side.png  id_00000002  train\n" +
		"img/MEN/Denim/id_00000080/01_1_front.png  id_00000080  query\n" +
		"img/MEN/Denim/id_00000080/01_2_side.png  id_00000080  gallery\n")}
	for i, f := range []string{"WOMEN/Dresses/id_00000002/02_1_front.png", "WOMEN/Dresses/id_00000002/02_2_side.png",
		"MEN/Denim/id_00000080/01_1_front.png", "MEN/Denim/id_00000080/01_2_side.png"} {
		l["Img/img/"+f] = picture(t, 4, 4, uint8(i))
	}
	return l
}

func TestInShop(t *testing.T) {
	d := open(t, inshopFiles(t).folder(t))
	expect(t, d, "inshop", `
Img/img/MEN/Denim/id_00000080/01_1_front.png id_00000080 MEN/Denim query
Img/img/MEN/Denim/id_00000080/01_2_side.png id_00000080 MEN/Denim gallery
Img/img/WOMEN/Dresses/id_00000002/02_1_front.png id_00000002 WOMEN/Dresses train
Img/img/WOMEN/Dresses/id_00000002/02_2_side.png id_00000002 WOMEN/Dresses train`)
	readable(t, d)
	if !slices.Equal(d.Splits, []Split{Train, Train, Query, Gallery}) {
		t.Errorf("%v", d.Splits)
	}
	// An image outside the usual folders has no kind of its own.
	odd := layoutFiles{"list_eval_partition.txt": []byte("a.png id_1 train\nb/c.png id_2 query\n" +
		"b/d.png id_2 gallery\n")}
	expect(t, open(t, odd.folder(t)), "inshop", `
a.png id_1 other train
b/c.png id_2 other query
b/d.png id_2 other gallery`)
	const list = "Eval/list_eval_partition.txt"
	failures(t, inshopFiles(t), map[string]layoutFiles{
		"announces 9 images and lists 1": {list: []byte(
			"9\nimage_name item_id evaluation_status\na b train\n")},
		"partition.txt:2: expected image_name":   {list: []byte("1\nimg/a id\n")},
		`partition.txt:1: unknown status "test"`: {list: []byte("a b test\n")},
		"partition.txt:1: number of images":      {list: []byte("x\na b train\n")},
		"lists no image":                         {list: []byte("0\n")},
	})
}

func cifarFiles() layoutFiles {
	record := func(coarse, fine, r, g, b byte) []byte {
		out := []byte{coarse, fine}
		for _, v := range []byte{r, g, b} {
			for p := range 32 * 32 {
				out = append(out, v+byte(p%7))
			}
		}
		return out
	}
	return layoutFiles{
		"train.bin":              append(record(4, 0, 10, 20, 30), record(1, 1, 40, 50, 60)...),
		"test.bin":               record(4, 0, 70, 80, 90),
		"fine_label_names.txt":   []byte("apple\naquarium_fish\n"),
		"coarse_label_names.txt": []byte("aquatic_mammals\nfish\nflowers\nfood_containers\nfruit_and_vegetables\n"),
	}
}

func TestCIFAR100(t *testing.T) {
	d := open(t, cifarFiles().folder(t))
	expect(t, d, "cifar100", "test/0 apple fruit_and_vegetables test\ntrain/0 apple fruit_and_vegetables "+
		"train\ntrain/1 aquarium_fish fish train")
	var im imaging.Image
	if err := d.Image(t.Context(), 2, &im, nil); err != nil {
		t.Fatal(err)
	}
	// Pixel 40 is at (8, 1): 40 % 7 = 5 above each channel's base.
	if im.W != 32 || im.H != 32 || im.C != 3 || !slices.Equal(im.Row(1)[24:27], []uint8{75, 85, 95}) {
		t.Errorf("%v", im.Row(1)[24:27])
	}
	if d.Disjoint {
		t.Error("the classes are on both sides")
	}
	failures(t, cifarFiles(), map[string]layoutFiles{
		"train.bin: 3000 bytes are not a whole number": {"train.bin": make([]byte, 3000)},
		"record 0 has coarse label 20":                 {"test.bin": append([]byte{20, 0}, make([]byte, 3072)...)},
	})
}

func groceryFiles(t testing.TB) layoutFiles {
	return layoutFiles{
		"classes.csv": []byte("Class Name (str),Class ID (int),Coarse Class Name (str),Coarse Class ID (int),Iconic " +
			"Image Path (str),Product Description Path (str)\n" +
			"Golden-Delicious,0,Apple,0,/a.jpg,/a.txt\nGranny-Smith,1,Apple,0,/b.jpg,/b.txt\n" +
			"Avocado,5,Avocado,1,/c.jpg,/c.txt\n"),
		"train.txt":        []byte("train/Fruit/Apple/a.png, 0, 0\ntrain/Fruit/Avocado/c.png, 5, 1\n"),
		"val.txt":          []byte("val/Fruit/b.png, 1, 0\n"),
		"test.txt":         []byte("test/Fruit/b.png, 1, 0\n"),
		"val/Fruit/b.png":  picture(t, 4, 4, 1),
		"test/Fruit/b.png": picture(t, 4, 4, 1), "train/Fruit/Apple/a.png": picture(t, 4, 4, 2),
		"train/Fruit/Avocado/c.png": picture(t, 4, 4, 3),
	}
}

func TestGrocery(t *testing.T) {
	d := open(t, groceryFiles(t).folder(t))
	expect(t, d, "grocery", `
test/Fruit/b.png Granny-Smith Apple test
train/Fruit/Apple/a.png Golden-Delicious Apple train
train/Fruit/Avocado/c.png Avocado Avocado train
val/Fruit/b.png Granny-Smith Apple none`)
	readable(t, d)
	failures(t, groceryFiles(t), map[string]layoutFiles{
		"train.txt:1: 2 columns":               {"train.txt": []byte("a.png, 0\n")},
		"test.txt:1: class 7 or coarse":        {"test.txt": []byte("a.png, 7, 0\n")},
		`test.txt:1: "x": must be a whole num`: {"test.txt": []byte("a.png, x, 0\n")},
		"classes.csv:2: the header lacks":      {"classes.csv": []byte("a,b\n1,2\n")},
	})
}

func inatFilesOf(t testing.TB) layoutFiles {
	return layoutFiles{
		"train2018.json": []byte(`{"images":[{"id":1,"file_name":"tv/a.png"},{"id":2,"file_name":"tv/b.png"}],
			"annotations":[{"id":1,"image_id":2,"category_id":7},{"id":2,"image_id":1,"category_id":3}],
			"categories":[{"id":3,"name":"Parus major","supercategory":"Aves"},{"id":7,"name":"Bufo bufo","supercategory":"Amphibia"}]}`),
		"val2018.json": []byte(`{"images":[{"id":9,"file_name":"tv/c.png"}],"annotations":[{"image_id":9,"category_id":7}]}`),
		"tv/a.png":     picture(t, 4, 4, 1), "tv/b.png": picture(t, 4, 4, 2), "tv/c.png": picture(t, 4, 4, 3),
	}
}

func TestINat(t *testing.T) {
	d := open(t, inatFilesOf(t).folder(t))
	expect(t, d, "inat",
		"tv/a.png Parus major Aves train\ntv/b.png Bufo bufo Amphibia train\ntv/c.png Bufo bufo Amphibia test")
	readable(t, d)
	failures(t, inatFilesOf(t), map[string]layoutFiles{
		"val2018.json: byte 1 of the JSON: invalid character": {"val2018.json": []byte("hello")},
		"image 9 (tv/c.png) has no annot":                     {"val2018.json": []byte(`{"images":[{"id":9,"file_name":"tv/c.png"}]}`)},
		"image 9 is annotated with categorie": {"val2018.json": []byte(
			`{"annotations":[{"image_id":9,"category_id":7},{"image_id":9,"category_id":3}]}`)},
		"has no file_name": {"val2018.json": []byte(
			`{"images":[{"id":9}],"annotations":[{"image_id":9,"category_id":7}]}`)},
	})
}

// FuzzLists feeds one text to every reader of lists.
func FuzzLists(f *testing.F) {
	for _, l := range []layoutFiles{sopFiles(f), inshopFiles(f), groceryFiles(f), carsCSV(f), inatFilesOf(f),
		{"README.txt": []byte("x")}} {
		for name, b := range l {
			if ext := filepath.Ext(name); ext == ".txt" || ext == ".csv" || ext == ".json" {
				f.Add(string(b))
			}
		}
	}
	readers := []string{"Ebay_train.txt Ebay_test.txt", "list_eval_partition.txt", "classes.csv train.txt test.txt",
		"anno_train.csv anno_test.csv names.csv", "cardatasettrain.csv cardatasettest.csv", "train.json val.json"}
	f.Fuzz(func(t *testing.T, text string) {
		for _, names := range readers {
			m := fstest.MapFS{}
			for _, n := range strings.Fields(names) {
				m[n] = &fstest.MapFile{Data: []byte(text)}
			}
			if d, err := OpenFS(t.Context(), m, "fuzz", OpenOptions{Crop: true}); err == nil {
				summary(t, d)
			}
		}
	})
}
