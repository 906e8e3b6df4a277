package data

import (
	"context"
	"errors"
	"fmt"
	"image"
	"math"
	"path"
	"slices"
	"strconv"
	"strings"

	"github.com/kindred-ml/kindred/internal/format/matfile"
)

// carsFile is one annotated image of Cars-196.
type carsFile struct {
	name  string
	class int64 // 1 to 196
	box   image.Rectangle
	split Split
}

// carsVariant is one of the forms in which Cars-196 circulates.
type carsVariant struct {
	mark string
	read func(t tree) (cars []carsFile, classes []string, err error)
}

func carsVariants() []carsVariant {
	return []carsVariant{
		{"cars_annos.mat", readCarsSingle},
		{"devkit/cars_train_annos.mat", func(t tree) ([]carsFile, []string,
			error) {
			return readCarsDevkit(t, "devkit/")
		}},
		{"cars_train_annos.mat", func(t tree) ([]carsFile, []string, error) { return readCarsDevkit(t, "") }},
		{"anno_train.csv", readCarsPlainCSV},
		{"cardatasettrain.csv", readCarsHeaderCSV},
	}
}

func isCars(_ context.Context, t tree) bool {
	return slices.ContainsFunc(carsVariants(), func(f carsVariant) bool { return t.has(f.mark) })
}

// openCars reads Cars-196 in one of its forms: the single cars_annos.mat with car_ims/, the
// devkit's two .mat files with cars_train/ and cars_test/, or one of the two sets of CSV files in
// circulation (anno_train.csv, anno_test.csv and names.csv without headers; cardatasettrain.csv
// and cardatasettest.csv with headers). The official split is the metric-learning one: classes
// 1-98 train, 99-196 test. If the classes have names, a second column has the make of each car.
func openCars(_ context.Context, t tree, name string, opt OpenOptions) (*Dataset, error) {
	form := slices.IndexFunc(carsVariants(), func(f carsVariant) bool { return t.has(f.mark) })
	cars, classes, err := carsVariants()[form].read(t)
	if err != nil {
		return nil, err
	}
	if len(cars) == 0 {
		return nil, fmt.Errorf("%s: lists no image", path.Join(t.location(), carsVariants()[form].mark))
	}
	b := newBuilder("cars", name, opt)
	d := b.d
	labels := make([]int64, len(cars))
	find := newFinder(t)
	for i, c := range cars {
		if err := b.addListed(t, find.path(c, classes)); err != nil {
			return nil, fmt.Errorf("%s: annotation %d: %w", path.Join(t.location(), carsVariants()[form].mark), i+1,
				err)
		}
		labels[i] = c.class
		d.ImageSplits = append(d.ImageSplits, c.split)
		if opt.Crop {
			d.Boxes = append(d.Boxes, c.box)
		}
	}
	column := newNumberColumn("class", labels)
	column.useNames(append([]string{""}, classes...))
	d.Columns, d.Fine, d.Train = []Column{column}, "class", "class"
	d.Splits, d.Disjoint = splitClassesInHalf(&d.Columns[0]), true
	if len(classes) > 0 {
		makes := make([]string, len(cars))
		for i, id := range d.Columns[0].IDs {
			makes[i] = carMake(d.Columns[0].Classes[id])
		}
		d.Columns = append(d.Columns, NewColumn("make", makes))
	}
	return d.mustBeConsistent(), nil
}

// carMake returns the make in the name of a class such as "Aston Martin V8 Vantage Coupe 2012":
// the first word, or two words for some makes.
func carMake(class string) string {
	first, rest, _ := strings.Cut(strings.TrimSpace(class), " ")
	second, _, _ := strings.Cut(rest, " ")
	switch both := first + " " + second; both {
	case "AM General", "Aston Martin", "Land Rover":
		return both
	}
	return first
}

// finder searches the folders that redistributions put the images into.
type finder struct {
	t   tree
	dir map[Split]string
}

func newFinder(t tree) *finder { return &finder{t, map[Split]string{}} }

// path returns the path of the image of c: the name itself, or a file in one of the usual
// folders, possibly below a folder named after the class. If there is no such file, it returns
// the name, and reading the image gives the error.
func (f *finder) path(c carsFile, classes []string) string {
	side := "train"
	if c.split != Train {
		side = "test"
	}
	class := ""
	if 1 <= c.class && c.class <= int64(len(classes)) {
		class = strings.ReplaceAll(classes[c.class-1], "/", "-")
	}
	dirs := []string{"", "cars_" + side, "cars_" + side + "/cars_" + side, side, "car_data/" + side,
		"car_data/car_data/" + side, "car_ims"}
	if known, ok := f.dir[c.split]; ok {
		dirs = slices.Insert(dirs, 0, known)
	}
	for _, dir := range dirs {
		for _, p := range []string{path.Join(dir, c.name), path.Join(dir, class, c.name)} {
			if f.t.has(p) {
				f.dir[c.split] = dir
				return p
			}
		}
	}
	return c.name
}

func readMat(t tree, name string) (map[string]*matfile.Array, error) {
	b, err := t.read(name, nil)
	if err != nil {
		return nil, err
	}
	arrays, err := matfile.Read(b)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path.Join(t.location(), name), err)
	}
	return arrays, nil
}

// readCarsSingle reads cars_annos.mat: annotations with relative_im_path,
// bbox_x1..bbox_y2, class and test, and class_names.
func readCarsSingle(t tree) ([]carsFile, []string, error) {
	const name = "cars_annos.mat"
	arrays, err := readMat(t, name)
	if err != nil {
		return nil, nil, err
	}
	classes := cellTexts(arrays["class_names"])
	cars, err := annotations(arrays["annotations"], "relative_im_path",
		func(field func(string) (float64, error)) (Split, error) {
			test, err := field("test")
			if test != 0 {
				return Test, err
			}
			return Train, err
		})
	if err != nil {
		return nil, nil, fmt.Errorf("%s: %w", path.Join(t.location(), name), err)
	}
	return cars, classes, nil
}

// readCarsDevkit reads the devkit, which has a file of annotations with fname for each side. The
// classes of the test side are in cars_test_annos_withlabels.mat.
func readCarsDevkit(t tree, dir string) ([]carsFile, []string, error) {
	var classes []string
	if t.has(dir + "cars_meta.mat") {
		meta, err := readMat(t, dir+"cars_meta.mat")
		if err != nil {
			return nil, nil, err
		}
		classes = cellTexts(meta["class_names"])
	}
	var cars []carsFile
	tests := []string{"cars_test_annos_withlabels.mat", "devkit/cars_test_annos_withlabels.mat", dir +
		"cars_test_annos_withlabels.mat"}
	files := []string{dir + "cars_train_annos.mat"}
	if i := slices.IndexFunc(tests, t.has); i >= 0 {
		files = append(files, tests[i])
	} else {
		return nil, nil,
			fmt.Errorf("%s: the classes of the test images are missing: add cars_test_annos_withlabels.mat",
				t.location())
	}
	for i, name := range files {
		arrays, err := readMat(t, name)
		if err != nil {
			return nil, nil, err
		}
		role := []Split{Train, Test}[i]
		side, err := annotations(arrays["annotations"], "fname",
			func(func(string) (float64, error)) (Split, error) { return role, nil })
		if err != nil {
			return nil, nil, fmt.Errorf("%s: %w", path.Join(t.location(), name), err)
		}
		cars = append(cars, side...)
	}
	return cars, classes, nil
}

func cellTexts(a *matfile.Array) []string {
	if a == nil {
		return nil
	}
	var out []string
	for _, c := range a.Cells {
		out = append(out, c.Text)
	}
	return out
}

// annotations converts a struct array of annotations.
func annotations(a *matfile.Array, nameField string,
	split func(field func(string) (float64, error)) (Split, error)) ([]carsFile, error) {
	if a == nil || a.Fields == nil {
		return nil, errors.New("there is no struct array called annotations")
	}
	names := a.Fields[nameField]
	if len(names) == 0 {
		return nil, fmt.Errorf("annotations without field %s", nameField)
	}
	out := make([]carsFile, len(names))
	for i, n := range names {
		if n.Text == "" {
			return nil, fmt.Errorf("annotation %d has no %s", i+1, nameField)
		}
		field := func(name string) (float64, error) {
			values := a.Fields[name]
			if values == nil {
				return 0, fmt.Errorf("annotations without field %s", name)
			}
			v, err := values[i].Number()
			if err != nil {
				return 0, fmt.Errorf("annotation %d (%s): field %s is not a number: %w", i+1, n.Text, name, err)
			}
			if !(math.Abs(v) <= 1<<24) {
				return 0, fmt.Errorf("annotation %d (%s): field %s is %v", i+1, n.Text, name, v)
			}
			return v, nil
		}
		class, err := field("class")
		if err != nil {
			return nil, err
		}
		role, err := split(field)
		if err != nil {
			return nil, err
		}
		c := carsFile{name: n.Text, class: int64(class), split: role}
		x1, e1 := field("bbox_x1")
		y1, e2 := field("bbox_y1")
		x2, e3 := field("bbox_x2")
		y2, e4 := field("bbox_y2")
		if errors.Join(e1, e2, e3, e4) == nil { // MATLAB counts pixels from 1
			c.box = image.Rect(int(x1)-1, int(y1)-1, int(x2), int(y2))
		}
		out[i] = c
	}
	return out, nil
}

// readCarsPlainCSV reads rows "file,x1,y1,x2,y2,class" without a header, and
// the class names from names.csv, one on each line.
func readCarsPlainCSV(t tree) ([]carsFile, []string, error) {
	var classes []string
	if t.has("names.csv") {
		text, err := readText(t, "names.csv")
		if err != nil {
			return nil, nil, err
		}
		for _, line := range textLines(text) {
			classes = append(classes, strings.Trim(line, `"`))
		}
	}
	var cars []carsFile
	for i, name := range []string{"anno_train.csv", "anno_test.csv"} {
		err := csvRows(t, name, false, func(_ int, _, row []string) error {
			if len(row) != 6 {
				return fmt.Errorf("%d columns; expected file,x1,y1,x2,y2,class", len(row))
			}
			c, err := carsRow(row[0], row[5], row[1:5], []Split{Train, Test}[i])
			cars = append(cars, c)
			return err
		})
		if err != nil {
			return nil, nil, err
		}
	}
	return cars, classes, nil
}

// readCarsHeaderCSV reads files with the columns x1,y1,x2,y2,Class,image.
func readCarsHeaderCSV(t tree) ([]carsFile, []string, error) {
	var cars []carsFile
	for i, name := range []string{"cardatasettrain.csv", "cardatasettest.csv"} {
		err := csvRows(t, name, true, func(_ int, head, row []string) error {
			var at [6]int
			for k, column := range []string{"image", "x1", "y1", "x2", "y2", "class"} {
				if at[k] = slices.Index(head, column); at[k] < 0 {
					return fmt.Errorf("the header has columns %s; %s is missing", strings.Join(head, ","), column)
				}
			}
			c, err := carsRow(row[at[0]], row[at[5]], []string{row[at[1]], row[at[2]], row[at[3]], row[at[4]]},
				[]Split{Train, Test}[i])
			cars = append(cars, c)
			return err
		})
		if err != nil {
			return nil, nil, err
		}
	}
	return cars, nil, nil
}

func carsRow(name, class string, box []string, split Split) (carsFile, error) {
	c := carsFile{name: strings.Trim(name, "' "), split: split}
	var err error
	if c.class, err = parseID(strings.TrimSpace(class)); err != nil {
		return c, fmt.Errorf("class: %w", err)
	}
	var v [4]int
	for k, s := range box {
		if v[k], err = strconv.Atoi(strings.TrimSpace(s)); err != nil || v[k] < 0 || v[k] > 1<<24 {
			return c, fmt.Errorf("%q is not a coordinate", s)
		}
	}
	c.box = image.Rect(v[0]-1, v[1]-1, v[2], v[3])
	if c.name == "" {
		return c, errors.New("no file name")
	}
	return c, nil
}
