package layout

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"image"
	"math"
	"path"
	"slices"
	"strconv"
	"strings"

	"github.com/kindred-ml/kindred/data/internal/tree"
	"github.com/kindred-ml/kindred/internal/format/matfile"
)

// carsFile is one annotated image of Cars-196.
type carsFile struct {
	name  string
	class int64 // 1 to 196
	box   image.Rectangle
	split Role
}

// readCars reads Cars-196 in one of its forms: the single cars_annos.mat with car_ims/, the
// devkit's two .mat files with cars_train/ and cars_test/, or one of the two sets of CSV files in
// circulation (anno_train.csv, anno_test.csv and names.csv without headers; cardatasettrain.csv
// and cardatasettest.csv with headers). The official split is the metric-learning one: classes
// 1-98 train, 99-196 test. If the classes have names, a second column has the make of each car.
func readCars(_ context.Context, s *Set) error {
	read := map[string]func(t tree.Tree, dir string) ([]carsFile, []string, error){
		"cars_annos.mat": readCarsSingle, "cars_train_annos.mat": readCarsDevkit,
		"anno_train.csv": readCarsPlainCSV, "cardatasettrain.csv": readCarsHeaderCSV,
	}
	dir, form := path.Split(s.marks[0])
	cars, classes, err := read[form](s.tree, dir)
	if err != nil {
		return err
	}
	column := Column{Name: "class", Names: numberNames(1, classes)}
	makes := Column{Name: "make"}
	find := newFinder(s.tree)
	for i, c := range cars {
		if err := s.addListed(find.path(c, classes)); err != nil {
			return fmt.Errorf("%s: annotation %d: %w", s.path(s.marks[0]), i+1, err)
		}
		column.Numbers = append(column.Numbers, c.class)
		makes.Text = append(makes.Text, carMake(cmp.Or(column.Names[c.class], strconv.FormatInt(c.class, 10))))
		s.ImageRoles = append(s.ImageRoles, c.split)
		if s.opt.Crop {
			s.Boxes = append(s.Boxes, c.box)
		}
	}
	s.setLabels("class", column, Column{})
	if s.Halves = true; len(classes) > 0 {
		s.Columns = append(s.Columns, makes)
	}
	return nil
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
	t   tree.Tree
	dir map[Role]string
}

func newFinder(t tree.Tree) *finder { return &finder{t, map[Role]string{}} }

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
			if f.t.Has(p) {
				f.dir[c.split] = dir
				return p
			}
		}
	}
	return c.name
}

func readMat(t tree.Tree, name string) (map[string]*matfile.Array, error) {
	b, err := t.Read(name, nil)
	if err != nil {
		return nil, err
	}
	arrays, err := matfile.Read(b)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path.Join(t.Location(), name), err)
	}
	return arrays, nil
}

// readCarsSingle reads cars_annos.mat: annotations with relative_im_path,
// bbox_x1..bbox_y2, class and test, and class_names.
func readCarsSingle(t tree.Tree, _ string) ([]carsFile, []string, error) {
	const name = "cars_annos.mat"
	arrays, err := readMat(t, name)
	if err != nil {
		return nil, nil, err
	}
	classes := cellTexts(arrays["class_names"])
	cars, err := annotations(arrays["annotations"], "relative_im_path",
		func(field func(string) (float64, error)) (Role, error) {
			test, err := field("test")
			if test != 0 {
				return Test, err
			}
			return Train, err
		})
	if err != nil {
		return nil, nil, fmt.Errorf("%s: %w", path.Join(t.Location(), name), err)
	}
	return cars, classes, nil
}

// readCarsDevkit reads the devkit, which has a file of annotations with fname for each side. The
// classes of the test side are in cars_test_annos_withlabels.mat.
func readCarsDevkit(t tree.Tree, dir string) ([]carsFile, []string, error) {
	var classes []string
	if t.Has(dir + "cars_meta.mat") {
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
	if i := slices.IndexFunc(tests, t.Has); i >= 0 {
		files = append(files, tests[i])
	} else {
		return nil, nil,
			fmt.Errorf("%s: the classes of the test images are missing: add cars_test_annos_withlabels.mat",
				t.Location())
	}
	for i, name := range files {
		arrays, err := readMat(t, name)
		if err != nil {
			return nil, nil, err
		}
		r := trainTest(i)
		side, err := annotations(arrays["annotations"], "fname",
			func(func(string) (float64, error)) (Role, error) { return r, nil })
		if err != nil {
			return nil, nil, fmt.Errorf("%s: %w", path.Join(t.Location(), name), err)
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
	split func(field func(string) (float64, error)) (Role, error)) ([]carsFile, error) {
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
		r, err := split(field)
		if err != nil {
			return nil, err
		}
		c := carsFile{name: n.Text, class: int64(class), split: r}
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
func readCarsPlainCSV(t tree.Tree, _ string) ([]carsFile, []string, error) {
	var classes []string
	if t.Has("names.csv") {
		err := eachLine(t, "names.csv", func(_ int, line string) error {
			classes = append(classes, strings.Trim(line, `"`))
			return nil
		})
		if err != nil {
			return nil, nil, err
		}
	}
	var cars []carsFile
	for i, name := range []string{"anno_train.csv", "anno_test.csv"} {
		err := csvRows(t, name, false, func(_ int, _, row []string) error {
			if len(row) != 6 {
				return fmt.Errorf("%d columns; expected file,x1,y1,x2,y2,class", len(row))
			}
			c, err := carsRow(row[0], row[5], row[1:5], trainTest(i))
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
func readCarsHeaderCSV(t tree.Tree, _ string) ([]carsFile, []string, error) {
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
				trainTest(i))
			cars = append(cars, c)
			return err
		})
		if err != nil {
			return nil, nil, err
		}
	}
	return cars, nil, nil
}

func carsRow(name, class string, box []string, split Role) (carsFile, error) {
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
